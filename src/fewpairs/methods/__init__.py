"""The methods, by class and by name."""

from fewpairs.methods.auto import Auto
from fewpairs.methods.base import LandmarkMethod, Method
from fewpairs.methods.nystrom import Nystrom
from fewpairs.methods.optimal import Optimal
from fewpairs.methods.registry import BY_NAME, as_method, with_prior
from fewpairs.methods.regularized import Regularized
from fewpairs.methods.sicur import SiCUR
from fewpairs.methods.skeleton import Skeleton
from fewpairs.methods.sms import SMSNystrom
from fewpairs.methods.stacur import StaCUR

__all__ = [
    "BY_NAME",
    "Auto",
    "LandmarkMethod",
    "Method",
    "Nystrom",
    "Optimal",
    "Regularized",
    "SMSNystrom",
    "SiCUR",
    "Skeleton",
    "StaCUR",
    "as_method",
    "with_prior",
]
