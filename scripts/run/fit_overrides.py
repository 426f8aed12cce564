"""The variables that override what is fitted to a machine.

It needs only the standard library, because preflight reads them before anything is installed.
"""

from collections.abc import Mapping

from scripts.local_triton.checks import PreflightError

# The fields of a ``Fit`` that ``FIT`` can set.
NAMES = (
    "audio_workers",
    "frontend_threads",
    "gpu_whispers",
    "kokoros",
    "text_workers",
    "threads",
    "voices",
    "whispers",
)
_DIGITS = 4


def overrides(environ: Mapping[str, str]) -> dict[str, int]:
    """The numbers in ``FIT``, as in ``threads=4,voices=2``. Raises ``PreflightError`` if it is invalid."""
    found: dict[str, int] = {}
    for part in environ.get("FIT", "").replace(",", " ").split():
        name, _, value = part.partition("=")
        # Larger numbers are no machine's, and Triton's files have no room for some.
        if name not in NAMES or not value.isdecimal() or len(value) > _DIGITS or not int(value):
            raise PreflightError(f"FIT={part}: must be like threads=4, one of {', '.join(NAMES)}")
        found[name] = int(value)
    return found


def given_processors(environ: Mapping[str, str]) -> int:
    """``PROCESSORS``, 0 if it is not set. Raises ``PreflightError`` if it is no number."""
    text = environ.get("PROCESSORS", "")
    if not (text or "0").isdecimal():
        raise PreflightError(f"PROCESSORS={text}: must be a whole number")
    return int(text or 0)
