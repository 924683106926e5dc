"""Progress: how far a long run is, for whoever wants to see it."""

from fewpairs.progress.bar import RichProgress
from fewpairs.progress.choosing import as_progress
from fewpairs.progress.log import LogProgress
from fewpairs.progress.meter import (
    EVALUATING,
    Callback,
    Meter,
    Progress,
    Silence,
    Status,
)
from fewpairs.progress.notebook import NotebookProgress

__all__ = [
    "EVALUATING",
    "Callback",
    "LogProgress",
    "Meter",
    "NotebookProgress",
    "Progress",
    "RichProgress",
    "Silence",
    "Status",
    "as_progress",
]
