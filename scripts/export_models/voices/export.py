"""Exports Piper voices, each with a Triton configuration generated from the shapes of the written graph."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

from frontend.catalogue.voices import ADDED, Voice
from frontend.text.alphabets import PiperAlphabet
from scripts.export_models.checkpoints import SourceError, read_json
from scripts.export_models.parity import Check
from scripts.export_models.progress import SILENT, Progress
from scripts.export_models.voices import checks, passes, sample
from scripts.export_models.ways import Way
from scripts.machine import processors
from scripts.run.model_configs import with_tensors

_KINDS = {"tensor(int64)": "TYPE_INT64", "tensor(float)": "TYPE_FP32"}
_COMMENTS = {
    "input": "phoneme ids",
    "input_lengths": "number of phoneme ids",
    "scales": "noise, length and duration-noise scale",
    "sid": "speaker",
    "output": "samples on the last axis, -1 to 1",
}
_TEMPLATE = """\
# A Piper voice. The file takes scales without a batch dimension, so Triton cannot batch it, and on a CPU a padded batch
# is slower than one by one: sentences run side by side, one thread an instance.
name: "{name}"
backend: "onnxruntime"
max_batch_size: 0
input [
{inputs}
]
output [
{outputs}
]
# Without a count, as many as fit this machine. A count of your own wins.
instance_group [ {{ kind: KIND_CPU }} ]
parameters {{ key: "intra_op_thread_count" value {{ string_value: "1" }} }}
parameters {{ key: "inter_op_thread_count" value {{ string_value: "1" }} }}
# Each sentence has another length, so there is no pattern of memory to keep.
parameters {{ key: "enable_mem_pattern" value {{ string_value: "0" }} }}
version_policy {{ latest {{ num_versions: 1 }} }}
"""


def _line(tensor: Any, last: bool) -> str:
    dims = ", ".join(str(size) if isinstance(size, int) else "-1" for size in tensor.shape)
    comma = " " if last else ","
    comment = _COMMENTS.get(tensor.name, tensor.name)
    return f'  {{ name: "{tensor.name}" data_type: {_KINDS[tensor.type]} dims: [ {dims} ] }}{comma}  # {comment}'


def config_text(name: str, session: Any) -> str:
    """``config.pbtxt`` of a voice; its dimensions must equal the file's, which differ between Piper's exporters."""
    names = [tensor.name for tensor in session.get_inputs()]
    if names[:3] != ["input", "input_lengths", "scales"] or [o.name for o in session.get_outputs()] != ["output"]:
        raise SourceError(f"{name}: a Piper voice takes input, input_lengths and scales, this file takes {names}")
    sides = {}
    for side, tensors in (("inputs", session.get_inputs()), ("outputs", session.get_outputs())):
        sides[side] = "\n".join(_line(tensor, tensor is tensors[-1]) for tensor in tensors)
    return _TEMPLATE.format(name=name, **sides)


def ways(name: str, source: Path, target: Path, progress: Progress = SILENT, added: Voice | None = None) -> list[Way]:
    """The ways to write the voice ``source`` (``.onnx``, with ``.onnx.json`` next to it) into ``<target>/1``.

    Rewritten for the kernels and caches of processors, it sounds the same and is 1.3 to 1.5 times as fast. The
    description of an ``added`` voice, which the catalogue does not have, gets its language and gender.
    """
    voice = read_json(source.with_name(f"{source.name}.json"))
    if added is not None:
        voice[ADDED] = {"language": added.language, "gender": added.gender}

    def rewritten() -> list[Check]:
        original, model = onnx.load(source), onnx.load(source)
        passes.rewrite(model, progress)
        session = _write(name, model, voice, target)
        symbols = [symbol for ids in voice["phoneme_id_map"].values() for symbol in ids]
        spoken = checks.utterances(symbols, speakers=len(session.get_inputs()) > 3)
        return _compared(name, original, model, spoken)

    def original() -> list[Check]:
        _write(name, onnx.load(source), voice, target)
        return []

    return [Way("rewritten", rewritten), Way("original", original)]


def _write(name: str, model: onnx.ModelProto, voice: Mapping[str, Any], target: Path) -> Any:
    """Write a voice's graph, its configuration, its description and its sample; returns a session."""
    folder = target / "1"
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    # ONNX Runtime may infer other sizes of axes from the rewritten graph than from the original.
    session = ort.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    config = target / "config.pbtxt"
    config.write_text(with_tensors(config, config_text(name, session)), encoding="utf-8")
    (folder / "voice.json").write_text(json.dumps(voice, ensure_ascii=False), encoding="utf-8")
    espeak_voice, rate = voice["espeak"]["voice"], int(voice["audio"]["sample_rate"])
    alphabet = PiperAlphabet("", espeak_voice, voice["phoneme_id_map"])
    sample.write(folder / "sample.wav", alphabet, rate, lambda ids: _spoken(session, voice, ids))
    return session


def _spoken(session: Any, voice: Mapping[str, Any], ids: list[int]) -> Any:
    """The samples of a sentence. The inputs are those of the frontend, so that a file that does not fit them fails."""
    inference = voice.get("inference", {})
    scales = [inference.get("noise_scale", 0.667), inference.get("length_scale", 1.0), inference.get("noise_w", 0.8)]
    inputs = {
        "input": np.array([ids], np.int64),
        "input_lengths": np.array([len(ids)], np.int64),
        "scales": np.array(scales, np.float32),
    }
    if int(voice.get("num_speakers", 1)) > 1:
        inputs["sid"] = np.zeros(1, np.int64)
    return session.run(None, inputs)[0].reshape(-1)


def _compared(
    name: str, original: onnx.ModelProto, model: onnx.ModelProto, spoken: Sequence[checks.Arrays]
) -> list[Check]:
    """Compare both graphs with the same noise."""
    files = [checks.with_seeds(each) for each in (original, model)]
    before, after = (lambda file=file: checks.session(file, processors()) for file in files)
    return checks.compare(name, spoken, before, after)
