"""What the product promises, and whether a soak saw it kept. Each check returns sentences about what is broken."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from statistics import median

import numpy as np

from tests.soak.faults import FAULTS, Window
from tests.soak.kinds import IN_PIECES, KINDS
from tests.soak.traffic import Answer
from tests.soak.watch import Look, by_process

# After all parts are ready, the calls of the fault end.
_GRACE_SECONDS = 10.0
# A process grows by its caches at first. Shorter lives tell nothing.
_WARM_SECONDS, _LEAST_LIFE_SECONDS = 180.0, 600.0
_MB = 1024**2
# By fitted lines over a life: more is a leak.
_LEAK_BYTES, _LEAK_PART, _LEAK_FILES = 32 * _MB, 0.08, 8
# What models come to that keep something for each length of a call: below it, growth is no leak.
_FILLED = {"Triton: whisper": 480 * _MB, "Triton: kokoro": 1400 * _MB}
# How much slower the last third of the quiet time may be than the first, beside what the machine itself is slower.
_SLOWER, _LEAST_CALLS = 3.0, 10
# The machine gives a thread less than this part of a processor: probes of half a second fail.
STARVED, _STARVED = "others have the processors", 16
# Share of the event loop's ticks that may be later than this in quiet time, on a machine that others use.
_LATE_SECONDS, _LATE_SHARE = 0.5, 0.005


@dataclass(frozen=True)
class Soak:
    """All that was seen. ``left`` has what the frontends had in hand 5 s after the last answer; ``codes`` their exit
    codes; ``died`` what ended outside of faults.
    """

    seconds: float
    answers: Sequence[Answer]
    windows: Sequence[Window]
    looks: Sequence[Look]
    left: dict[str, float]
    codes: Sequence[int]
    died: Sequence[str]
    books: Sequence[str]

    @cached_property
    def disturbed(self) -> list[Window]:
        """Faults, and times in which the machine gave too little for any promise of time."""
        return [*self.windows, *starved(self.looks)]


def starved(looks: Sequence[Look]) -> list[Window]:
    """When others had the processors: a fixed piece of work took many times as long as at its fastest."""
    fastest, found = min((look.slowness for look in looks), default=0.0), list[Window]()
    for before, look, after in zip(looks, looks[1:], looks[2:], strict=False):
        if look.slowness > _STARVED * fastest:
            if found and found[-1].over >= before.at:
                found[-1] = replace(found[-1], ended=after.at, over=after.at)
            else:
                found.append(Window(STARVED, "", before.at, after.at, after.at))
    return found


def within(windows: Sequence[Window], begun: float, ended: float) -> list[Window]:
    """The faults that a time overlaps."""
    return [each for each in windows if each.begun <= ended and begun <= each.over + _GRACE_SECONDS]


def broken(answer: Answer, windows: Sequence[Window]) -> str:
    """The promise that an answer breaks, or empty."""
    faults = within(windows, answer.begun, answer.ended)
    if answer.fate == "late":
        return "no answer at all"
    if answer.fate == "lost":
        may = any(each.name in FAULTS and FAULTS[each.name].loses for each in faults) or (
            faults and answer.kind in IN_PIECES
        )
        return "" if may else "the connection was lost"
    if answer.fate == "left":
        return ""
    if answer.status in (429, 502) and not answer.retry_after:
        return f"{answer.status} without Retry-After"
    if answer.status in KINDS[answer.kind][2]:
        return ""
    if answer.status == 502 and faults:
        return ""
    return f"{answer.status}" + (" outside of a fault" if answer.status == 502 else "")


def verdict(soak: Soak) -> list[str]:
    """All that is broken."""
    return [
        *_of_answers(soak),
        *_of_recovery(soak),
        *_of_resources(soak),
        *_of_time(soak),
        *_of_loop(soak),
        *(f"{value:g} of {name} 5 s after the last answer" for name, value in soak.left.items() if value),
        *(f"a frontend ended with exit code {code}" for code in soak.codes if code),
        *soak.died,
        *(f"ledger: {fault}" for fault in soak.books),
    ]


def _of_answers(soak: Soak) -> Iterator[str]:
    found = Counter((answer.kind, why) for answer in soak.answers if (why := broken(answer, soak.disturbed)))
    for (kind, why), count in found.items():
        times = [
            f"{answer.begun:.0f}"
            for answer in soak.answers
            if (answer.kind, broken(answer, soak.disturbed)) == (kind, why)
        ]
        yield f"{kind}: {count} times {why}, at {', '.join(times[:8])} s"


def _of_recovery(soak: Soak) -> Iterator[str]:
    """A busy machine may take longer, by as much as the same work takes it longer than at its fastest."""
    fastest = min((look.slowness for look in soak.looks), default=1.0)
    for window in soak.windows:
        slowness = [look.slowness for look in soak.looks if window.ended - 10 <= look.at <= window.over + 10]
        factor = max(1.0, max(slowness, default=fastest) / fastest)
        if window.recovery > 2 * FAULTS[window.name].promised * factor:
            yield f"{window.name} at {window.begun:.0f} s: all ready only after {window.recovery:.0f} s"


def growth(life: Sequence[tuple[float, float]]) -> float:
    """By how much a line through the median of all slopes grows over a life."""
    points = life[:: max(1, len(life) // 150)]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if b[0] > a[0]]
    return median(slopes) * (life[-1][0] - life[0][0]) if slopes else 0.0


def quiet(soak: Soak) -> list[Look]:
    return [look for look in soak.looks if not within(soak.disturbed, look.at, look.at)]


def _of_resources(soak: Soak) -> Iterator[str]:
    for name, life in by_process(quiet(soak)).items():
        warm = [(at, process) for at, process in life if at > life[0][0] + _WARM_SECONDS]
        if not warm or warm[-1][0] - warm[0][0] < _LEAST_LIFE_SECONDS:
            continue
        minutes = (warm[-1][0] - warm[0][0]) / 60
        memory = growth([(at, process.memory) for at, process in warm])
        filled = next((most for model, most in _FILLED.items() if name.startswith(model)), 0)
        is_full = max(process.memory for _, process in warm) > filled
        if is_full and memory > max(_LEAK_BYTES, _LEAK_PART * warm[0][1].memory):
            yield f"{name} grew by {memory / _MB:.0f} MB in {minutes:.0f} minutes"
        files = growth([(at, process.files) for at, process in warm])
        if files > _LEAK_FILES:
            yield f"{name} opened {files:.0f} files more in {minutes:.0f} minutes"


def quiet_answers(soak: Soak, kind: str) -> list[Answer]:
    """Those of a kind that no fault touched."""
    own = (answer for answer in soak.answers if answer.kind == kind and (answer.fate, answer.status) == ("whole", 200))
    return [answer for answer in own if not within(soak.disturbed, answer.begun, answer.ended)]


def _of_time(soak: Soak) -> Iterator[str]:
    """Against the soak's own beginning, because the machine may be anyone's. Bulk waits for idle Tritons."""
    first, last = soak.seconds / 3, 2 * soak.seconds / 3
    slowness = [
        [look.slowness for look in soak.looks if low <= look.at <= high]
        for low, high in ((0, first), (last, soak.seconds))
    ]
    machine = max(1.0, median(slowness[1]) / median(slowness[0])) if all(slowness) else 1.0
    for kind in KINDS:
        own = [answer for answer in quiet_answers(soak, kind) if answer.tier != "bulk"]
        early = [answer.seconds for answer in own if answer.ended <= first]
        late = [answer.seconds for answer in own if answer.begun >= last]
        if min(len(early), len(late)) >= _LEAST_CALLS and median(late) > _SLOWER * machine * median(early) + 0.2:
            yield f"{kind} took {median(early):.2f} s in the first third and {median(late):.2f} in the last"


def _of_loop(soak: Soak) -> Iterator[str]:
    """Ticks between two looks that no fault touched, of a frontend that was not started again between them."""
    ticks = late = 0.0
    for before, after in zip(soak.looks, soak.looks[1:], strict=False):
        if within(soak.disturbed, before.at - 5, after.at):
            continue
        for number in before.late.keys() & after.late.keys():
            grown = {
                bound: after.late[number][bound] - before.late[number].get(bound, 0) for bound in after.late[number]
            }
            known = [bound for bound in grown if bound >= _LATE_SECONDS]
            if known and grown[max(grown)] > 0:
                ticks += grown[max(grown)]
                late += grown[max(grown)] - grown[min(known)]
    if ticks and late / ticks > _LATE_SHARE:
        yield f"{100 * late / ticks:.1f} % of the event loop's ticks in quiet time were later than {_LATE_SECONDS:g} s"


def p95(seconds: Sequence[float]) -> float:
    return float(np.percentile(seconds, 95)) if seconds else float("nan")
