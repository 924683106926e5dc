"""Verbs of an approximation for items that it was not made of."""

from typing import TYPE_CHECKING, Any

from fewpairs.matrix.budget import GivenBudget
from fewpairs.progress import Progress
from fewpairs.result.carrying_out import carried_out_by, verbs_of

if TYPE_CHECKING:
    from fewpairs.answers.searcher import Searcher
    from fewpairs.result.approximation import Approximation

__all__ = ["GrowthVerbs"]


class GrowthVerbs:
    """What an approximation does with new items, and remembers."""

    @carried_out_by("fewpairs.run.adding:add")
    def add(
        self,
        new_items: Any = None,
        *,
        others: Any = None,
        budget: GivenBudget = None,
        prior: Any = None,
        progress: bool | Progress = False,
    ) -> "Approximation":
        """Return a larger approximation: of these items, and of new ones after them.

        Of two sets either side grows, or both: new items come after the items, new
        others after the others, and nothing within a side is evaluated.

        Everything that was paid for is kept and exact, and positions stay what they
        were. Only pairs with a new item are read; then everything known is fitted
        anew, so that the model is of all items. The certificate is of the larger
        matrix: beside new held-out pairs it rests on those of old items that were held
        out before, as many for each unread pair. Adding in ten parts ends near what one
        run gives for the same evaluations (docs/adding.md).

        Evaluations: as many pairs per new item as the first run read per item, unless a
        budget is given; nearly all of them have one new item, so 50 pairs per item are
        50 evaluations for each. Time: that of a fit of all items, however few are new,
        so add many at a time where you can: a second or two for 3,000 items without a
        student; with one its training again, up to ``Auto.student_seconds``.

        Parameters
        ----------
        new_items
            A sequence of items like the fitted ones, at least one. Not where a matrix
            or vectors came with the similarity: they know no other items.
        others
            New items of the second of two sets, such as documents where the fitted
            items are queries.
        budget
            For pairs with new items: ``"50/item"`` is 50 pairs per new item, of either
            set; a share is
            one of the pairs with new items, so that the same share every time ends in
            what one run of it reads; an int is a number of evaluations. Methods with
            landmarks need one per landmark and new item.
        prior
            (m, d) embeddings of the new items, where the fit used embeddings; of two
            sets that both grow a pair (new items, new others) of arrays. A recipe
            is bound to the new items too; a prior made of texts is fitted anew up to
            5,000 texts, beyond that it gives new texts vectors as it was fitted.
        progress
            ``True`` shows a bar; or an object with the methods of ``Progress``.

        Raises
        ------
        InputError, BudgetError
            Before anything is paid for.

        Examples
        --------
        >>> import fewpairs as fp
        >>> texts = [f"{a} {b}" for a in ("red", "green", "blue") for b in range(100)]
        >>> approx = fp.approximate(texts, fp.StringSimilarity("levenshtein"))
        >>> larger = approx.add(["red 100", "blue 100"], budget="100/item")
        >>> larger.shape, larger.evaluations - approx.evaluations <= 200
        ((302, 302), True)
        >>> two = fp.approximate(texts[:50], fp.StringSimilarity(), others=texts[50:])
        >>> two.add(others=["red 100", "blue 100"]).shape
        (50, 252)
        """

    @carried_out_by("fewpairs.answers.searcher:searcher")
    def searcher(
        self, k: int = 10, *, evaluations: int = 100, rounds: int = 6
    ) -> "Searcher":
        """Return what answers queries as they come, and pays for nothing twice.

        For a service that searches again and again: safe from several threads, and what
        it pays for is kept in the ledger of the run, where there is one, for the next
        process. Close it, or use it in a ``with`` block. See
        :class:`fewpairs.answers.searcher.Searcher`.

        Parameters
        ----------
        k, evaluations, rounds
            As in ``search``, for queries that do not say.

        Examples
        --------
        >>> import fewpairs as fp
        >>> texts = [f"{a} {b}" for a in ("red", "green", "blue") for b in range(100)]
        >>> approx = fp.approximate(texts, fp.StringSimilarity("levenshtein"))
        >>> with approx.searcher(k=3, evaluations=40) as searcher:
        ...     first = searcher.search("red 100")
        ...     again = searcher.search(["red 100", "red 100"])
        >>> first.evaluations, again.evaluations
        (40, 0)
        """


__test__ = verbs_of(GrowthVerbs)  # doctest finds no decorated methods itself
