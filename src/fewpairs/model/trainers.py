"""Trainers: what trains a student, NumPy or torch on a GPU.

Both do the same mathematics with other random numbers and other rounding: students as
good, but not the same. A run that goes on has the trainer that it began with.
"""

from collections.abc import Callable

from fewpairs.errors import StoreError
from fewpairs.kernels.pair_network import network as pair_network

__all__ = ["best_here", "trainer"]


def best_here() -> str:
    """Return the trainer for this machine, by name: torch on a GPU, else NumPy."""
    return "numpy" if _why_no_torch() else "torch"


def trainer(name: str) -> Callable[..., int]:
    """Return a trainer by name, or say why the one of a stored run is not available."""
    if name == "numpy":
        return pair_network.train
    why = _why_no_torch() if name == "torch" else "this fewpairs has no such trainer"
    if why:
        msg = (
            f"this run was begun with a student trained by {name}, as its store says, "
            f"and {why}: any other trainer comes to another result. Go on where "
            f"{name} can train; or begin another run here, with another seed=, which "
            "pays for what is new alone."
        )
        raise StoreError(msg)
    from fewpairs.kernels.pair_network.torch_training import train

    return train


def _why_no_torch() -> str:
    """Return why torch does not train here, or nothing."""
    try:
        import torch
    except ImportError:
        return "torch is not installed here (pip install 'fewpairs[torch]')"
    return "" if torch.cuda.is_available() else "torch sees no GPU here"
