"""The judge bound to texts: which questions a request takes, and what they came to."""

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewpairs.errors import SimilarityError, SpentError
from fewpairs.interrupts import shut
from fewpairs.similarity.asking import Answered, Asking
from fewpairs.similarity.base import Interrupted, Scorer
from fewpairs.similarity.gate import Terms, notes_of
from fewpairs.similarity.judge.chat import Chat, Question
from fewpairs.similarity.judge.endpoint import Endpoint, Place
from fewpairs.similarity.paid_answers import PaidAnswers
from fewpairs.similarity.service import Allowed
from fewpairs.types import Indices

__all__ = ["JudgeScorer"]

_CALLS = 16  # per concurrent call, in one request: while the last ones are waited for
_START = 4  # calls under way at first


class JudgeScorer(Scorer):
    """A judge bound to texts.

    Every question is asked once, whoever asks: equal texts, and orders of a pair, are
    looked up by content. Of one set, chance decides which text of a pair comes first,
    the same chance every time; of two sets, the left one. Questions go out in the order
    of their names, which is another chance: no pair stands in the same company as its
    neighbors in the request.
    """

    def __init__(
        self, judge: Any, texts: list[str], *, place: Place, ordered: bool
    ) -> None:
        self.n = len(texts)
        self.backend = f"{judge.model} at {place.url}"
        self.chunk = _CALLS * judge.concurrency * judge.pairs_per_call
        self.judge = judge
        self._texts, self._place, self._ordered = texts, place, ordered
        self._kind = judge.fingerprint.encode()
        endpoint = Endpoint(place, timeout=judge.timeout, connections=judge.concurrency)
        self._chat = Chat(
            endpoint,
            model=judge.model,
            prompt=judge.template,
            scale=judge.scale,
            options=judge.options or {},
            per_call=judge.pairs_per_call,
            price=judge.rates,
            unanswered=judge.unanswered,
        )
        terms = Terms(
            concurrency=judge.concurrency,
            retries=judge.retries,
            timeout=None,  # the endpoint's own
            pause=judge.pause,
            rate=judge.rate,
            start=min(_START, judge.concurrency),
        )
        self._asking = Asking(self._chat, terms)
        self.price = self._guess()

    def prepare(self, tell: Any) -> None:  # noqa: ARG002 - nothing takes long
        """Refuse to begin without a key, where one is needed."""
        self._place.check()

    def watch(self, note: Callable[[str], object]) -> None:
        """Tell of refusals that are waited out."""
        self._asking.note = note

    def keep_answers(self, answers: PaidAnswers) -> None:
        """Look up and keep answers there, by content."""
        self._chat.answers = answers

    def spent(self) -> float:
        """Return what the server has charged."""
        return self._asking.spent()

    def pairs(self, i: Indices, j: Indices) -> NDArray[Any]:
        """Return the model's scores."""
        return self.pairs_within(i, j, Allowed())

    def pairs_within(self, i: Indices, j: Indices, allowed: Allowed) -> NDArray[Any]:
        """Return the model's scores, as far as they fit into what is allowed."""
        shut()  # but while answers are waited for
        top = None if self._ordered else self.judge.diagonal
        asked = [self._questions(int(a), int(b)) for a, b in zip(i, j, strict=True)]
        whose: dict[str, tuple[Question, int]] = {}
        for t, (own, a, b) in enumerate(zip(asked, i, j, strict=True)):
            if top is None or self._texts[a] != self._texts[b]:
                whose.update((q.name, (q, t)) for q in own if q.name not in whose)
        known = self._chat.answers.known(whose)
        missing = [whose[name] for name in sorted(whose) if name not in known]
        answered = None
        if missing:
            answered = self._asking.ask(missing, allowed)
            names = (question.name for question, _ in missing)
            known.update(zip(names, answered.values.tolist(), strict=True))
        values = np.empty(len(asked))
        for t, own in enumerate(asked):
            said = [known.get(question.name, top) for question in own]
            values[t] = sum(x for x in said if x is not None) / len(said)
        if answered is not None:
            self._raise(answered, values, [(i[t], j[t]) for _, t in missing])
        return values

    def _questions(self, a: int, b: int) -> list[Question]:
        first, second = self._texts[a], self._texts[b]
        if not self._ordered:
            first, second = min(first, second), max(first, second)
        there, back = (
            self._question(x, y) for x, y in ((first, second), (second, first))
        )
        if self.judge.both_orders:
            return [there, back]
        if self._ordered or int(there.name[-1], 16) % 2:
            return [there]
        return [back]

    def _question(self, a: str, b: str) -> Question:
        name = hashlib.blake2b(self._kind, digest_size=16)
        for text in (a, b):
            data = text.encode("utf-8", errors="surrogatepass")
            name.update(len(data).to_bytes(8, "little") + data)
        return Question(name.hexdigest(), a, b)

    def _raise(
        self, answered: Answered, values: NDArray[Any], pairs: list[tuple[Any, Any]]
    ) -> None:
        stopped = answered.stopped
        if stopped is None and answered.failed is not None:
            t, error = answered.failed
            stopped = self._described((int(pairs[t][0]), int(pairs[t][1])), error)
        if stopped is None and answered.spent:
            stopped = SpentError()
        if stopped is not None:
            raise Interrupted(values, stopped)

    def _described(self, pair: tuple[int, int], error: BaseException) -> BaseException:
        if not isinstance(error, Exception):
            return error
        failed = SimilarityError(
            f"{self.judge.name}: {error} (asked about items[{pair[0]}] and "
            f"items[{pair[1]}]).{notes_of(error)} What was paid for is in the error's "
            ".ledger; pass it as store= to go on.",
            pair=pair,
        )
        failed.__cause__ = error
        return failed

    def _guess(self) -> float:
        """Return about what an evaluation costs: four bytes make a token."""
        if self.judge.rates is None or not self._texts:
            return 0.0
        some = self._texts[:: max(1, len(self._texts) // 64)]
        number = self.judge.pairs_per_call
        texts = [(some[t % len(some)], some[-t % len(some)]) for t in range(number)]
        pairs = [(Question("", a, b), 0) for a, b in texts]
        orders = 2 if self.judge.both_orders else 1
        return float(self._chat.most(pairs) / 4 / number * orders)
