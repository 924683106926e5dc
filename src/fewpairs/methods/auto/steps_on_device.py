"""Steps on a device: finding, expanding and judging candidates in torch.

Each is the twin of a function of the same name in NumPy, and takes what it takes:
`proposals.propose`, `expansion.expand` and `borderline.borderline`.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import torch
from numpy.typing import NDArray

from fewpairs.kernels.linalg.broken_line_torch import broken_line
from fewpairs.kernels.linalg.second_neighbors_torch import second_neighbors_there
from fewpairs.kernels.linalg.selection_torch import falling, largest
from fewpairs.kernels.linalg.top_products import gpu
from fewpairs.kernels.linalg.top_products_torch import top_products
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.borderline import (
    HALVINGS,
    LOGISTIC,
    LOOKED_AT,
    NEIGHBORS,
    Borderline,
)
from fewpairs.methods.auto.candidates_on_device import CandidatesOnDevice
from fewpairs.methods.auto.errors_by_prior import ErrorsByPrior
from fewpairs.methods.auto.expansion import PROMISING
from fewpairs.methods.auto.items_on_device import (
    ItemsOnDevice,
    scorer_on_device,
    tensor,
)
from fewpairs.methods.auto.read_on_device import ReadOnDevice, best_values, with_new
from fewpairs.methods.auto.round_steps import RoundSteps
from fewpairs.model.correction import Correction
from fewpairs.model.model import Model
from fewpairs.model.pair_inputs import PairInputs

__all__ = ["ON_DEVICE", "borderline", "expand", "propose", "said"]


def propose(
    model: Model,
    known: Entries,
    most: int,
    *,
    by: str | None = None,
    before: CandidatesOnDevice | None = None,
) -> CandidatesOnDevice:
    """Return every item's candidates by prior and low rank, and by the prior alone."""
    most = max(1, min(most, model.n - 1))
    items = ItemsOnDevice(model, gpu() or "cpu") if before is None else before.items
    vectors, signs = items.product_vectors(model)
    partner = top_products(vectors, vectors * signs, most + 1)[0].int()
    del vectors
    if before is not None:
        nearest = before.nearest
    else:
        held = items.embeddings
        nearest = top_products(held, held, max(1, most // 2) + 1)[0].int()
    out = CandidatesOnDevice.of(items, torch.cat([partner, nearest], dim=1))
    del partner
    read = ReadOnDevice(known, items.device)
    m = out.partner.shape[1]
    for part in out.parts():
        at = _live(out.partner[part], part.start).view(-1).nonzero()[:, 0]
        at += part.start * m
        item, other = at // m, out.partner.view(-1)[at].long()
        unread = ~read.holds(item, other)
        out.fill(item[unread], other[unread], at[unread], attrgetter("base"))
    out.by, out.nearest, out.depth = by, nearest, most
    return out


def _live(partner: torch.Tensor, start: int) -> torch.Tensor:
    """Tell which candidates of some rows count: others, each once."""
    rising, order = partner.sort(dim=1, stable=True)
    once = torch.ones_like(rising, dtype=torch.bool)
    once[:, 1:] = rising[:, 1:] != rising[:, :-1]
    own = torch.arange(start, start + len(partner), device=partner.device)
    return torch.zeros_like(once).scatter_(1, order, once) & (partner != own[:, None])


def expand(
    found: CandidatesOnDevice,
    model: Model,
    known: Entries,
    scorer: Callable[[PairInputs], NDArray[Any]],
    hops: int,
) -> CandidatesOnDevice:
    """Return the candidates with neighbors of neighbors among them, all scored."""
    n, m = found.partner.shape
    hops = min(hops, m)
    read = ReadOnDevice(known, found.device)
    near = torch.cat([read.best(hops), _top(found, hops)], dim=1)
    fresh = torch.ones_like(near, dtype=torch.bool)
    if found.near is not None:
        same = near[:, :, None] == found.near[:, None, :]
        fresh = ~same.any(dim=2)
    found.near = near

    def old(rows: range) -> torch.Tensor:
        own = torch.arange(len(rows), device=found.device)[:, None]
        have = own * n + found.partner[rows.start : rows.stop]
        return torch.cat([have.view(-1), read.of_rows(rows)])

    vectors, signs = found.items.product_vectors(model)
    item, other = second_neighbors_there(
        near, fresh, old, vectors, signs, most=PROMISING
    )
    unread = ~(read.whole[item] | read.whole[other])
    item, other = item[unread], other[unread]
    there = scorer_on_device(scorer, found.device)
    for part in found.parts():
        ends = torch.tensor([part.start, part.stop], device=found.device)
        low, high = torch.searchsorted(item, ends).tolist()
        if high > low:
            more = found.items, item[low:high], other[low:high], there
            _merge(found, _in_rows(part, *more), part)
    return found


def _in_rows(
    rows: slice,
    items: ItemsOnDevice,
    item: torch.Tensor,
    other: torch.Tensor,
    scorer: Callable[[PairInputs], Any],
) -> CandidatesOnDevice:
    """Return flat candidates, sorted by item, as rows; the item itself fills up."""
    own = torch.arange(rows.start, rows.stop, device=item.device)
    begin = torch.searchsorted(item, own)
    row = item - rows.start
    place = torch.arange(len(item), device=item.device) - begin[row]
    width = int(place.max()) + 1
    partner = own.int()[:, None].repeat(1, width)
    partner[row, place] = other.int()
    out = CandidatesOnDevice.of(items, partner)
    out.fill(item, other, row * width + place, scorer)
    return out


def _merge(found: CandidatesOnDevice, more: CandidatesOnDevice, rows: slice) -> None:
    """Keep the best of both; ``more`` are of some rows alone."""
    score = torch.cat([found.score[rows], more.score], dim=1)
    at = largest(score, found.partner.shape[1])
    for name in ("score", "partner", "base", "cheap"):
        both = torch.cat([getattr(found, name)[rows], getattr(more, name)], dim=1)
        getattr(found, name)[rows] = both.gather(1, at)


def _top(found: CandidatesOnDevice, k: int) -> torch.Tensor:
    """Return the best k candidates of every item; itself where they are read."""
    out = []
    for part in found.parts():
        at = largest(found.score[part], k)
        own = torch.arange(part.start, part.stop, dtype=torch.int32, device=at.device)
        live = found.score[part].gather(1, at).isfinite()
        out.append(torch.where(live, found.partner[part].gather(1, at), own[:, None]))
    return torch.cat(out)


def borderline(
    found: CandidatesOnDevice, read: Any, errors: ErrorsByPrior, *, sure: bool = False
) -> Borderline:
    """Return what reading candidates is worth, as tensors."""
    shape, device = found.score.shape, found.device
    worth = torch.full(shape, -torch.inf, device=device)
    chance = torch.full_like(worth, -torch.inf) if sure else None
    for part in found.parts():
        score = found.score[part]
        cheap = torch.where(score.isfinite(), found.cheap[part], 0.0)
        error = broken_line(cheap, errors.places, errors.sizes)
        if errors.tilt:
            score = score + errors.tilt * (cheap - errors.middle)
        top = falling(score + error, min(shape[1], LOOKED_AT))
        near, error = score.gather(1, top), error.gather(1, top)
        z = (near - _levels(near, read[part], error)[:, None]) / error
        p = torch.sigmoid(LOGISTIC * z)
        for out, values in ((worth, p * (1 - p)), (chance, z)):
            if out is not None:
                live = torch.where(near.isfinite(), values, -torch.inf)
                out[part].scatter_(1, top, live)
    return Borderline(worth, chance)


def _levels(near: Any, have: Any, error: Any) -> Any:
    """Return the level of every item above which as many are expected as are wanted."""
    both = torch.cat([near, have], dim=1)
    far = 4 * error.amax(dim=1)
    around = both.topk(min(NEIGHBORS, both.shape[1]), dim=1).values[:, -1]
    lowest = torch.where(both.isfinite(), both, torch.inf).amin(dim=1)
    lowest = torch.where(lowest.isfinite(), lowest, 0.0)
    around = torch.where(around.isfinite(), around, lowest)
    low, high = around - far, around + far
    for _ in range(HALVINGS):
        middle = ((low + high) / 2)[:, None]
        expected = torch.sigmoid(LOGISTIC * (near - middle) / error).sum(dim=1)
        expected += (have > middle).sum(dim=1)
        more = expected > NEIGHBORS
        low = torch.where(more, middle[:, 0], low)
        high = torch.where(more, high, middle[:, 0])
    return (low + high) / 2


def said(scorer: Callable[[PairInputs], Any], inputs: PairInputs) -> Any:
    """Return what a scorer says of pairs; a correction by the device."""
    device = gpu() or "cpu"
    if not isinstance(scorer, Correction):
        return scorer(inputs)
    i, j = (torch.tensor(ends, device=device) for ends in inputs[:2])
    base, cheap = (tensor(said, device) for said in inputs[2:])
    there = scorer_on_device(scorer, device)(PairInputs(i, j, base, cheap))
    return there.cpu().numpy()


def lowest(best: torch.Tensor) -> NDArray[Any]:
    """Return the last of every row of the best values, on the host."""
    out: NDArray[Any] = best[:, -1].cpu().numpy()
    return out


ON_DEVICE = RoundSteps(propose, expand, borderline, best_values, with_new, said, lowest)
