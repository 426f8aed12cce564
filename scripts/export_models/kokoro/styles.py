"""The styles of Kokoro: a file for each, of 510 rows of 256 float32, one for each number of symbols.

Those of the demo are in the folder ``styles``, with their licence. Only the standard library is needed.
"""

from pathlib import Path

from frontend.catalogue.kokoro import DEMO, HUB, Speaker
from scripts.export_models.checkpoints import SourceError

ROWS, WIDTH = 510, 256
_BYTES = ROWS * WIDTH * 4
OWN = Path(__file__).with_name("styles")


def hub_file(speaker: Speaker) -> str:
    """The path of the style on the hub."""
    return f"voices/{speaker.style}.bin"


def local_file(speaker: Speaker) -> Path | None:
    """The file of a style that is no download."""
    if speaker.source == HUB:
        return None
    return (OWN if speaker.source == DEMO else Path(speaker.source)) / f"{speaker.style}.bin"


def check_style(speaker: Speaker) -> None:
    """Raise ``SourceError`` for a style that is not where it should be."""
    if (path := local_file(speaker)) is not None:
        check_file(path, speaker)


def check_file(path: Path, speaker: Speaker) -> None:
    """Raise ``SourceError`` for a file that is no style."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        known = ", ".join(sorted(each.stem for each in path.parent.glob("*.bin"))) or "none"
        raise SourceError(
            f"{speaker.voice.name}: there is no {path.name} in {path.parent}, which has {known}"
        ) from None
    except OSError as error:
        raise SourceError(f"{speaker.voice.name}: {path} cannot be read: {error.strerror}") from None
    if size != _BYTES:
        raise SourceError(f"{speaker.voice.name}: {path} has {size} bytes, and a style has {_BYTES}")
