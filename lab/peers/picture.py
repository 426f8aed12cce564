"""Draws the first table of docs/benchmarks.md: python -m lab.peers.picture."""

import hashlib
import re
from pathlib import Path

from scripts.benchmark.common import output

_DOCS = Path(__file__).parents[2] / "docs"
BENCHMARKS, PICTURE = _DOCS / "benchmarks.md", _DOCS / "pictures" / "peers.svg"
# Of the axis.
_LABEL = "times as fast, same weights and cores; transcriptions with no more errors"
_ROW = re.compile(r"^\| (.+) \| (.+) \| ([\d.]+) \|$", re.MULTILINE)


def bars(text: str) -> list[tuple[str, str, float]]:
    """Of a document's first table: the work, whom it is compared with, and how many times as fast the product is."""
    table = text.split("|---|---|---|", 1)[1].split("\n\n", 1)[0]
    return [(work, peer, float(ratio)) for work, peer, ratio in _ROW.findall(table)]


def mark(rows: list[tuple[str, str, float]]) -> str:
    """What a picture ends with, by which a test knows one that was not drawn anew."""
    return f"<!-- {hashlib.sha256(repr(rows).encode()).hexdigest()} -->\n"


def main() -> None:
    rows = bars(BENCHMARKS.read_text(encoding="utf-8"))
    with output.plot(PICTURE, 0.9 + 0.36 * len(rows)) as axes:
        drawn = axes.barh(
            [f"{work}\nbeside {peer}" for work, peer, _ in rows], [ratio for *_, ratio in rows], color="#1f5fbf"
        )
        axes.bar_label(drawn, fmt="%.1f", padding=4)
        axes.axvline(1, color="black", linewidth=0.8)
        axes.invert_yaxis()
        axes.tick_params(axis="y", labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set(xlabel=_LABEL)
    with PICTURE.open("a", encoding="utf-8") as file:
        file.write(mark(rows))


if __name__ == "__main__":
    main()
