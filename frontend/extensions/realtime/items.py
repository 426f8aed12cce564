"""One stretch of speech: its audio, its words, and its bill."""

from dataclasses import dataclass, field

from frontend.audio.decode import SAMPLE_RATE
from frontend.audio.detector import FRAME
from frontend.audio.prepare import SAMPLE_BYTES
from frontend.billing.bill import Bill
from frontend.extensions.realtime.agreement import Agreement
from frontend.extensions.realtime.protocol import SessionConfig

# Samples after the last speech without which a pass misses its last word.
_AFTER_SPEECH = SAMPLE_RATE // 5
# Samples from which on a short pause ends an item.
_LONG, _SHORT_PAUSE = 20 * SAMPLE_RATE, SAMPLE_RATE // 5
# Frames at the end of a long item in which a cut is searched.
_SEARCHED_FRAMES = 4 * SAMPLE_RATE // FRAME


def milliseconds(samples: int) -> int:
    return round(1000 * samples / SAMPLE_RATE)


@dataclass(eq=False)
class Item:
    """An item of a session.

    ``start`` is the position of its first sample in the session. ``speech_end`` counts samples from there; 0 is none.
    ``loud_frames`` are those with speech. ``tried`` are the samples of the last pass that began, ``sent`` those of the
    last one with words that were sent.
    """

    id: str
    previous: str | None
    config: SessionConfig
    start: int
    audio: bytearray = field(default_factory=bytearray)
    probabilities: list[float] = field(default_factory=list)
    speech_end: int = 0
    loud_frames: int = 0
    tried: int = 0
    sent: int = 0
    # The language that the model detected; empty before its first pass.
    detected_language: str = ""
    agreement: Agreement = field(default_factory=Agreement)
    bill: Bill | None = None
    # Whether it ended without its last pass.
    left: bool = False

    @property
    def language(self) -> str:
        """The language that the client says, or that the model detected."""
        return self.config.language or self.detected_language

    @property
    def samples(self) -> int:
        return len(self.audio) // SAMPLE_BYTES

    @property
    def spoken_seconds(self) -> float:
        """How much of it the detector takes for speech."""
        return self.loud_frames * FRAME / SAMPLE_RATE

    @property
    def pauses_late(self) -> bool:
        """Whether it is long and in a short pause: a better end than its longest length."""
        return 0 < self.speech_end <= self.samples - _SHORT_PAUSE and self.samples >= _LONG

    def add(self, audio: bytes, probability: float, threshold: float) -> None:
        """Append a frame of samples, int16, or the part of one that arrived."""
        self.audio += audio
        self.probabilities.append(probability)
        if probability >= threshold:
            self.speech_end = self.samples
            self.loud_frames += 1

    def covers(self, samples: int) -> bool:
        """Whether a pass over the first ``samples`` covers all the speech."""
        return samples >= min(self.samples, self.speech_end + _AFTER_SPEECH)

    def cut(self) -> tuple[bytes, list[float]]:
        """Take the end off a long item, from its least speech-like frame after the sent words."""
        first = int(self.agreement.end * SAMPLE_RATE) // FRAME + 1
        frames = range(max(first, len(self.probabilities) - _SEARCHED_FRAMES), len(self.probabilities))
        cut = min(frames, key=lambda frame: self.probabilities[frame], default=len(self.probabilities))
        # Frames from the client's padding are whole, so that positions are multiples of a frame.
        samples = cut * FRAME
        audio, probabilities = bytes(self.audio[samples * SAMPLE_BYTES :]), self.probabilities[cut:]
        del self.audio[samples * SAMPLE_BYTES :]
        del self.probabilities[cut:]
        self.speech_end = min(self.speech_end, samples)
        return audio, probabilities
