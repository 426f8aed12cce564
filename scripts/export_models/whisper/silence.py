"""Whether an exported Whisper hears short recordings with little silence as it does with all of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import jiwer

from client.recordings import SAMPLE_RATE, Recorded, recordings, words
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.whisper.served import recognizer_module

# The shortest recordings of each language. Seconds of each are heard alone too: loops come in short windows.
_OF_A_LANGUAGE, _BEGINNING = 2, 1.5
_WORD_ERROR_LIMIT = 0.03
# The largest share of windows that are recognised again with all of their silence. Whisper base has none.
_AGAIN_LIMIT = 0.25


@dataclass(frozen=True)
class LittleSilence:
    """What little silence changes in so many ``windows``; ``again`` is the share that had to be recognised twice."""

    windows: int
    more_words_wrong: float
    again: float

    @property
    def harms(self) -> bool:
        return self.more_words_wrong > _WORD_ERROR_LIMIT or self.again > _AGAIN_LIMIT

    @property
    def what(self) -> str:
        kept = "; windows are all encoded whole" if self.harms else ""
        again = f"{self.again:.0%} of {self.windows} again"
        return f"short windows, more words wrong with little silence ({again}{kept})"


def short_recordings() -> list[Recorded]:
    """The shortest recordings of people in each language."""
    found = sorted(recordings(), key=lambda each: (each.language, each.seconds))
    return [each for _, some in groupby(found, lambda each: each.language) for each in list(some)[:_OF_A_LANGUAGE]]


def little_silence(recognizer: Any, people: Sequence[Recorded], progress: Progress = SILENT) -> LittleSilence:
    """Hear people with little silence and with all of it; the ``recognizer`` is left as it was."""
    window, encoder = recognizer_module().Window, recognizer.encoder
    spoken = [window(each.samples(), language=each.language) for each in people]
    begun = [window(each.audio[: round(_BEGINNING * SAMPLE_RATE)], language=each.language) for each in spoken]

    def heard(windows: Sequence[Any]) -> list[list[str]]:
        transcripts = (recognizer.transcribe([each])[0] for each in progress.over(windows, "hearing short windows"))
        return [words("".join(word.text for word in transcript.words)) for transcript in transcripts]

    before, silence_seconds = recognizer.second_passes, encoder.silence_seconds
    brief = heard([*spoken, *begun])[: len(spoken)]
    again = (recognizer.second_passes - before) / max(1, len(spoken) + len(begun))
    encoder.silence_seconds = encoder.longest / SAMPLE_RATE
    whole = heard(spoken)
    encoder.silence_seconds = silence_seconds
    said = [words(each.text) for each in people]
    return LittleSilence(len(spoken) + len(begun), word_error(said, brief) - word_error(said, whole), again)


def word_error(wanted: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> float:
    """The words to insert, remove or replace, as a share of those wanted."""
    if not wanted:
        return 0.0
    counted = jiwer.process_words([" ".join(each) for each in wanted], [" ".join(each) for each in found])
    errors = counted.substitutions + counted.deletions + counted.insertions
    return errors / max(1, sum(map(len, wanted)))
