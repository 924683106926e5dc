"""The receipt: what was paid for, what came of it, and how far to trust it."""

import math
from dataclasses import dataclass, replace

from fewpairs.result.certificate import Certificate

__all__ = ["Bill", "duration", "receipt"]

_GOOD = 0.7  # of the variance explained: good enough to use as it is


@dataclass(frozen=True)
class Bill:
    """What an approximation cost.

    Attributes
    ----------
    similarity
        Which similarity was evaluated, in words.
    evaluations
        Calls of the similarity, one per pair.
    for_fit, for_certificate, for_symmetry, for_store, for_answers
        What they were spent on: stored values evaluated again, to see that they are
        this similarity's; answers are searches and the like before it grew.
    everything
        Evaluations that the exact matrix takes.
    evaluating, computing
        Seconds spent inside the similarity, and outside it.
    charged
        Evaluations that this takes, made now or paid for in a ledger before.
    money
        What was charged for them, attempts that came to nothing included.
    prior
        What a prior cost that is paid for, see :func:`fewpairs.paid`; it comes on top.
    old_items, old_others, kept
        Where items were added: how many there were before, of two sets also of the
        others, and evaluations made until then.
    """

    similarity: str = "unknown"
    evaluations: int = 0
    for_fit: int = 0
    for_certificate: int = 0
    for_symmetry: int = 0
    for_store: int = 0
    for_answers: int = 0
    everything: int = 0
    evaluating: float = 0.0
    computing: float = 0.0
    charged: int = 0
    money: float = 0.0
    prior: "Bill | None" = None
    old_items: int = 0
    old_others: int = 0
    kept: int = 0

    def plus(self, more: "Bill") -> "Bill":
        """Return both bills in one: a run, and one that went on from it."""
        added = (
            "evaluations",
            "for_fit",
            "for_certificate",
            "for_symmetry",
            "for_store",
            "for_answers",
            "charged",
        )
        timed = ("evaluating", "computing", "money")
        sums = {
            name: getattr(self, name) + getattr(more, name) for name in added + timed
        }
        before = {
            name: getattr(self, name) for name in ("old_items", "old_others", "kept")
        }
        return replace(more, prior=self.prior or more.prior, **before, **sums)

    def beside(self, other: "Bill") -> "Bill":
        """Return the bill of this and of another similarity."""
        names = f"{self.similarity}; {other.similarity}"
        return replace(self.plus(other), similarity=names)

    def plus_answers(self, evaluations: int, charged: int, money: float) -> "Bill":
        """Return the bill with what was read after the run."""
        return replace(
            self,
            evaluations=self.evaluations + evaluations,
            for_answers=self.for_answers + evaluations,
            charged=self.charged + charged,
            money=self.money + money,
        )


def receipt(
    *,
    shape: tuple[int, int],
    two_sets: bool,
    bill: Bill,
    certificate: Certificate,
    found: str | None = None,
) -> str:
    """Return the receipt as text: how good it is, what was paid, what to do next.

    ``found`` is what is known of near neighbors, in words. How it was made is
    ``approx.method``.
    """
    share = bill.evaluations / bill.everything if bill.everything else math.nan
    spent = [f"{bill.for_fit:,} fit", f"{bill.for_certificate:,} certificate"]
    if bill.for_symmetry:
        spent.append(f"{bill.for_symmetry:,} symmetry check")
    if bill.for_store:
        spent.append(f"{bill.for_store:,} checking the store")
    if bill.for_answers:
        spent.append(f"{bill.for_answers:,} answers before it grew")
    before = bill.charged - (bill.evaluations - bill.for_store)
    earlier = f"; {before:,} more were paid for before" if before > 0 else ""
    money = f"; {bill.money:,.2f} in money" if bill.money else ""
    time = f"{duration(bill.evaluating)} evaluating"
    if bill.evaluations:
        each = bill.evaluating / bill.evaluations
        exact = each * bill.everything
        time += f" ({duration(each)} each; exact would take {duration(exact)})"
    time += f", {duration(bill.computing)} computing"
    worth = {"worth": certificate.worth}
    if found is not None:
        worth["neighbors"] = found
    lines = {
        **worth,
        "error": str(certificate),
        "similarity": bill.similarity,
        "paid": (
            f"{bill.evaluations:,} of {bill.everything:,} evaluations "
            f"({share:.2%}, {_per_item(bill, shape, two_sets=two_sets)}): "
            f"{', '.join(spent)}{earlier}{money}"
        ),
        **({"prior": _of_prior(bill.prior)} if bill.prior else {}),
        **({"added": _added(bill, shape)} if bill.old_items else {}),
        "time": time,
        "next": _next(certificate, bill, shape, two_sets=two_sets),
    }
    body = [f"  {name:<11} {text}" for name, text in lines.items()]
    size = f"{shape[0]:,} × {shape[1]:,} similarities"
    of = " of two sets" if two_sets else ""
    return "\n".join([f"fewpairs: {size}{of}", *body])


def _next(
    certificate: Certificate, bill: Bill, shape: tuple[int, int], *, two_sets: bool
) -> str:
    """Return what to do with it, or to make it better."""
    if bill.everything and bill.evaluations >= bill.everything:
        return "nothing is left to pay for; .neighbors(10), .report(path)"
    if certificate.tells and certificate.r2 >= _GOOD:
        pairs = ".match(k=1)" if two_sets else ".duplicates(threshold)"
        return f".neighbors(10), {pairs}, .report(path); .method says how it was made"
    more = max(1, round(2 * _pairs_per_item(bill, shape, two_sets=two_sets)))
    return (
        f'a better prior=, or .grow("{more}/item"); .report(path) shows where it is off'
    )


def _added(bill: Bill, shape: tuple[int, int]) -> str:
    """Return what was kept when items were added, and what they cost."""
    sides = [(shape[0], bill.old_items, "items")]
    if bill.old_others:
        sides.append((shape[1], bill.old_others, "others"))
    joined = ", ".join(
        f"{n - old:,} {name} joined {old:,}" for n, old, name in sides if n > old
    )
    made = bill.evaluations - bill.kept
    return f"{joined}: {bill.kept:,} evaluations kept, {made:,} made for the new ones"


def _of_prior(bill: Bill) -> str:
    """Return what a prior cost."""
    name = bill.similarity.split(",")[0]
    money = f", {bill.money:,.2f} in money" if bill.money else ""
    time = f"{duration(bill.evaluating)} evaluating"
    return f"{name}: {bill.evaluations:,} evaluations{money}, {time}"


def _per_item(bill: Bill, shape: tuple[int, int], *, two_sets: bool) -> str:
    """Return the pairs per item in words."""
    number = _pairs_per_item(bill, shape, two_sets=two_sets)
    return f"{number:.3g} per {'left item' if two_sets else 'item'}"


def _pairs_per_item(bill: Bill, shape: tuple[int, int], *, two_sets: bool) -> float:
    """Return the pairs per item: a pair has two items, and costs 1 call or 2."""
    if two_sets:
        return bill.evaluations / shape[0]
    n = shape[0]
    calls = max(1, round(2 * bill.everything / n**2))
    return min(n - 1, 2 * bill.evaluations / (calls * n))


def duration(seconds: float) -> str:
    """Return a time in the unit that a person would use.

    >>> duration(0.0000021), duration(0.25), duration(95), duration(40_000)
    ('2.1 µs', '250 ms', '1 min 35 s', '11.1 h')
    """
    if seconds < 0.9995e-3:
        return f"{seconds * 1e6:.3g} µs"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    if seconds < 3_600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    if seconds < 100 * 3_600:
        return f"{seconds / 3_600:.3g} h"
    return f"{seconds / 86_400:,.3g} days"
