"""What each model's stamp is made of: the settings that matter to it, the bytes of its weights, and its code."""

from pathlib import Path

from scripts.export_models import plan, stamp
from scripts.export_models.checkpoints import Checkpoint, files_read, voice_files
from scripts.export_models.demo.published import PUBLISHED, REAL_VOICE
from scripts.export_models.graphs.fast_int8 import bf16_is_fast, int8_is_fast
from scripts.export_models.sources import Source
from scripts.export_models.stamp import Digests
from scripts.machine import versions

_HERE = Path(__file__).parent
_MODULES = {"text": "text.export", "whisper": "whisper.export", "voices": "voices.export"}
_VOICES_OF_THE_DEMO = "scripts.export_models.demo.voices"
_GRAMMARS = sorted((_HERE / "demo" / "grammar").glob("*.toml"))
_RECORDINGS = sorted(path for path in (_HERE.parents[1] / "client/recordings").rglob("*.*"))
# What the code reads beside the weights.
_DATA = {"text": [_HERE / "text" / "calibration.txt"], "whisper": _RECORDINGS, "voices": []}
_TOOLS = {
    "text": ("onnx", "onnxruntime", "openvino", "torch", "transformers"),
    "whisper": ("av", "ctranslate2", "openvino", "torch", "transformers"),
    "voices": ("onnx", "onnxruntime"),
}
_TOOLS_OF_DEMO_VOICES = ("espeakng-loader", "piper-tts")


def weights_of(model: str, folder: Path) -> list[Path]:
    """The files in ``folder`` that a model is made of."""
    voice = plan.voice_of(model)
    return voice_files(folder, voice) if voice else files_read(folder)


class Fingerprints:
    """Of the models of one source, under given settings."""

    def __init__(self, source: Source, name: str, digests: Digests, *, precision: str) -> None:
        self._source, self._name, self._digests = source, name, digests
        self._precision = precision

    def of(self, model: str) -> str:
        checkpoint = plan.CHECKPOINTS[model]
        kind, voice = checkpoint.kind, plan.voice_of(model)
        built = self._name == "demo" and voice not in ("", REAL_VOICE)
        modules = [f"scripts.export_models.{_MODULES[kind]}", *([_VOICES_OF_THE_DEMO] if built else [])]
        code = {name: meaning for module in modules for name, meaning in stamp.code_of(module).items()}
        data = [*_DATA[kind], *(_GRAMMARS if built else [])]
        read = {f"data/{path.name}": self._digests.of(path) for path in data}
        tools = [*_TOOLS[kind], *(_TOOLS_OF_DEMO_VOICES if built else [])]
        weights = {} if built else self._weights(model, checkpoint)
        return stamp.fingerprint(self._settings(kind) | versions(tools, ""), weights | read, code)

    def _weights(self, model: str, checkpoint: Checkpoint) -> dict[str, str]:
        """By name and digest; what is pinned is checked when it is downloaded."""
        if self._name == "hub":
            return {checkpoint.repository: checkpoint.revision}
        if self._name == "demo":
            return PUBLISHED[checkpoint.kind].sha256
        folder = self._source.fetch(checkpoint)
        return {str(path.relative_to(folder)): self._digests.of(path) for path in weights_of(model, folder)}

    def _settings(self, kind: str) -> dict[str, str]:
        """Where the processor decides, the kind of processor is a setting too."""
        if kind == "voices":
            return {}
        decided = kind == "text" and self._precision == "auto"
        fast = {"int8 is fast": str(int8_is_fast()), "bf16 is fast": str(bf16_is_fast())} if decided else {}
        return {"choice": self._precision} | fast
