"""The contenders: functions of a data set, a number of evaluations and a seed."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

import fewpairs as fp
from benchmarks.few.answers import Answer, Ours
from benchmarks.few.axn import axn
from benchmarks.few.nn_descent import nn_descent
from benchmarks.few.reader import OverBudgetError
from benchmarks.few.reranking import curve, reranked
from benchmarks.few.sets import DataSet
from benchmarks.few.walking import walk

__all__ = ["RIVALS", "Setting", "evaluations_of"]

Rival = Callable[[DataSet, int, np.random.Generator], Answer]
RIVALS: dict[str, Rival] = {
    "curve": curve,
    "reranked": reranked,
    "nn-descent": nn_descent,
    "walk": walk,
    "axn": axn,
}


def evaluations_of(per_item: float, n: int) -> int:
    """Return the distinct pairs that make so many per item: a pair has two items."""
    return min(int(per_item * n / 2), n * (n - 1) // 2)


@dataclass(frozen=True)
class Setting:
    """A contender, and for the default what it is asked for.

    Attributes
    ----------
    student
        Whether the default trains; ``None`` leaves it to the default.
    """

    contender: str
    purpose: Literal["balanced", "neighbors", "entries"] = "balanced"
    student: bool | None = None

    @property
    def label(self) -> str:
        """How tables call it."""
        student = {None: "", True: ", student", False: ", no student"}[self.student]
        purpose = "" if self.purpose == "balanced" else f", {self.purpose}"
        return f"{self.contender}{student}{purpose}"

    def key(self, data: str, per_item: float, seed: int) -> dict[str, Any]:
        """Return what tells this cell from the others."""
        number = int(per_item) if per_item == int(per_item) else per_item
        key: dict[str, Any] = {
            "data": data,
            "per item": number,
            "contender": self.contender,
        }
        if self.contender not in RIVALS:
            key |= {"purpose": self.purpose, "student": self.student}
        return key | {"seed": seed}

    def answer(
        self, data: DataSet, evaluations: int, seed: int
    ) -> tuple[Answer, dict[str, Any]]:
        """Run it; return its answer, and for ours the bill's seconds."""
        rng = np.random.default_rng([seed, 77])
        if self.contender in RIVALS:
            # Blocks run in threads, and small products would wait for more of them.
            with threadpool_limits(1, "blas"):
                return RIVALS[self.contender](data, evaluations, rng), {}
        student: Any = {} if self.student is None else {"student": self.student}
        started = time.perf_counter()
        approx = fp.approximate(
            data.items,
            data.similarity,
            method=fp.Auto(purpose=self.purpose, **student),
            budget=evaluations,
            prior=data.prior,
            seed=seed,
        )
        seconds = time.perf_counter() - started
        if approx.evaluations > evaluations:
            msg = f"{approx.evaluations:,} evaluations of {evaluations:,}"
            raise OverBudgetError(msg)
        bill = approx.bill
        more = {"evaluating": bill.evaluating, "computing": bill.computing}
        return Ours(approx), {"total": seconds, **more, "method": approx.method}
