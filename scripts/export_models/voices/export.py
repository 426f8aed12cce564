"""Put Piper voices into the model repository, each with a configuration generated from the file's own shapes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

from scripts.export_models.checkpoints import SourceError
from scripts.export_models.graphs.conditions import ALONE, Conditions
from scripts.export_models.graphs.parity import Check
from scripts.export_models.graphs.sessions import Arrays, elsewhere, here
from scripts.export_models.voices.blocked_layout import keep_blocked
from scripts.export_models.voices.phases import in_phases
from scripts.export_models.voices.pictures import as_pictures
from scripts.export_models.voices.stretches import in_stretches
from scripts.export_models.voices.tiles import in_tiles
from scripts.export_models.voices.upsampling import interleaved

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
instance_group [ {{ count: {instances} kind: KIND_CPU }} ]
parameters {{ key: "intra_op_thread_count" value {{ string_value: "1" }} }}
parameters {{ key: "inter_op_thread_count" value {{ string_value: "1" }} }}
# Each sentence has another length, so there is no pattern of memory to keep.
parameters {{ key: "enable_mem_pattern" value {{ string_value: "0" }} }}
version_policy {{ latest {{ num_versions: 1 }} }}
"""
_REWRITINGS = (in_tiles, as_pictures, keep_blocked, in_stretches, in_phases, interleaved)
_INSTANCES = 2
_LARGEST_DIFFERENCE = 1e-4


class VoiceError(SourceError):
    """A file that is no Piper voice."""


def _line(tensor: Any, last: bool) -> str:
    dims = ", ".join(str(size) if isinstance(size, int) else "-1" for size in tensor.shape)
    comma = " " if last else ","
    comment = _COMMENTS.get(tensor.name, tensor.name)
    return f'  {{ name: "{tensor.name}" data_type: {_KINDS[tensor.type]} dims: [ {dims} ] }}{comma}  # {comment}'


def config_text(name: str, session: Any) -> str:
    """``config.pbtxt`` of a voice; output dimensions must equal the file's, which differ between Piper's exporters."""
    names = [tensor.name for tensor in session.get_inputs()]
    if names[:3] != ["input", "input_lengths", "scales"] or [o.name for o in session.get_outputs()] != ["output"]:
        raise VoiceError(f"{name}: a Piper voice takes input, input_lengths and scales, this file takes {names}")
    sides = {}
    for side, tensors in (("inputs", session.get_inputs()), ("outputs", session.get_outputs())):
        sides[side] = "\n".join(_line(tensor, tensor is tensors[-1]) for tensor in tensors)
    return _TEMPLATE.format(name=name, instances=_INSTANCES, **sides)


def _spoken(session: Any, ids: np.ndarray) -> Arrays:
    """The inputs that make a voice say ``ids`` without any noise."""
    inputs = {
        "input": ids[None],
        "input_lengths": np.array([len(ids)], np.int64),
        "scales": np.array([0, 1, 0], np.float32),
    }
    return inputs | ({"sid": np.array([0], np.int64)} if len(session.get_inputs()) > 3 else {})


def export_piper(name: str, source: Path, target: Path, conditions: Conditions = ALONE) -> list[Check]:
    """Put the voice ``source`` (``.onnx``, with ``.onnx.json`` beside it) into ``<target>/1`` and write its config.

    Its graph is rewritten for the kernels and caches of processors; the sound stays the same.
    """
    session = ort.InferenceSession(str(source), providers=["CPUExecutionProvider"])
    text = config_text(name, session)
    voice = json.loads(source.with_name(source.name + ".json").read_text(encoding="utf-8"))
    folder = target / "1"
    folder.mkdir(parents=True, exist_ok=True)
    model = onnx.load(source)
    for rewrite in conditions.progress.over(_REWRITINGS, "rewriting"):
        rewrite(model)
    written = folder / "model.onnx"
    onnx.save(model, written)
    (folder / "voice.json").write_text(json.dumps(voice, ensure_ascii=False), encoding="utf-8")
    (target / "config.pbtxt").write_text(text, encoding="utf-8")
    symbols = [ids[0] for symbol, ids in voice["phoneme_id_map"].items() if symbol in "ahnot"]
    inputs = _spoken(session, np.array([1, 0, *(part for symbol in symbols for part in (symbol, 0)), 2], np.int64))
    before = here(source, conditions.threads)(inputs)
    checks = [_compared(name, before, here(written, conditions.threads)(inputs), "ours and the original")]
    for other in conditions.others:
        with elsewhere(other, written, conditions.threads) as infer:
            checks.append(_compared(name, before, infer(inputs), f"ours on {other} and the original"))
    return checks


def _compared(name: str, before: np.ndarray, after: np.ndarray, what: str) -> Check:
    difference = float(np.abs(before - after).max()) if before.shape == after.shape else float("inf")
    return Check(name, f"{after.size} samples, {what}", difference, _LARGEST_DIFFERENCE)
