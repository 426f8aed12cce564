"""Files of people's speech, with their words and the start of each prompt."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from client.verify.sound import joined, write_wav
from lab.peers.prompts import Prompt, prompts

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.4, 1.6
_FILE_SECONDS = 600.0
_CLIPS = 60
_CLIP_SECONDS = (3.0, 15.0)


@dataclass(frozen=True)
class Recording:
    """A WAV file of ``seconds``, the texts of its prompts, and the start of each in seconds."""

    file: bytes = field(repr=False)
    language: str
    seconds: float
    texts: tuple[str, ...]
    starts: tuple[float, ...]

    def write(self, folder: Path, name: str) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.wav"
        path.write_bytes(self.file)
        return path.absolute()


def spoken(chosen: Sequence[Prompt], language: str, seed: int) -> Recording:
    """Join the prompts, each after a pause of 0.4 to 1.6 s."""
    rng = random.Random(seed)
    pauses = [rng.uniform(_SHORTEST_PAUSE, _LONGEST_PAUSE) for _ in chosen]
    sound, spans = joined([prompt.sound for prompt in chosen], pauses)
    texts, starts = tuple(prompt.text for prompt in chosen), tuple(start for start, _ in spans)
    return Recording(write_wav(sound), language, sound.seconds, texts, starts)


def long_recording(language: str, seconds: float = _FILE_SECONDS) -> Recording:
    """The first prompts, which together with pauses last ``seconds``."""
    every = prompts(language)
    return spoken(every[: _fitting(every, seconds)], language, 0)


def other_recording(language: str) -> Recording:
    """The prompts that ``long_recording`` leaves out."""
    every = prompts(language)
    return spoken(every[_fitting(every, _FILE_SECONDS) :], language, 1)


def _fitting(every: Sequence[Prompt], seconds: float) -> int:
    """How many prompts fit into ``seconds``."""
    mean = (_SHORTEST_PAUSE + _LONGEST_PAUSE) / 2
    lengths = itertools.accumulate(prompt.sound.seconds + mean for prompt in every)
    return sum(1 for _ in itertools.takewhile(lambda length: length <= seconds, lengths))


def clips(language: str, count: int = _CLIPS) -> list[Recording]:
    """Prompts of 3 to 15 s, each in its own file after a pause."""
    shortest, longest = _CLIP_SECONDS
    fitting = (prompt for prompt in prompts(language) if shortest <= prompt.sound.seconds <= longest)
    return [spoken([prompt], language, seed) for seed, prompt in enumerate(itertools.islice(fitting, count))]
