"""The table and the advice of a comparison."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from frontend.commands.tables import columns
from scripts.compare.measures import Scores, Vectors, given_up, kept, worst

# Bounds for advice to use int8: the least share of first results that stay, and the least speed-up.
_KEPT, _FASTER = 0.98, 1.1
_WORDS_SHOWN = 48


@dataclass(frozen=True)
class Compared:
    """A model, the change of its answers to ``texts`` or queries, and the tokens per second of fp32 and int8."""

    model: str
    change: Vectors | Scores
    texts: Sequence[str]
    speeds: tuple[float, float]

    @property
    def faster(self) -> float:
        return self.speeds[1] / self.speeds[0]


def table(compared: Sequence[Compared]) -> str:
    """The numbers of each model, one per line."""
    lines: list[str] = []
    for each in compared:
        change, texts = each.change, each.texts
        rows = list(_vectors(change, texts) if isinstance(change, Vectors) else _scores(change, texts))
        exact, other = each.speeds
        rows.append(("tokens a second: fp32, int8", f"{exact:,.0f}  {other:,.0f}"))
        lines += [each.model, *(f"  {line}" for line in columns(rows))]
    return "\n".join(lines)


def _vectors(change: Vectors, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    middle, most, largest = np.quantile(change.turned, (0.5, 0.99, 1))
    yield "1 - cosine: median, 99th percentile, largest", f"{middle:.1e}  {most:.1e}  {largest:.1e}"
    yield "the text that changes most", _shown(worst(change.turned, texts))
    yield "nearest neighbour kept; what others lose", _first(change)
    yield f"{change.moved.shape[1]} nearest neighbours kept", f"{change.all_kept:.1%}"
    yield "change of their similarity: mean, largest", f"{change.moved.mean():.4f}  {change.moved.max():.4f}"


def _scores(change: Scores, queries: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield "change of a score: mean, largest", f"{change.moved.mean():.4f}  {change.moved.max():.4f}"
    yield "the query whose scores change most", _shown(worst(change.moved, queries))
    yield "first result kept; what others lose", _first(change)
    yield f"pairs of {change.moved.shape[1]} results in the same order", f"{change.order_kept:.1%}"


def _first(change: Vectors | Scores) -> str:
    return f"{kept(change.lost):.1%}  {given_up(change.lost):.4f}"


def _shown(text: str) -> str:
    return text if len(text) <= _WORDS_SHOWN else f"{text[:_WORDS_SHOWN]}..."


def verdict(compared: Sequence[Compared]) -> str:
    """One sentence of advice."""
    slowest = min(each.faster for each in compared)
    if slowest < _FASTER:
        return f"int8 is {slowest:.1f} times as fast as fp32 on this machine: PRECISION=fp32 loses nothing"
    least, lost, model = min((kept(each.change.lost), given_up(each.change.lost), each.model) for each in compared)
    speed = f"{slowest:.1f} times as fast"
    if least < _KEPT:
        changed = f"int8 gives another first result in {1 - least:.1%} of {model}'s queries, worth {lost:.4f} less"
        return f"{changed}, and is {speed}: PRECISION=fp32 where these texts must be found exactly"
    return f"int8 keeps {least:.1%} or more of the first results and is {speed} (PRECISION=int8)"
