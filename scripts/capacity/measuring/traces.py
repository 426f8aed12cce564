"""What the calls of ``make bench`` come to in the product: token ids, phoneme ids and windows, by its own code."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from frontend.audio.detector import load_detector
from frontend.audio.prepare import prepare, room_for
from frontend.catalogue.models import EMBEDDINGS, RERANK, SPEECH
from frontend.catalogue.voices import VOICES
from frontend.config.settings import Settings
from frontend.operations.speech.voices import PiperVoice
from frontend.operations.transcription.pipeline import Abilities, window_inputs
from frontend.operations.transcription.protocol import TranscriptionRequest
from frontend.processes.shared_memory import SharedBytes
from frontend.text.phonemes import phonemize_first, phonemize_rest
from frontend.text.tokens import TextTokenizer, pack, packed_inputs, work
from scripts.benchmark.common.inputs import Call
from scripts.capacity.requests import MODEL_OF, Request

_LONGEST_SECONDS = 60.0
# Tokens in a call that a text model is measured with.
_PIECE = 1024
Tensors = Mapping[str, NDArray[Any]]
# To one model: what each gives it, and its work in the model's own unit.
ModelCalls = Sequence[tuple[Tensors, float]]


@dataclass(frozen=True)
class Traced:
    """A request, and the calls to its model."""

    request: Request
    calls: ModelCalls


class Tracer:
    """Reads what the models of a repository need."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        self._tokenizers = {name: TextTokenizer(repository / MODEL_OF[name] / "1") for name in (EMBEDDINGS, RERANK)}
        self._voice = PiperVoice.load(VOICES["amy"], repository)
        self.length = Abilities.of(repository, MODEL_OF["transcriptions"])
        load_detector()

    def trace(self, operation: str, call: Call) -> Traced:
        """Of a call of ``make bench``."""
        body = call.body or {}
        if operation in (EMBEDDINGS, RERANK):
            return self._texts(operation, body)
        if operation == SPEECH:
            return self._speech(body["input"])
        assert call.file is not None
        return self._recording(operation, call.file)

    def _texts(self, operation: str, body: Mapping[str, Any]) -> Traced:
        tokenizer = self._tokenizers[operation]
        if operation == EMBEDDINGS:
            ids = tokenizer.texts(body["input"])
        else:
            ids = tokenizer.pairs(body["query"], body["documents"])
        lengths = tuple(float(len(text)) for text in ids)
        calls = [(packed_inputs(piece), work(piece)) for piece in pack(ids, _PIECE)]
        return Traced(Request(operation, sum(lengths), lengths), calls)

    def _speech(self, text: str) -> Traced:
        halves = [phonemize(text, self._voice.alphabet) for phonemize in (phonemize_first, phonemize_rest)]
        first, rest = (tuple(float(len(part.ids)) for part in half) for half in halves)
        calls = [(self._voice.inputs(part.ids), float(len(part.ids))) for half in halves for part in half]
        return Traced(Request(SPEECH, len(text), first, rest), calls)

    def _recording(self, operation: str, file: bytes) -> Traced:
        with ExitStack() as stack:
            upload, samples = SharedBytes(), SharedBytes(room_for(_LONGEST_SECONDS))
            for memory in (upload, samples):
                stack.callback(memory.close)
            upload.write(file)
            prepared = prepare(upload.attached, samples.attached, self.length.rules(Settings()))
            request = TranscriptionRequest(upload, model="")
            inputs = [window_inputs(request, samples, window) for window in prepared.windows]
        works = (self.length.window_seconds,) * len(prepared.windows)
        calls = list(zip(inputs, works, strict=True))
        return Traced(Request(operation, prepared.duration, works), calls)
