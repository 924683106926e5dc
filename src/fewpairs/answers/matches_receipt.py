"""The receipt of matches: what was asked, found, left over and paid."""

from typing import TYPE_CHECKING

import numpy as np

from fewpairs.answers.recall import NOTHING

if TYPE_CHECKING:
    from fewpairs.answers.matches import Matches

__all__ = ["missed_in_words", "receipt", "receipt_lines"]


def receipt(matches: "Matches") -> str:
    """Return the receipt as text."""
    left, right = matches.sides
    what = f"{left.n:,} items" if matches.one_set else f"{left.n:,} × {right.n:,} rows"
    lines = receipt_lines(matches)
    body = [f"  {name:<11} {text}" for name, text in lines.items()]
    return "\n".join([f"fewpairs: matches of {what}", *body])


def receipt_lines(matches: "Matches") -> dict[str, str]:
    """Return what a receipt says, line by line."""
    lines = {"asked": _asked(matches), "found": _found(matches)}
    if matches.one_to_one:
        lines["one to one"] = _assigned(matches)
    alone = matches.unmatched
    if matches.one_set:
        lines["unmatched"] = f"{len(alone.left):,} items"
    else:
        lines["unmatched"] = f"{len(alone.left):,} left, {len(alone.right):,} right"
    if matches.way is not None:
        lines["way"] = str(matches.way)
    lines["paid"] = _paid(matches)
    if matches.threshold is not None:
        lines["missed"] = missed_in_words(matches)
        lines |= _certified(matches)
    return lines


def _asked(matches: "Matches") -> str:
    words = []
    if matches.threshold is not None:
        words.append(f"pairs at least {matches.threshold:g} similar")
    if matches.k is not None:
        words.append(f"the {matches.k} most similar of every left row")
    if matches.one_to_one:
        words.append("one to one")
    return ", ".join(words) or "some of the evaluated pairs"


def _found(matches: "Matches") -> str:
    if not len(matches):
        return "no pairs"
    low, high = matches.similarity.min(), matches.similarity.max()
    number = "1 pair" if len(matches) == 1 else f"{len(matches):,} pairs"
    return f"{number}, similarities {low:.4g} to {high:.4g}, each evaluated"


def _assigned(matches: "Matches") -> str:
    candidates = len(matches) + matches.others.number
    if matches.threshold is not None:
        above = matches.others.similarity >= matches.threshold
        candidates = len(matches) + int(np.sum(above))
    ties = (
        "no row had another candidate as similar"
        if not matches.ties
        else f"for {_rows(matches.ties)} another candidate is as similar, and of those "
        "the order decides"
    )
    words = f"the best assignment among {candidates:,} candidates; {ties}"
    alone = len(matches.unmatched.left)
    if matches.threshold is None and alone:
        words += (
            f"; nothing is left for {_rows(alone)}, since others have all of their "
            "candidates: a larger k gives more"
        )
    return words


def _rows(number: int) -> str:
    return "1 left row" if number == 1 else f"{number:,} left rows"


def _paid(matches: "Matches") -> str:
    left, right = matches.sides
    everything = left.n * (left.n - 1) // 2 if matches.one_set else left.n * right.n
    share = matches.evaluations / everything if everything else 1.0
    words = f"{matches.evaluations:,} evaluations of {everything:,} pairs"
    words += f" ({share:.2%})" if share <= 1 else ", both orders counted"
    if matches.excluded:
        words += f"; {matches.excluded:,} cannot reach the threshold, by proof"
    return words


def _certified(matches: "Matches") -> dict[str, str]:
    """Return what is certified of the list, and where more would be found."""
    made = matches.certificate
    if made is NOTHING or made.guaranteed == 1:
        return {}
    lines = {"recall": str(made)}
    proven = made.excluded - matches.excluded  # drawn, and answered without reading
    if made.sampled or proven:
        lines["sampled"] = f"{made.sampled:,} evaluations, for the certificate"
    if proven:
        lines["sampled"] += f"; {proven:,} pairs more cannot match, by proof"
    ahead = made.next_pairs
    if ahead.number:
        first = ", ".join(
            f"({a}, {b})" for a, b in zip(ahead.left[:3], ahead.right[:3], strict=True)
        )
        lines["next"] = (
            f"missing ones would most likely be among pairs such as {first}: "
            "certificate.next_pairs"
        )
    return lines


def missed_in_words(matches: "Matches") -> str:
    """Return what is known of pairs above the threshold that were not found."""
    missed = matches.missed
    if matches.way is not None and matches.way.exact:
        return "none, all pairs were read" + (
            " that could be among them" if matches.excluded else ""
        )
    words = []
    if missed is not None and missed.hidden:
        words.append(
            f"of {missed.hidden:,} such pairs in rows hidden from a smaller fit, "
            f"{missed.found:,} were found ({missed.found / missed.hidden:.0%}; with "
            f"95 % confidence at least {missed.found_at_least:.0%})"
        )
    if missed is not None and missed.held_out:
        words.append(
            f"{missed.above:,} of {missed.held_out:,} held-out pairs were missed: "
            f"about {missed.estimate:,.0f} of all pairs, at most {missed.at_most:,.0f} "
            "(95 %)"
        )
    return "; ".join(words) or "not known, no pairs were held out"
