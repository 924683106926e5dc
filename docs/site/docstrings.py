"""Docstrings for the site: roles such as :class:`~fewpairs.Plan` become code."""

import re

import griffe

_ROLE = re.compile(r":[a-z]+:`~?\.?([^`]+)`")


def _plain(found: re.Match[str]) -> str:
    name = found.group(1)
    return f"`{name.rsplit('.', 1)[-1] if found.group(0).count('~') else name}`"


class Roles(griffe.Extension):
    """Rewrites the docstring of everything that is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(_plain, obj.docstring.value)
