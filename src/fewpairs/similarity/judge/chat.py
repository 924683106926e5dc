"""Chat: questions about pairs, put to an endpoint, and what they cost."""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fewpairs.errors import FewpairsError
from fewpairs.similarity.judge.endpoint import Endpoint, EndpointError
from fewpairs.similarity.judge.prompt import Prompt, answer_schema
from fewpairs.similarity.judge.replies import Reply, numbers_of, trouble_of
from fewpairs.similarity.paid_answers import PaidAnswers, PaidCall, Usage
from fewpairs.similarity.service import CallsLeft, Pay, Service

__all__ = ["Chat", "Price", "Question"]

_ALONE = 3  # times that one pair is asked by itself before it counts as unanswered
_TOKENS, _TOKENS_EACH = 24, 12  # that an answer may have, and on top for every pair
_OVERHEAD = 256  # tokens that a server's own template may add to what it is sent


class Price(NamedTuple):
    """Money per million tokens, of what is sent and of what is answered."""

    input: float
    output: float

    def of(self, tokens: Usage) -> float:
        """Return what tokens cost."""
        return (self.input * tokens.input + self.output * tokens.output) / 1e6


class Question(NamedTuple):
    """Two texts in the order in which they are asked, and what names the question."""

    name: str
    a: str
    b: str


class UnusableError(FewpairsError):
    """An answer to one pair that is no use."""

    def __init__(self, message: str, *, final: bool) -> None:
        super().__init__(message)
        self.final = final


class Chat(Service):
    """Asks a model about several pairs per call.

    An answer that is refused, cut off, no JSON or not as many numbers as pairs is asked
    for again one by one; a number outside the scale alone. Whatever was answered is
    kept, and paid for, before anything else is done with it.

    Parameters
    ----------
    endpoint
        Where the model is.
    model, prompt, scale, options
        What is asked of it, and how.
    per_call
        Pairs per call.
    price
        ``None``: it costs nothing, or nobody knows.
    unanswered
        What a pair gets that the model does not answer; ``None``: that is an error.

    Attributes
    ----------
    answers
        Where answers are kept.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        model: str,
        prompt: Prompt,
        scale: tuple[float, float],
        options: Mapping[str, Any],
        per_call: int,
        price: Price | None,
        unanswered: float | None,
    ) -> None:
        self.per_call = per_call
        self._endpoint, self._model, self._prompt = endpoint, model, prompt
        self._scale, self._options, self._price = scale, options, price
        self._unanswered = unanswered
        self.answers = PaidAnswers()
        self._alone: Counter[str] = Counter()

    @property
    def calls_left(self) -> CallsLeft | None:  # type: ignore[override]
        """As the last response has it."""
        return self._endpoint.left

    def request(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Return the body of a call."""
        schema = answer_schema(len(pairs), self._scale)
        body = {
            "model": self._model,
            "messages": self._prompt.messages(pairs, self._scale),
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "scores", "strict": True, "schema": schema},
            },
            "temperature": 0,
            "max_completion_tokens": _TOKENS + _TOKENS_EACH * len(pairs),
            **self._options,
        }
        return {name: value for name, value in body.items() if value is not None}

    def most(self, pairs: Sequence[tuple[Any, Any]]) -> float:
        """Return the most that a call can cost: a token is a byte at least."""
        if self._price is None:
            return 0.0
        body = self.request(_texts(pairs))
        limits = (body.get("max_completion_tokens"), body.get("max_tokens"))
        output = min((x for x in limits if x is not None), default=_OVERHEAD)
        sent = len(json.dumps(body, ensure_ascii=False).encode())
        return self._price.of(Usage(1, sent + _OVERHEAD, output))

    async def ask(
        self, pairs: Sequence[tuple[Any, Any]], pay: Pay
    ) -> Sequence[float | None]:
        """Make one call."""
        questions = [question for question, _ in pairs]
        try:
            reply = await self._endpoint.ask(self.request(_texts(pairs)))
        except EndpointError as error:
            if error.status in (400, 413, 422) and len(pairs) > 1:
                return [None] * len(pairs)  # too long, perhaps, or a text it minds
            raise
        if reply.torn:
            raise self._torn()
        numbers = None
        if reply.trouble is None:
            numbers = numbers_of(reply.content, len(pairs), self._scale)
        numbers = numbers or [None] * len(pairs)
        if len(pairs) == 1 and numbers[0] is None:
            numbers = [self._default(questions[0])]
        usage = self._usage(reply)
        pay(usage.money)
        said = zip(questions, numbers, strict=True)
        usable = {question.name: x for question, x in said if x is not None}
        await self._keep(PaidCall(usable, usage))
        if self._price is not None and None in (reply.input, reply.output):
            raise self._uncounted()
        if len(pairs) == 1 and numbers[0] is None:
            why = reply.trouble or trouble_of(reply.content, self._scale)
            raise UnusableError(why, final=self._alone[questions[0].name] >= _ALONE)
        return numbers

    async def close(self) -> None:
        """End connections."""
        await self._endpoint.close()

    def _default(self, question: Question) -> float | None:
        """Return what a pair gets whose answers were no use so often."""
        self._alone[question.name] += 1
        return self._unanswered if self._alone[question.name] >= _ALONE else None

    def _usage(self, reply: Reply) -> Usage:
        tokens = Usage(1, reply.input or 0, reply.output or 0)
        money = 0.0 if self._price is None else self._price.of(tokens)
        return tokens._replace(money=money)

    async def _keep(self, call: PaidCall) -> None:
        # In a thread, since a disk or a store may take a while; and to its end, since
        # it has been paid for.
        await asyncio.shield(asyncio.to_thread(self.answers.keep, call))

    def _torn(self) -> EndpointError:
        return EndpointError(
            f"{self._endpoint.place.url} sent a reply that is no JSON and does not say "
            "how many tokens it counted"
        )

    def _uncounted(self) -> EndpointError:
        return EndpointError(
            f"{self._endpoint.place.url} does not say how many tokens it counted (no "
            "usage), so that money cannot be counted. Pass price=None, and a budget "
            "that is not in money",
            final=True,
        )


def _texts(pairs: Sequence[tuple[Any, Any]]) -> list[tuple[str, str]]:
    """Return the texts of questions; the second of a pair says where it came from."""
    return [(question.a, question.b) for question, _ in pairs]
