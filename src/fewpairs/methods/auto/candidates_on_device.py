"""Candidates on a device: what a GPU found stays there, and is scored and chosen there.

`Candidates` in NumPy is the twin that defines what is right. Of it there is what
reading rounds of one set ask for (`fewpairs.methods.auto.round_steps`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from fewpairs.kernels.linalg.selection_torch import (
    among,
    falling,
    first_of_equals,
    parts,
)
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto.candidates import Candidates
from fewpairs.methods.auto.cautious import NEAR
from fewpairs.methods.auto.items_on_device import (
    ItemsOnDevice,
    curved,
    scorer_on_device,
)
from fewpairs.methods.auto.read_on_device import ReadOnDevice
from fewpairs.model.curve import Curve
from fewpairs.model.pair_inputs import PairInputs

__all__ = ["NUMBERS", "AnyCandidates", "CandidatesOnDevice"]

NUMBERS = 1 << 24  # candidates looked at at once


@dataclass
class CandidatesOnDevice:
    """(n, m) tensors on a device, a row per item, as in `Candidates`.

    Attributes
    ----------
    items
        What says ``base`` and ``cheap`` of pairs, on the same device.
    partner, score, base, cheap, near, nearest, depth, by, mixed, rotates, taken
        As in `Candidates`.
    """

    items: ItemsOnDevice
    partner: Any
    score: Any
    base: Any
    cheap: Any
    near: Any = None
    nearest: Any = None
    depth: int = 0
    by: str | None = None
    mixed: bool = False
    rotates: bool = False
    taken: int = 0

    @classmethod
    def of(cls, items: ItemsOnDevice, partner: Any) -> "CandidatesOnDevice":
        """Return candidates of which nothing is said yet; the score is −∞."""
        shape, device = partner.shape, items.device
        score = torch.full(shape, -torch.inf, device=device)
        base, cheap = (torch.zeros(shape, device=device) for _ in range(2))
        return cls(items, partner, score, base, cheap)

    @property
    def device(self) -> str:
        """Where they are."""
        return self.items.device

    def parts(self) -> list[slice]:
        """Return rows that are looked at at once."""
        return list(parts(len(self.partner), self.partner.shape[1], NUMBERS))

    def forget(self) -> None:
        """Let go of what is said of every candidate; the prior's lists stay."""
        self.partner = torch.empty((0, 1), dtype=torch.int32, device=self.device)
        self.score = self.base = self.cheap = torch.empty((0, 1), device=self.device)

    def fill(
        self, item: Any, other: Any, at: Any, scorer: Callable[[PairInputs], Any]
    ) -> None:
        """Write what is said of pairs to their places in the raveled tensors."""
        for start in range(0, len(at), NUMBERS):
            part = slice(start, start + NUMBERS)
            inputs = self.items.inputs(item[part], other[part])
            self.base.view(-1)[at[part]] = inputs.base
            self.cheap.view(-1)[at[part]] = inputs.cheap
            self.score.view(-1)[at[part]] = scorer(inputs)

    def score_anew(
        self, scorer: Callable[[PairInputs], NDArray[Any]], depth: int | None = None
    ) -> None:
        """Score all candidates by what a scorer makes of them, or the best of each."""
        m = self.partner.shape[1]
        there = scorer_on_device(scorer, self.device)
        for part in self.parts():
            score = self.score[part]
            live = score.isfinite()
            if depth is not None and depth < m:
                some = torch.zeros_like(live)
                live &= some.scatter_(1, falling(score, depth), True)
            at = live.view(-1).nonzero()[:, 0] + part.start * m
            other = self.partner.view(-1)[at].long()
            inputs = PairInputs(at // m, other, *self._said(at))
            self.score.view(-1)[at] = there(inputs)

    def choose_by_several(
        self, known: Entries, orders: list[tuple[int, Any]], _ahead: int = 0
    ) -> PairInputs:
        """Return unread pairs, on the host: so many by each of several arrays.

        What one of them has no more of, the next one adds.
        """
        read = ReadOnDevice(known, self.device)
        keys: list[torch.Tensor] = []
        places, short = [], 0
        for count, by in orders:
            wanted = count + short
            found, at = self._chosen(wanted, read, by, keys)
            self.taken += len(found)
            short = wanted - len(found)
            keys.append(found)
            places.append(at)
        key = torch.cat(keys)
        i = key // known.n
        base, cheap = self._said(torch.cat(places))
        said = (x.cpu().numpy() for x in (i, key - i * known.n, base, cheap))
        return PairInputs(*said)

    def _chosen(
        self, count: int, read: ReadOnDevice, by: Any, before: list[torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return keys and places of unread pairs: every item's best, then its second.

        As `Candidates.choose` does, by score or by another (n, m) tensor. ``before``:
        keys of pairs that were chosen already.
        """
        n, m = self.partner.shape
        found = torch.empty(0, dtype=torch.int64, device=self.device)
        places = found.clone()
        flat, partner = self.score.view(-1), self.partner.view(-1)
        while len(found) < count:
            depth = min(m, int(2.2 * (count - len(found)) / n) + 2)
            score, top = self._top(depth, by)
            across = self._turns(score)
            # By rank first: the best of every item, then the second best of every one.
            item = across.T.reshape(-1)
            place = item * m + top.gather(0, across).T.reshape(-1)
            live = score.gather(0, across).T.reshape(-1).isfinite()
            item, place = item[live], place[live]
            if not len(item):
                break
            other = partner[place].long()
            keys = read.keys(item, other)
            had = torch.cat([found, *before]).sort().values
            unread = ~(read.holds(item, other) | among(keys, had))
            flat[place[~unread]] = -torch.inf
            keys, place = keys[unread], place[unread]
            first, same = first_of_equals(keys)
            chosen = first.sort().values[: count - len(found)]
            taken = torch.zeros(len(first), dtype=torch.bool, device=self.device)
            taken[same[chosen]] = True
            flat[place[taken[same]]] = -torch.inf
            found = torch.cat([found, keys[chosen]])
            places = torch.cat([places, place[chosen]])
        return found, places

    def _top(self, depth: int, by: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Return every item's best scores, falling, and their places in its row."""
        scores, tops = [], []
        for part in self.parts():
            score = self.score[part]
            if by is not None:
                score = torch.where(score.isfinite(), by[part], -torch.inf)
            top = falling(score, depth)
            scores.append(score.gather(1, top))
            tops.append(top)
        return torch.cat(scores), torch.cat(tops)

    def _turns(self, score: Any) -> Any:
        """Return in which order items take their turns, for every rank."""
        if not self.mixed:
            return score.sort(dim=0, descending=True, stable=True).indices
        # Knuth's multiplicative hash: the same for every run.
        at = torch.arange(len(score), device=self.device)
        order = (at * 2_654_435_761 % (1 << 32)).sort(stable=True).indices
        if self.rotates:
            order = order.roll(-(self.taken % len(order)))
        return order[:, None].expand(score.shape)

    def thinned(self, rows: int) -> Candidates:
        """Return some items' candidates on the host: about so many items', or more."""
        every = slice(None, None, max(1, len(self.score) // rows))
        arrays = self.partner, self.score, self.base, self.cheap
        return Candidates(*(array[every].cpu().numpy() for array in arrays))

    def levels_by(self, curve: Curve) -> NDArray[np.float32]:
        """Return what `levels_by` does: where an item's most similar begin."""
        at = min(NEAR, self.base.shape[1])
        out = []
        for part in self.parts():
            live = self.score[part].isfinite()
            height = torch.maximum(self.base[part], curved(curve, self.cheap[part]))
            low = torch.where(live, height, torch.inf).amin(dim=1)
            height = torch.where(live, height, -torch.inf)
            last = height.topk(at, dim=1, sorted=False).values.amin(dim=1)
            out.append(torch.maximum(last, low))
        return np.asarray(torch.cat(out).cpu().numpy())

    def _said(self, places: Any) -> tuple[Any, Any]:
        return self.base.view(-1)[places], self.cheap.view(-1)[places]


AnyCandidates: TypeAlias = Candidates | CandidatesOnDevice
