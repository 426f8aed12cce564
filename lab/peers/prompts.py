"""Recordings of people with what they say: the prompts of the telephone exchange Asterisk, as Debian packages them.

``apt-get download`` fetches a package once; packages are checked by hashes and not installed.
client/recordings/ATTRIBUTION.md names the authors.
"""

import gzip
import hashlib
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from client.recordings import SAMPLE_RATE, read_g722, words
from client.verify.sound import Sound

_VERSION = "1.6.1-1"
_FOLDER = Path("build/prompts")
# SHA-256 of the packages of texts and of sounds.
_SHA256 = {
    "asterisk-core-sounds-en": "973e797d28e37fa6ca3c0a9d6fa717e77cf1268ae916bf09fd3503113cdffa50",
    "asterisk-core-sounds-en-g722": "38c5261820b406dcb0ecb37675720da2b0864850690690352ca52707eb623806",
    "asterisk-core-sounds-es": "9afdab7f559f036649fb406e625899306ca1004df8ebe39c30bfbd5912d66f74",
    "asterisk-core-sounds-es-g722": "e4e3b4281057d3b81b779298fd6be705f57411513955c518eed1bcaabbd615b8",
    "asterisk-core-sounds-fr": "04c82c78c570c43a7136cbc5e2488d0c470b775468dff9fbce4a131b18cf1056",
    "asterisk-core-sounds-fr-g722": "7add61d5e42279ecff1bbdf842a5a946ac3644fac9a0fe44384731aa7270c8e0",
    "asterisk-core-sounds-it": "3884d9457e12f21caa018c18f0d587df5d53ebea14b673d8453a134c5941ab3b",
    "asterisk-core-sounds-it-g722": "46b4cf7afc508a5fcfc051b7ea233251c0d195dd4ef83cc4b7facb4c6429b016",
}
_FEWEST_WORDS = 6
# Bounds in characters per second. Outside, the text does not belong to the recording.
_SLOWEST, _FASTEST = 9.0, 24.0
# Remarks in brackets, names of keys, letters lost in an encoding, and two prompts in one line.
_DAMAGED = re.compile(r"[\[\](){}<>#*/=&@\ufffd]|\w\?\w|\s\?\s|\?\s[a-zà-ÿ]|\w-\w+:")
_BYTES_A_SECOND = 8000
_SHUFFLE = 1


@dataclass(frozen=True)
class Prompt:
    """A recording at ``path``, in G.722, of someone who says ``text``."""

    text: str
    path: Path

    @cached_property
    def sound(self) -> Sound:
        """The recording without silence at its ends."""
        return Sound(read_g722(self.path), SAMPLE_RATE).trimmed()


def prompts(language: str, folder: Path = _FOLDER) -> list[Prompt]:
    """The prompts of at least six words whose text seems right, in a fixed random order."""
    (sounds,) = _unpacked(f"asterisk-core-sounds-{language}-g722", folder).glob("usr/share/asterisk/sounds/*_*")
    found: dict[str, Prompt] = {}
    for name, text in texts(language, folder).items():
        path = sounds / f"{name}.g722"
        if path.is_file() and plausible(text, path.stat().st_size / _BYTES_A_SECOND):
            found.setdefault(" ".join(words(text)), Prompt(text, path))
    shuffled = list(found.values())
    random.Random(_SHUFFLE).shuffle(shuffled)
    return shuffled


def texts(language: str, folder: Path = _FOLDER) -> dict[str, str]:
    """The texts of all prompts by name, in English, Spanish, French or Italian."""
    (file,) = _unpacked(f"asterisk-core-sounds-{language}", folder).glob("usr/share/doc/*/core-sounds-*.txt.gz")
    return dict(listed(gzip.decompress(file.read_bytes()).decode("utf-8-sig")))


def listed(content: str) -> Iterator[tuple[str, str]]:
    """Yield names and texts from lines such as ``vm-goodbye: Goodbye!``; lines with a semicolon first are comments."""
    for line in content.splitlines():
        name, colon, text = line.partition(": ")
        if colon and not line.startswith(";"):
            yield name.strip(), text.strip()


def plausible(text: str, seconds: float) -> bool:
    """Whether a text is long enough, not damaged, and fits its seconds."""
    if len(words(text)) < _FEWEST_WORDS or damaged(text):
        return False
    return _SLOWEST <= len(text) / seconds <= _FASTEST


def damaged(text: str) -> bool:
    """Whether a text has remarks, or lost letters."""
    return _DAMAGED.search(text) is not None


def _unpacked(package: str, folder: Path) -> Path:
    target = folder.absolute() / package
    if not target.exists():
        partial = target.with_name(f"{package}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        _unpack(package, partial)
        partial.rename(target)
    return target


def _unpack(package: str, into: Path) -> None:
    subprocess.run(["apt-get", "download", "-qq", f"{package}={_VERSION}"], cwd=into, check=True)
    (file,) = into.glob(f"{package}_*.deb")
    if hashlib.sha256(file.read_bytes()).hexdigest() != _SHA256[package]:
        raise ValueError(f"the Debian package {package} {_VERSION} has another hash than expected")
    subprocess.run(["dpkg-deb", "-x", file, "."], cwd=into, check=True)
    file.unlink()
