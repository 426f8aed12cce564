"""What a rehearsal took, step by step and model by model, as JSON and as tables for people."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

from scripts.export_models import plan
from scripts.rehearsal.watch import Line, Sample

_GB = 1e9
# As the export's log has them, behind the seconds since its beginning.
_MODEL_LINE = re.compile(rf"^ *[\d.]+ ({'|'.join(plan.MODELS)}): (.+)$")
_DONE, _DOWNLOADING = "done, ", "downloading "


@dataclass(frozen=True)
class Took:
    """Seconds, of the clock and of processors; bytes of memory at the most, as ``watch.Sample`` has them; and the
    longest time in which nothing was said.
    """

    seconds: float
    worked: float
    own: int
    resident: int
    silence: float


@dataclass(frozen=True)
class Step:
    """One step; ``disk`` is bytes on it at the end."""

    name: str
    took: Took
    disk: int = 0
    note: str = ""


@dataclass(frozen=True)
class Exported:
    """One model; ``fetching`` are the seconds of its download."""

    model: str
    fetching: float
    took: Took


@dataclass
class Report:
    """``machine`` and ``scale`` in words, all steps, the models of each precision, and what was asked of the hub."""

    machine: str
    scale: str
    steps: list[Step] = field(default_factory=list)
    models: dict[str, list[Exported]] = field(default_factory=dict)
    hub: dict[str, int] = field(default_factory=dict)
    answers: dict[str, dict[str, float]] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """``report.json`` and ``report.md``."""
        (folder / "report.json").write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        (folder / "report.md").write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        """The tables."""
        steps = [[step.name, *_numbers(step.took), _gb(step.disk), step.note] for step in self.steps]
        head = ["s", "processor s", "memory GB", "largest process GB", "longest silence s"]
        parts = [f"{self.machine}; look-alikes: {self.scale}\n", _table(["step", *head, "disk GB", ""], steps)]
        for precision, models in self.models.items():
            rows = [[each.model, f"{each.fetching:.0f}", *_numbers(each.took)] for each in models]
            parts.append(_table([f"export, {precision}", "of it download s", *head], rows))
        for step, seconds in self.answers.items():
            parts.append(
                f"First answers, {step}: {', '.join(f'{name} {each:.1f} s' for name, each in seconds.items())}\n"
            )
        sent, size = self.hub.get("sent", 0), self.hub.get("size", 0)
        parts.append(f"The hub has {_gb(size)} GB and sent {_gb(sent)} GB in {self.hub.get('asked', 0)} answers.\n")
        return "\n".join(parts)


def _numbers(took: Took) -> list[str]:
    rounded = [f"{each:.0f}" for each in (took.seconds, took.worked)]
    return [*rounded, _gb(took.own), _gb(took.resident), f"{took.silence:.0f}"]


def _gb(size: int) -> str:
    return f"{size / _GB:.1f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def took(lines: Sequence[Line], samples: Sequence[Sample], begin: float, end: float) -> Took:
    """Between two moments of a command."""
    within = [each for each in samples if begin <= each.at <= end]
    said = [begin, *(line.at for line in lines if begin < line.at < end), end]
    return Took(
        seconds=end - begin,
        worked=within[-1].worked - within[0].worked if within else 0.0,
        own=max((each.own for each in within), default=0),
        resident=max((each.resident for each in within), default=0),
        silence=max(after - before for before, after in pairwise(said)),
    )


def exported(lines: Sequence[Line], samples: Sequence[Sample]) -> Iterator[Exported]:
    """The models that were finished, in the order of their ends."""
    told: dict[str, list[Line]] = {}
    for line in lines:
        if match := _MODEL_LINE.match(line.text):
            model, text = match.groups()
            its = told.setdefault(model, [])
            its.append(Line(line.at, text))
            if text.startswith(_DONE):
                fetching = sum(after.at - each.at for each, after in pairwise(its) if _DOWNLOADING in each.text)
                yield Exported(model, fetching, took(lines, samples, its[0].at, line.at))
