"""Writes what a soak saw: tables in Markdown, and the plots."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from scripts.benchmark.common.output import head, line, machine
from tests.soak.faults import BY_ITSELF, FAULTS
from tests.soak.kinds import KINDS
from tests.soak.plots import Band, Panel, Points, svg
from tests.soak.traffic import Answer
from tests.soak.verdict import STARVED, Soak, broken, p95, quiet_answers, within
from tests.soak.watch import GAUGES

_MB = 1024**2
_SHOWN = ("embeddings", "rerank", "speech", "transcriptions", "chat", "live sessions", "streamed speech")


def write(folder: Path, soak: Soak, faults: Sequence[str], command: str) -> None:
    """``report.md`` and ``plots.svg``."""
    (folder / "plots.svg").write_text(_plots(soak), encoding="utf-8")
    its = machine()
    parts = [
        f"# Soak of {soak.seconds / 60:.0f} minutes",
        f"`{command}` at {its['commit']}, on {its['cpu']}, {its['cores']} processors, {its['memory_gib']} GiB.",
        "## Verdict",
        "\n".join(f"- {fault}" for fault in faults) or "Every promise was kept.",
        "![Latency, answers, memory, open files, calls in hand and the machine's own speed over time](plots.svg)",
        "## Answers",
        _answers(soak),
        "## Faults",
        _faults(soak),
        "## Processes",
        _processes(soak),
    ]
    (folder / "report.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _answers(soak: Soak) -> str:
    lines = [head(("kind", "calls", "answers by status", "left, lost", "quiet p50, p95 s", "promises broken"))]
    for kind in KINDS:
        own = [answer for answer in soak.answers if answer.kind == kind]
        statuses = Counter(answer.status for answer in own if answer.fate == "whole")
        fates = Counter(answer.fate for answer in own)
        times = [answer.seconds for answer in quiet_answers(soak, kind) if answer.tier != "bulk"]
        spent = f"{median(times):.2f}, {p95(times):.2f}" if times else "-"
        told = ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))
        wrong = sum(bool(broken(answer, soak.disturbed)) for answer in own)
        lines.append(line((kind, len(own), told, f"{fates['left']}, {fates['lost']}", spent, wrong)))
    return "\n".join(lines)


def _faults(soak: Soak) -> str:
    names = ("fault", "times", "all ready after, s", "answers meanwhile", "of them 502", "lost")
    lines = [head(names)]
    for name in FAULTS:
        own = [window for window in soak.windows if window.name == name]
        meanwhile = [answer for answer in soak.answers if within(own, answer.begun, answer.ended)]
        recovery = ", ".join(f"{window.recovery:.1f}" for window in own)
        refused = sum(answer.status == 502 for answer in meanwhile)
        lost = sum(answer.fate == "lost" for answer in meanwhile)
        lines.append(line((name, len(own), recovery or "-", len(meanwhile), refused, lost)))
    ended = sum(BY_ITSELF in (window.name, window.detail[-len(BY_ITSELF) :]) for window in soak.windows)
    part = sum(window.over - window.begun for window in soak.disturbed if window.name == STARVED) / soak.seconds
    lines.append(f"\nTriton ended by itself {ended} times. For {100 * part:.0f} % of the time {STARVED}.")
    return "\n".join(lines)


def _processes(soak: Soak) -> str:
    """The first and the last look at each kind of process, and the largest."""
    lines = [head(("process", "memory at 3 min, MB", "at the end", "most", "files at 3 min", "at the end"))]
    memory, files = _by_part(soak, "memory"), _by_part(soak, "files")
    for part, points in memory.items():
        early = next((value for at, value in points if at > 180), points[0][1])
        opened = files[part]
        first = next((value for at, value in opened if at > 180), opened[0][1])
        most = max(value for _, value in points)
        lines.append(line((part, *(f"{v:.0f}" for v in (early, points[-1][1], most, first, opened[-1][1])))))
    return "\n".join(lines)


def _by_part(soak: Soak, what: str) -> dict[str, list[tuple[float, float]]]:
    """Megabytes or open files of each part over time: its processes together."""
    found: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for look in soak.looks:
        sums: defaultdict[str, float] = defaultdict(float)
        for name, process in look.processes.items():
            part = name.rsplit(" ", 1)[0].replace(": process", ", others") if ":" in name else name
            sums[part] += process.memory / _MB if what == "memory" else process.files
        for part, value in sums.items():
            found[part].append((look.at, value))
    return dict(sorted(found.items()))


def _plots(soak: Soak) -> str:
    names = list(FAULTS)
    bands = [Band(window.begun, window.over, names.index(window.name), window.name) for window in soak.windows]
    latency = {
        kind: [
            (answer.ended, max(answer.seconds, 0.001))
            for answer in soak.answers
            if answer.kind == kind and answer.status == 200
        ]
        for kind in _SHOWN
    }
    gauges = {
        name.removeprefix("quartet_"): [
            (look.at, sum(each[name] for each in look.gauges.values())) for look in soak.looks
        ]
        for name in GAUGES
        if name != "quartet_held_bytes"
    }
    slowness = {"a fixed piece of work": [(look.at, 1000 * look.slowness) for look in soak.looks]}
    panels = [
        Panel(
            "seconds until an answer is whole (shaded: a fault and the way back)", latency, dots=True, logarithmic=True
        ),
        Panel("answers a minute, by status", _rates(soak.answers, soak.seconds)),
        Panel("memory without what is shared, MB", _thinned(_by_part(soak, "memory"))),
        Panel("open files", _thinned(_by_part(soak, "files"))),
        Panel("in hand, both frontends together", gauges),
        Panel("milliseconds that the machine takes for the same work", slowness),
    ]
    return svg(panels, bands, soak.seconds)


def _thinned(lines: dict[str, list[tuple[float, float]]]) -> dict[str, Points]:
    """The ten largest, with at most 300 points each."""
    largest = sorted(lines, key=lambda name: -max(value for _, value in lines[name]))[:10]
    return {name: lines[name][:: -(-len(lines[name]) // 300)] for name in largest}


def _rates(answers: Sequence[Answer], seconds: float) -> dict[str, Points]:
    step = max(10.0, seconds / 120)
    kinds: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for answer in answers:
        name = str(answer.status) if answer.fate == "whole" else answer.fate
        kinds[name][int(answer.ended // step)] += 1
    slots = range(int(seconds // step) + 1)
    return {
        name: [((slot + 0.5) * step, counts[slot] * 60 / step) for slot in slots]
        for name, counts in sorted(kinds.items())
    }
