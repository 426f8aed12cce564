"""The table's rows: fact, expected value, actual value and tolerance."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from client.verify.facts import Recording
from client.verify.questions import RefusedError

_LONGEST = (44, 30, 30, 12)  # characters per column
HEAD = ("fact", "expected", "got", "tolerance", "")
_VERDICTS = {True: "ok", False: "FAILED", None: "not served"}


@dataclass(frozen=True)
class Row:
    """``ok`` is None if the server lacks the model or voice. ``part`` names the facts to leave out of a recording if
    this one does not hold.
    """

    fact: str
    expected: str
    got: str
    tolerance: str
    ok: bool | None
    part: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        cells = zip((self.fact, self.expected, self.got, self.tolerance), _LONGEST, strict=True)
        return (*(_short(text, longest) for text, longest in cells), _VERDICTS[self.ok])


def _short(text: str, longest: int) -> str:
    """One line, shortened in the middle if it is long."""
    line, half = " ".join(text.split()), longest // 2
    return line if len(line) <= longest else f"{line[: half - 2]} … {line[1 - half :]}"


def within(fact: str, expected: float, got: float, tolerance: float, part: str = "") -> Row:
    """Compare a number; NaN fails."""
    shown = f"{expected:.4g}", f"{got:.4g}", f"{tolerance:.2g}"
    return Row(fact, *shown, bool(abs(got - expected) <= tolerance), part)


def at_most(fact: str, got: float, limit: float, part: str = "") -> Row:
    """Check that a difference is at most ``limit``."""
    return Row(fact, "0", f"{got:.2g}", f"{limit:.2g}", bool(got <= limit), part)


def same(fact: str, expected: object, got: object, part: str = "") -> Row:
    return Row(fact, str(expected), str(got), "none", expected == got, part)


async def asked(subject: str, rows: Awaitable[list[Row]]) -> list[Row]:
    """The rows, or one row with the server's refusal."""
    try:
        return await rows
    except RefusedError as error:
        return [Row(subject, "an answer", str(error), "none", None if error.missing else False)]


def nearest(
    recordings: Sequence[Recording], limit: str, distances: Sequence[float], precision: str = ""
) -> tuple[Recording, int, bool]:
    """The recording to compare with, its index, and whether it is of the server's precision.

    Without a given precision, it is the recording that is nearest relative to its limit.
    """
    matching = [index for index, recording in enumerate(recordings) if recording.precision == precision]
    indices = matching or range(len(recordings))
    index = min(indices, key=lambda index: distances[index] / recordings[index].limits[limit])
    return recordings[index], index, bool(matching) or not precision
