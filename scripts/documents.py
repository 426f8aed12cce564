"""Writes anew the parts of the documents that come from the code: ``make documents``."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from frontend.config import reference as settings
from frontend.config.settings import Settings
from frontend.observe import reference as metrics
from frontend.pages.guide import guide
from scripts.capacity import sizes

_ROOT = Path(__file__).parents[1]
# What makes the part of a document that stands between its marks.
PARTS: Mapping[str, Callable[[], str]] = {
    "docs/api.md": lambda: guide(Settings()),
    "docs/configuration.md": settings.reference,
    "docs/metrics.md": metrics.reference,
    "docs/capacity.md": sizes.reference,
}
_PART = re.compile(r"(?<=<!-- from the code -->\n).*?(?=<!-- end -->)", re.DOTALL)


def written(document: str) -> tuple[str, str]:
    """A document as it is, and as it is to be."""
    text = (_ROOT / document).read_text(encoding="utf-8")
    made, places = _PART.subn(lambda _: f"\n{PARTS[document]()}\n", text)
    if places != 1:
        raise ValueError(f"{document} must have one place for what comes from the code")
    return text, made


def main() -> None:
    for document in PARTS:
        (_ROOT / document).write_text(written(document)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
