"""Endpoint: an OpenAI-compatible server of chat completions, over HTTP."""

import asyncio
import datetime as dt
import email.utils
import json
import math
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from fewpairs.checks import refuse
from fewpairs.errors import FewpairsError, InputError, MissingExtraError
from fewpairs.similarity.judge.replies import Reply, read_reply
from fewpairs.similarity.service import CallsLeft

__all__ = ["DEFAULT_KEY", "DEFAULT_URL", "Endpoint", "EndpointError", "Place"]

DEFAULT_URL = "https://api.openai.com/v1"
DEFAULT_KEY = "OPENAI_API_KEY"  # the variable, never the key
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3}  # in seconds
_LONGEST = 200  # characters of a server's words in a message


class EndpointError(FewpairsError):
    """A call that came to nothing.

    Attributes
    ----------
    status
        Of the HTTP response; ``None`` where there was none.
    retry_after
        Seconds that the server wants to be left alone for.
    final
        Whether the same call would fail again.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        final: bool = False,
    ) -> None:
        super().__init__(message)
        self.status, self.retry_after, self.final = status, retry_after, final


class Place(NamedTuple):
    """Where an endpoint is, and which environment variable holds its key.

    Attributes
    ----------
    url
        Without ``/chat/completions``.
    variable
        The name of the variable.
    named
        Whether the caller named it.
    """

    url: str
    variable: str
    named: bool

    @classmethod
    def of(cls, url: Any, variable: Any, call: str) -> "Place":
        """Check both; a value that may be a key is never shown."""
        parts = urlsplit(url) if isinstance(url, str) else None
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            raise refuse(
                call, "url", url, f'the address of a server, as "{DEFAULT_URL}"'
            )
        if parts.username or parts.password:
            msg = (
                f"{call}: url holds a user or a password. Put the key into an "
                "environment variable and name it by key_variable=."
            )
            raise InputError(msg)
        if variable is not None and not (
            isinstance(variable, str) and variable.isidentifier() and variable.isascii()
        ):
            msg = (
                f"{call}: key_variable is no name of an environment variable. Pass a "
                f'name, such as "{DEFAULT_KEY}", never the key itself.'
            )
            raise InputError(msg)
        chosen = DEFAULT_KEY if variable is None else variable
        return cls(url.rstrip("/"), chosen, variable is not None)

    @property
    def sends_key(self) -> bool:
        """Whether the key may be sent: where others read it, only if it was named."""
        parts = urlsplit(self.url)
        here = parts.hostname in ("localhost", "127.0.0.1", "::1")
        return self.named or here or parts.scheme == "https"

    def key(self) -> str | None:
        """Return the key as the environment has it now; it is not kept."""
        found = os.environ.get(self.variable, "").strip()
        if not found or not self.sends_key:
            return None
        if not (found.isascii() and found.isprintable()) or " " in found:
            msg = (
                f"fewpairs.Judge: the environment variable {self.variable} holds no "
                "key: it has blanks or characters that no header can carry. Set it "
                "again."
            )
            raise InputError(msg)
        return found

    def check(self) -> None:
        """Refuse to begin without a key where one is needed."""
        if self.key() is None and (self.named or self.url == DEFAULT_URL):
            msg = (
                f"fewpairs.Judge: the environment variable {self.variable} is not set, "
                f"and {self.url} asks for a key. Set it; it is read from there and "
                "nowhere else."
            )
            raise InputError(msg)


class Endpoint:
    """Asks for chat completions, in the event loop that first asked.

    Over ``httpx``: the ``openai`` client stands on it and adds pydantic and ten other
    packages, to do what is done here already: retries, limits and types.
    """

    def __init__(self, place: Place, *, timeout: float, connections: int) -> None:
        self.place = place
        self._timeout, self._connections = timeout, connections
        self._client: Any = None
        self.left: CallsLeft | None = None  # as the last response has it

    async def ask(self, request: dict[str, Any]) -> Reply:
        """Make one call; raise where it was refused or got lost."""
        httpx = _httpx()
        if self._client is None:
            self._client = httpx.AsyncClient(
                timeout=None,
                limits=httpx.Limits(max_connections=self._connections),
                headers={"content-type": "application/json"},
            )
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.post(
                    f"{self.place.url}/chat/completions",
                    content=json.dumps(request).encode(),
                    auth=self._authorized,
                )
        except TimeoutError:
            msg = f"{self.place.url} did not answer within {self._timeout:g} s"
            raise EndpointError(msg) from None
        except httpx.HTTPError as error:
            # Not from it: requests carry the key.
            msg = (
                f"{self.place.url}: {type(error).__name__}: {self._hidden(str(error))}"
            )
            raise EndpointError(msg) from None
        self.left = _left(response.headers)
        if response.status_code == 200:
            return read_reply(response.text)
        raise self._refusal(response, str(request.get("model")))

    async def close(self) -> None:
        """End connections."""
        if self._client is not None:
            await self._client.aclose()

    def _authorized(self, request: Any) -> Any:
        key = self.place.key()
        if key is not None:
            request.headers["authorization"] = f"Bearer {key}"
        return request

    def _hidden(self, words: str) -> str:
        """Return a server's words, short, and without the key should it repeat it."""
        key = self.place.key()
        words = words if key is None else words.replace(key, "…")
        return " ".join(words.split())[:_LONGEST]

    def _refusal(self, response: Any, model: str) -> EndpointError:
        status, (words, code) = int(response.status_code), _error_of(response.text)
        where, said = self.place.url, self._hidden(words)
        final = status < 500 and status not in (408, 409, 425, 429)
        if status in (401, 403):
            key = f"the key in {self.place.variable}"
            if self.place.key() is None:
                key = f"a call without a key ({self.place.variable} is not set)"
                if not self.place.sends_key:
                    key = "a call without a key (none is sent over http: name it by "
                    key += "key_variable= to send it all the same)"
            what = f"{where} refused {key}: {status}"
        elif status == 404:
            what = (
                f"{where} does not know the model {model!r:.60}, or is no endpoint: 404"
            )
        elif code == "insufficient_quota":
            what, final = f"{where}: the account has no money left: {status}", True
        else:
            what = f"{where} answered {status}"
        return EndpointError(
            f"{what} {said}".strip(),
            status=status,
            retry_after=_retry_after(response.headers),
            final=final,
        )


def _error_of(body: str) -> tuple[str, str]:
    """Return what a server says of an error, and its code."""
    try:
        error = json.loads(body)["error"]
        return str(error.get("message", "")), str(error.get("code", ""))
    except (ValueError, TypeError, LookupError, AttributeError):
        return body, ""


def _left(headers: Mapping[str, str]) -> CallsLeft | None:
    """Return how many calls are left until a quota is renewed, where a server says so.

    Times are numbers of seconds, or such as "6m0s", "1.5s" and "20ms".
    """
    try:
        calls = float(headers["x-ratelimit-remaining-requests"])
        time = headers["x-ratelimit-reset-requests"].strip()
        parts = re.findall(r"([\d.]+)\s*(ms|h|m|s)", time)
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
        seconds = seconds if parts else float(time)
    except (LookupError, ValueError):
        return None
    if not (0 <= calls < math.inf and 0 < seconds < math.inf):
        return None
    return CallsLeft(calls, seconds)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return for how many seconds a server wants to be left alone."""
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1e3)
    except (LookupError, ValueError):
        return _seconds(headers.get("retry-after"))


def _seconds(value: str | None) -> float | None:
    """Return a Retry-After header in seconds: it is a number, or a date."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        date = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    now = dt.datetime.now(dt.UTC)
    if date.tzinfo is None:
        date = date.replace(tzinfo=dt.UTC)
    return max(0.0, (date - now).total_seconds())


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        msg = "fewpairs.Judge needs httpx: pip install 'fewpairs[judge]'"
        raise MissingExtraError(msg) from error
    return httpx
