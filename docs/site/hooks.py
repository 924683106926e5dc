"""Pages that live at the root of the repository are shown on the site as they are."""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put in the files that a page asks for, with links as seen from docs/."""

    def put(found: re.Match[str]) -> str:
        text = (ROOT / found.group(1)).read_text(encoding="utf-8")
        return text.replace("](docs/", "](")

    return re.sub(r'^--8<-- "(.+)"$', put, markdown, flags=re.M)
