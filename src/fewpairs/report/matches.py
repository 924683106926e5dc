"""A page of matches: counts, similarities, what to look at, what is left over."""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fewpairs.answers.evaluated import Pairs
from fewpairs.answers.matches import Matches
from fewpairs.answers.matches_receipt import receipt_lines
from fewpairs.answers.sides import Side, listed
from fewpairs.checks import check_path, check_text
from fewpairs.report.page import page
from fewpairs.report.plain import unturned
from fewpairs.types import Indices

__all__ = ["write_matches_report"]

_SCRIPTS = ("charts.js", "matches.js")
_BINS = 40
_BORDERLINE = 20
_LISTED = 100  # matches, and rows without one, on the page
_LETTERS = 600  # of a text

Marked = list[tuple[str, bool]]  # words, and whether the other text lacks them


def write_matches_report(
    matches: Matches, path: str | Path, *, title: str = "matches", created: str = ""
) -> None:
    """Write one self-contained HTML file about matches; it holds their texts.

    Counts, a histogram of the evaluated similarities with the threshold, the pairs
    nearest to it side by side with differing words marked, rows without a match, the
    receipt. Costs no evaluation, and the page asks no network.

    Parameters
    ----------
    matches
        Of :func:`fewpairs.match` or :func:`fewpairs.duplicates`.
    path
        The file; it is replaced.
    title
        What the page is about.
    created
        When the matches were found, in words.

    Examples
    --------
    >>> import tempfile, fewpairs as fp
    >>> from pathlib import Path
    >>> found = fp.duplicates(["a cat", "a cats", "dog"], fp.StringSimilarity(), 0.8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_matches_report(found, f"{folder}/page.html")
    ...     Path(f"{folder}/page.html").read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    call = "write_matches_report"
    where = Path(check_path(call, "path", path))
    title = check_text(call, "title", title)
    made = page("matches.html", title, _facts(matches, title, created), _SCRIPTS)
    where.write_text(made, encoding="utf-8")


def _facts(matches: Matches, title: str, created: str) -> dict[str, Any]:
    left, right = matches.sides
    alone = matches.unmatched
    everything = left.n * (left.n - 1) // 2 if matches.one_set else left.n * right.n
    return {
        "title": title,
        "created": created,
        "one_set": matches.one_set,
        "rows": [left.n, right.n],
        "matches": len(matches),
        "matched": [left.n - len(alone.left), right.n - len(alone.right)],
        "threshold": matches.threshold,
        "evaluations": matches.evaluations,
        "everything": everything,
        "exact": matches.way is not None and matches.way.exact,
        "histogram": _histogram(matches),
        "borderline": _pairs(matches, matches.borderline(_BORDERLINE), apart=True),
        "next": _pairs(matches, _ahead(matches), apart=True),
        "best": _pairs(matches, matches.with_pairs(_first(matches), Pairs.none())),
        "unmatched": [
            _alone(left, alone.left, _either_way(matches)),
            _alone(right, alone.right, matches.others.turned()),
        ],
        "receipt": receipt_lines(matches),
        "printed": str(matches),
    }


def _ahead(matches: Matches) -> Matches:
    """Return unread pairs that are predicted highest, with their predictions."""
    return matches.with_pairs(matches.certificate.next_pairs, Pairs.none())


def _first(matches: Matches) -> Pairs:
    return matches.pairs.at(slice(_LISTED))


def _histogram(matches: Matches) -> dict[str, Any] | None:
    """Return how many evaluated pairs there are between equal steps, by what they are.

    Of pairs below the threshold only the nearest are kept, so the lowest steps may
    hold more than are shown.
    """
    pool = np.concatenate([matches.similarity, matches.others.similarity])
    if not len(pool):
        return None
    if matches.threshold is not None:  # its line is in the picture
        pool = np.append(pool, matches.threshold)
    low, high = float(pool.min()), float(pool.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, _BINS + 1)
    return {
        "low": low,
        "high": high,
        "matches": np.histogram(matches.similarity, edges)[0].tolist(),
        "others": np.histogram(matches.others.similarity, edges)[0].tolist(),
    }


def _pairs(
    matches: Matches, some: Matches, *, apart: bool = False
) -> list[dict[str, Any]]:
    """Return pairs with both texts; ``apart``: words that differ are told apart."""
    taken = {*zip(matches.left.tolist(), matches.right.tolist(), strict=True)}
    sides = matches.sides
    texts = sides[0].texts(some.left), sides[1].texts(some.right)
    names = [_names(side, at) for side, at in zip(sides, some.pairs[:2], strict=True)]
    out = []
    for t, pair in enumerate(zip(some.left.tolist(), some.right.tolist(), strict=True)):
        a, b = _shown(texts[0][t]), _shown(texts[1][t])
        marked = marked_words(a, b) if apart else ([(a, False)], [(b, False)])
        out.append(
            {
                "similarity": float(some.similarity[t]),
                "match": pair in taken,
                "names": [names[0][t], names[1][t]],
                "texts": marked,
            }
        )
    return out


def _either_way(matches: Matches) -> Pairs:
    """Return what lost; of one set, an item stands on either side."""
    others = matches.others
    return others.plus(others.turned()) if matches.one_set else others


def _alone(side: Side, rows: Indices, others: Pairs) -> dict[str, Any]:
    """Return rows without a match, with the best that was evaluated for them."""
    shown = rows[:_LISTED]
    best = np.full(side.n, np.nan)
    order = np.argsort(others.similarity, kind="stable")  # the largest is written last
    best[others.left[order]] = others.similarity[order]
    described = zip(
        _names(side, shown), side.texts(shown), best[shown].tolist(), strict=True
    )
    listed_rows = [
        {"name": name, "text": _shown(text), "best": value}
        for name, text, value in described
    ]
    return {"number": len(rows), "rows": listed_rows}


def marked_words(a: str, b: str) -> tuple[Marked, Marked]:
    """Return two texts in runs of words, and whether the other has them there.

    >>> marked_words("red big cat", "red cat")
    ([('red', False), ('big', True), ('cat', False)], [('red', False), ('cat', False)])
    """
    left, right = a.split(), b.split()
    matcher = difflib.SequenceMatcher(
        None,
        [w.casefold() for w in left],
        [w.casefold() for w in right],
        autojunk=False,
    )
    out: tuple[Marked, Marked] = ([], [])
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        for words, start, stop, side in ((left, i, i_end, 0), (right, j, j_end, 1)):
            if stop > start:
                out[side].append((" ".join(words[start:stop]), kind != "equal"))
    return out


def _shown(text: str) -> str:
    text = unturned(text)
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"


def _names(side: Side, rows: Indices) -> Sequence[str]:
    return [unturned(str(name))[:60] for name in listed(side.called(rows))]
