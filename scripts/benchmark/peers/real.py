"""The demo's real models as each peer reads them: Whisper base, and the Piper voice joe."""

import shutil
from functools import partial
from pathlib import Path

from tokenizers import Tokenizer
from transformers import WhisperTokenizerFast

from scripts.benchmark.lookalikes import ggml
from scripts.benchmark.lookalikes.once import once
from scripts.benchmark.lookalikes.repository import convert_for_faster_whisper
from scripts.run.state import REPOSITORY

_DEMO = Path("build/export/demo")
# The voice of the catalogue that joe stands for.
VOICE = "ryan"
_END = "<|endoftext|>"


class RealModels:
    """Made in ``folder`` when first asked for, of what the demo's export has downloaded."""

    repository = REPOSITORY

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute() / "real"
        self._folder.mkdir(parents=True, exist_ok=True)

    def voice(self) -> Path:
        """The graph, with Piper's settings beside it."""
        source = _DEMO / f"voices/en/en_US/{VOICE}/medium"
        return once(self._folder / "voice", partial(shutil.copytree, source)) / f"en_US-{VOICE}-medium.onnx"

    def whisper(self) -> Path:
        """The checkpoint with every file of the tokenizer."""

        def complete(folder: Path) -> None:
            shutil.copytree(_DEMO / "whisper", folder)
            its = Tokenizer.from_file(str(folder / "tokenizer.json"))
            tokenizer = WhisperTokenizerFast(
                tokenizer_object=its, unk_token=_END, bos_token=_END, eos_token=_END, pad_token=_END
            )
            tokenizer.save_pretrained(folder)

        return once(self._folder / "whisper-base", complete)

    def whisper_for_faster_whisper(self) -> Path:
        """In CTranslate2's int8."""
        return once(self._folder / "whisper-base-int8", partial(convert_for_faster_whisper, self.whisper()))

    def whisper_for_cpp(self) -> Path:
        """In whisper.cpp's blocks of 8 bits: those of 4 cost accuracy."""
        return once(self._folder / "whisper-base.ggml", lambda file: ggml.write(self.whisper(), file, ggml.Q8_0))
