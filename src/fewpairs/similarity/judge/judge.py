"""Judge: a language model behind a chat endpoint, as a similarity."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fewpairs.checks import check_flag, check_number, check_text, check_whole, refuse
from fewpairs.fingerprint import fingerprint
from fewpairs.similarity.base import Scorer, Similarity, check_texts
from fewpairs.similarity.judge.chat import Price
from fewpairs.similarity.judge.endpoint import DEFAULT_URL, Place
from fewpairs.similarity.judge.prompt import DEFAULT_PROMPT, DEFAULT_PURPOSE, Prompt
from fewpairs.similarity.judge.scorer import JudgeScorer

__all__ = ["Judge"]

_CALL = "fewpairs.Judge"
_PER_CALL = 1_000
_LANES = 10_000


@dataclass(frozen=True, repr=False)
class Judge(Similarity):
    r"""The score that a language model gives to two texts.

    Any server of OpenAI-compatible chat completions. Several pairs go into one call and
    come back as structured output, a number per pair, which is checked: a refusal, an
    answer that is cut off, no JSON, outside the scale or not one number per pair is
    asked for again, one pair at a time. Every answer is kept in the run's ledger by the
    content of the question, as soon as it has come: a kill loses calls that are under
    way, and equal texts are asked once. Money is counted from the tokens that the
    server reports, answers that were no use included. A reply that is lost on its way
    is asked for again, and not counted: nobody has said what it cost.

    Evaluations: one per pair, also with ``both_orders``, which costs two answers.

    The key is read from an environment variable when a call is made. It is in no
    attribute, message, log or file. Needs ``pip install 'fewpairs[judge]'``.

    Parameters
    ----------
    model
        As the server calls it.
    prompt
        A text with the places ``{a}`` and ``{b}``. The lines from the first place to
        the last are repeated for every pair of a call, all others are said once. By
        default the question how similar two texts are, for ``purpose``.
    purpose
        What takes the place ``{purpose}`` of the prompt.
    url
        Of the server, without ``/chat/completions``.
    scale
        Smallest and largest score.
    pairs_per_call
        Pairs that are asked about in one call. More cost fewer tokens per pair, and
        leave a model less attention for each.
    price
        Money per million tokens, (input, output), as your provider's price list has it:
        prices differ and change, and none is known here. Without it nothing is counted,
        and there are no budgets in money.
    both_orders
        Ask about every pair in both orders, in different calls, and average. By default
        chance decides which text comes first, the same for a pair every time. Of two
        sets, the left text is ``{a}``.
    diagonal
        The score of a text and an equal one, which are never asked about: the top of
        the scale by default; ``None``: ask.
    unanswered
        What a pair gets that the model does not answer when it is asked three times by
        itself. ``None``: an error, which keeps everything that was paid for.
    concurrency
        Calls under way at a time, at most: it begins with four, and grows and shrinks
        with what the server takes. To use a quota of many calls a second, allow as many
        as are begun in the time that one takes.
    retries, timeout, pause
        As in :func:`fewpairs.from_async`: of calls that fail, are refused for a while
        or take too long. A wrong key and an unknown model are not tried again; refusals
        for a while (429, 503) are waited out, for three minutes without any answer.
    rate
        Calls that may be started in a second, where the server's quota is known;
        otherwise it is learned from what the server answers and refuses.
    key_variable
        The environment variable that holds the key: ``OPENAI_API_KEY`` by default. A
        key goes over plain http to this machine alone, unless its variable is named.
    options
        More fields of the request; ``None`` takes one away. A model that thinks before
        it answers takes no temperature and needs room for its thoughts:
        ``{"temperature": None, "reasoning_effort": "low", "max_completion_tokens":
        4000}``. A budget of money then reckons with as many for every call.

    Examples
    --------
    >>> import fewpairs as fp
    >>> judge = fp.Judge(
    ...     "your-model",
    ...     "Are these two the same product?\n{a}\n{b}",
    ...     scale=(0, 10),
    ...     price=(1.00, 2.00),  # made up: take it from your provider's price list
    ... )
    >>> judge
    Judge(your-model)
    >>> judge.bounds
    (0.0, 10.0)
    """

    model: str
    prompt: str = DEFAULT_PROMPT
    purpose: str = field(default=DEFAULT_PURPOSE, kw_only=True)
    url: str = field(default=DEFAULT_URL, kw_only=True)
    scale: tuple[float, float] = field(default=(0.0, 10.0), kw_only=True)
    pairs_per_call: int = field(default=8, kw_only=True)
    price: tuple[float, float] | None = field(default=None, kw_only=True)
    both_orders: bool = field(default=False, kw_only=True)
    diagonal: Any = field(default="top", kw_only=True)
    unanswered: float | None = field(default=None, kw_only=True)
    concurrency: int = field(default=32, kw_only=True)
    retries: int = field(default=5, kw_only=True)
    timeout: float = field(default=60.0, kw_only=True)
    pause: float = field(default=0.25, kw_only=True)
    rate: float | None = field(default=None, kw_only=True)
    key_variable: str | None = field(default=None, kw_only=True)
    options: Mapping[str, Any] | None = field(default=None, kw_only=True)

    symmetric = True
    proven = True  # by the order of questions, whatever the model thinks of it
    deterministic = False
    fingerprinted = True

    def __post_init__(self) -> None:
        """Check everything that can be checked without asking."""
        check_text(_CALL, "model", self.model)
        check_text(_CALL, "purpose", self.purpose)
        Prompt.of(self.prompt, self.purpose, _CALL)
        Place.of(self.url, self.key_variable, _CALL)
        object.__setattr__(self, "scale", _range(self.scale))
        object.__setattr__(self, "price", _price(self.price))
        check_whole(
            _CALL, "pairs_per_call", self.pairs_per_call, least=1, most=_PER_CALL
        )
        check_flag(_CALL, "both_orders", self.both_orders)
        low, high = self.scale
        if isinstance(self.diagonal, str) and self.diagonal == "top":
            object.__setattr__(self, "diagonal", high)
        for name in ("diagonal", "unanswered"):
            value = getattr(self, name)
            check_number(_CALL, name, value, none=True)
            if value is not None and not low <= value <= high:
                raise refuse(_CALL, name, value, f"a number from {low:g} to {high:g}")
        check_whole(_CALL, "concurrency", self.concurrency, least=1, most=_LANES)
        check_whole(_CALL, "retries", self.retries)
        check_number(_CALL, "timeout", self.timeout, above=0)
        check_number(_CALL, "pause", self.pause, above=0)
        check_number(_CALL, "rate", self.rate, above=0, none=True)
        if self.options is not None and not isinstance(self.options, Mapping):
            raise refuse(_CALL, "options", self.options, "fields of a request, or None")

    @property
    def bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """The scale."""
        return self.scale

    @property
    def name(self) -> str:
        """The model's."""
        return f"Judge({self.model})"

    @property
    def template(self) -> Prompt:
        """What is asked."""
        return Prompt.of(self.prompt, self.purpose, _CALL)

    @property
    def rates(self) -> Price | None:
        """What tokens cost."""
        return None if self.price is None else Price(*self.price)

    @cached_property
    def fingerprint(self) -> str:
        """What names its answers in a ledger: all they depend on, but the server."""
        options = sorted((self.options or {}).items())
        return fingerprint([self.model, *self.template, *self.scale, repr(options)])

    def identify(self) -> Iterable[Any]:
        """Return what tells its values from others'."""
        return ("Judge", self.fingerprint, self.both_orders, self.diagonal)

    def standing(self) -> tuple[list[Any], str]:
        """Return its class and its fingerprint."""
        return [type(self)], self.fingerprint

    def bind(self, items: Sequence[Any]) -> Scorer:
        """Check the texts."""
        return self._bound(check_texts(items, _CALL), ordered=False)

    def bind_two(self, left: Sequence[Any], right: Sequence[Any]) -> Scorer:
        """Check the texts of both sides."""
        return self._bound(check_texts([*left, *right], _CALL), ordered=True)

    def _bound(self, texts: list[str], *, ordered: bool) -> Scorer:
        place = Place.of(self.url, self.key_variable, _CALL)
        return JudgeScorer(self, texts, place=place, ordered=ordered)


def _range(scale: Any) -> tuple[float, float]:
    if not (
        isinstance(scale, (tuple, list))
        and len(scale) == 2
        and all(_is_number(bound) for bound in scale)
        and scale[0] < scale[1]
    ):
        raise refuse(_CALL, "scale", scale, "(smallest, largest), such as (0, 10)")
    return float(scale[0]), float(scale[1])


def _price(price: Any) -> tuple[float, float] | None:
    if price is None:
        return None
    if not (
        isinstance(price, (tuple, list))
        and len(price) == 2
        and all(_is_number(part) and part >= 0 for part in price)
    ):
        cure = "(input, output), money per million tokens, or None"
        raise refuse(_CALL, "price", price, cure)
    return float(price[0]), float(price[1])


def _is_number(value: Any) -> bool:
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    return real and math.isfinite(value)
