"""RecallCertificate: how much of all matches a list holds, and how surely."""

from dataclasses import dataclass, field, replace

from fewpairs.answers.evaluated import Pairs
from fewpairs.cards import card
from fewpairs.checks import check_flag, check_number
from fewpairs.errors import InputError

__all__ = ["NOTHING", "RecallCertificate", "Target", "check_target", "of_everything"]

_ASSUMPTION = "if pairs match no more often where they are predicted lower"


@dataclass(frozen=True)
class Target:
    """What is asked of a list.

    Attributes
    ----------
    recall
        Share of all matches that it has to hold; ``None``: whatever it comes to.
    delta
        How often a statement may fail.
    guarantee
        Whether it has to hold for any model.
    """

    recall: float | None = None
    delta: float = 0.05
    guarantee: bool = False


def check_target(call: str, recall: object, delta: object, guarantee: object) -> Target:
    """Return a target, or say what is wrong with it."""
    share = check_number(call, "recall", recall, above=0, none=True)
    if share is not None and share > 1:
        hint = f" Did you mean {share / 100:g}?" if 2 <= share <= 100 else ""
        msg = f"{call}: recall is {share:g}; pass a share above 0, at most 1.{hint}"
        raise InputError(msg)
    risk = check_number(call, "delta", delta)
    if not 0 < risk < 1:
        msg = (
            f"{call}: delta is {risk:g}; pass how often a statement may be wrong, "
            "between 0 and 1, such as 0.05."
        )
        raise InputError(msg)
    strict = check_flag(call, "guarantee", guarantee)
    if strict and share is None:
        msg = f"{call}: guarantee=True without recall; pass the recall to guarantee."
        raise InputError(msg)
    return Target(share, float(risk), strict)


@dataclass(frozen=True, repr=False)
class RecallCertificate:
    """How much of all matches was found: two statements, each with its own words.

    Every pair of a list was evaluated: its precision is 1.

    Attributes
    ----------
    recall_at_least
        A lower bound of the recall over all pairs, under the assumption that unread
        matches are not hidden where the model is surest against them: pairs match no
        more often where they are predicted lower. Pairs that were read in the order of
        their predictions then count like a sample. 0 where nothing can be said.
    guaranteed
        A lower bound of the recall that holds whatever the model does, from pairs drawn
        uniformly from all that were not read. 0 where nothing can be said.
    confidence
        How often each of them holds, 1 − δ.
    found
        Matches of the list.
    sampled
        Evaluations for the certificate alone; what they found is in the list.
    excluded
        Pairs that provably cannot match, among those that were looked at.
    certified
        Whether the recall that was asked for holds, by the statement asked for.
    missing_at_most, missing_for_any_model
        How many matches may be missing by either statement; ``None``: not known.
    price
        Evaluations that the strict statement was expected to take in all, by the
        formula N·ln(1/δ)·r / ((1 − r)·F); ``None`` where no recall was asked for, or
        nothing was found.
    target
        What was asked for.
    next_pairs
        Unread pairs that are predicted highest: where missing ones would most likely
        be. Their similarities are predictions.
    """

    recall_at_least: float = 0.0
    guaranteed: float = 0.0
    confidence: float = 0.95
    found: int = 0
    sampled: int = 0
    excluded: int = 0
    certified: bool = False
    missing_at_most: int | None = None
    missing_for_any_model: int | None = None
    price: int | None = None
    target: Target = field(default_factory=Target)
    next_pairs: Pairs = field(default_factory=Pairs.none)

    def of_part(self, found: int) -> "RecallCertificate":
        """Return what is known of the part of a list that reaches more than asked."""
        return replace(self, found=found) if self.guaranteed == 1 else NOTHING

    def __str__(self) -> str:
        return "; ".join(self.words())

    def __repr__(self) -> str:
        return f"<RecallCertificate: {self}>"

    def _repr_html_(self) -> str:
        certified = "certified" if self.certified else "not certified"
        asked = "" if self.target.recall is None else f", {certified}"
        lines = [f"{self.found:,} matches found{asked}", *self.words()]
        return card("\n  ".join(lines))

    def words(self) -> list[str]:
        """Return what is claimed, a statement each."""
        sure = f"{self.confidence:.0%} confidence".replace("%", " %")
        if self.guaranteed == 1:
            return ["all of them: no other pair can match"]
        if not self.found:
            return [_may_be(self.missing_for_any_model, sure)]
        words = []
        if self.recall_at_least > self.guaranteed:
            words.append(f"at least {self.recall_at_least:.1%} of all, {_ASSUMPTION}")
        words.append(f"at least {self.guaranteed:.1%} of all whatever the model does")
        words[-1] += f" (each with {sure})" if len(words) > 1 else f" ({sure})"
        if self.target.recall is not None and not self.certified:
            words.append(self._not_certified())
        return words

    def _not_certified(self) -> str:
        words = f"{self.target.recall:.1%} could not be certified"
        if self.target.guarantee and self.price is not None:
            words += f"; {self.price:,} evaluations would do, if they find nothing more"
        elif self.price is not None:
            words += (
                f": allow more evaluations; for any model {self.price:,} would do, if "
                "they find nothing more"
            )
        return words


def _may_be(missing: int | None, sure: str) -> str:
    if missing is None:
        return "nothing was found, and nothing is known of what may be missing"
    return f"nothing was found; at most {missing:,} of all pairs match ({sure})"


def of_everything(found: int, excluded: int) -> RecallCertificate:
    """Return the certificate of a list from which nothing is missing."""
    return RecallCertificate(
        recall_at_least=1.0,
        guaranteed=1.0,
        confidence=1.0,
        found=found,
        excluded=excluded,
        certified=True,
        missing_at_most=0,
        missing_for_any_model=0,
    )


NOTHING = RecallCertificate()
