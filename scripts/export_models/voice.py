"""Exports Piper voices, each with a Triton configuration generated from the shapes of the written graph.

``voice_passes.py`` rewrites the graph. The samples of the rewritten one are compared with the original's.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray

from frontend.catalogue.voices import ADDED, Voice
from frontend.text.alphabets import PiperAlphabet
from scripts.export_models import voice_passes, voice_sample
from scripts.export_models.checkpoints import SourceError, read_json
from scripts.export_models.onnx_passes import nodes_of
from scripts.export_models.parity import Check
from scripts.export_models.progress import SILENT, Progress
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
_UTTERANCES = 24
_LONGEST = 300
_NOISE, _LENGTH, _DURATION_NOISE = 0.667, 1.0, 0.8
_NOISES = ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
_SEED = "seed"
_LARGEST_DIFFERENCE = 1e-4
# Share of utterances. If rounding changes the length of a phoneme by a frame, all later samples differ.
_OTHER_LENGTHS = 1 / _UTTERANCES
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
# The ways to export a voice, the best first.
WAYS = ("rewritten", "original")

# A model as a function from its inputs to its first output.
Arrays = dict[str, NDArray[Any]]
Infer = Callable[[Arrays], NDArray[np.float32]]
Open = Callable[[], Infer]


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


def export(
    name: str, source: Path, target: Path, way: str, progress: Progress = SILENT, added: Voice | None = None
) -> list[Check]:
    """Write the voice ``source`` (``.onnx``, with ``.onnx.json`` next to it) into ``<target>/1``.

    Rewritten for the kernels and caches of processors, it sounds the same and is 1.2 to 1.5 times as fast. The
    description of an ``added`` voice, which the catalogue does not have, gets its language and gender.
    """
    voice = read_json(source.with_name(f"{source.name}.json"))
    if added is not None:
        voice[ADDED] = {"language": added.language, "gender": added.gender}
    model = onnx.load(source)
    if way == "original":
        _write(name, model, voice, target)
        return []
    voice_passes.rewrite(model, progress)
    session = _write(name, model, voice, target)
    symbols = [symbol for ids in voice["phoneme_id_map"].values() for symbol in ids]
    spoken = utterances(symbols, speakers=len(session.get_inputs()) > 3)
    # With the same noise.
    files = [with_seeds(each) for each in (onnx.load(source), model)]
    before, after = (partial(open_session, file, processors()) for file in files)
    return compare(name, spoken, before, after)


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
    voice_sample.write(folder / "sample.wav", alphabet, rate, lambda ids: _spoken(session, voice, ids))
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


# The comparison with the original, for sentences of every length, with the same noise


def utterances(symbols: Sequence[int], speakers: bool) -> list[Arrays]:
    """The inputs of 24 sentences with 1 to 300 phoneme ids of ``symbols`` and the scales of the product."""
    rng = np.random.default_rng(24)
    lengths = np.unique(np.geomspace(1, _LONGEST, _UTTERANCES + 4).astype(np.int64))[-_UTTERANCES:]
    scales = np.array([_NOISE, _LENGTH, _DURATION_NOISE], np.float32)
    speaker = {"sid": np.array([0], np.int64)} if speakers else {}
    return [
        {"input": rng.choice(symbols, (1, n)), "input_lengths": np.array([n]), "scales": scales, **speaker}
        for n in lengths
    ]


def with_seeds(model: onnx.ModelProto) -> bytes:
    """A model's file with seeds, so that each session draws the same noise."""
    for number, node in enumerate(nodes_of(model, *_NOISES)):
        kept = [attribute for attribute in node.attribute if attribute.name != _SEED]
        del node.attribute[:]
        node.attribute.extend([*kept, onnx.helper.make_attribute(_SEED, float(number + 1))])
    content: bytes = model.SerializeToString()
    return content


def open_session(model: bytes, threads: int) -> Infer:
    """Load a model's file with ONNX Runtime."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    loaded = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def infer(inputs: Arrays) -> NDArray[np.float32]:
        samples: NDArray[np.float32] = loaded.run(None, inputs)[0]
        return samples

    return infer


def compare(name: str, spoken: Sequence[Arrays], original: Open, ours: Open) -> list[Check]:
    """The largest difference of a sample over all utterances, and the share of utterances of another length.

    After an utterance of another length the noise differs, so both sessions begin again.
    """
    differences: list[float] = []
    waiting = list(reversed(spoken))
    while waiting:
        differences += _until_lengths_differ(waiting, original(), ours())
    others = len(spoken) - len(differences)
    largest = float(np.max(differences, initial=0.0))
    return [
        Check(name, f"{len(differences)} utterances to {_LONGEST} ids, samples", largest, _LARGEST_DIFFERENCE),
        Check(name, "utterances of another length", others / len(spoken), _OTHER_LENGTHS),
    ]


def _until_lengths_differ(waiting: list[Arrays], before: Infer, after: Infer) -> list[float]:
    """Speak and remove the last of ``waiting`` one by one, up to and with the first that has another length."""
    found: list[float] = []
    while waiting:
        inputs = waiting.pop()
        wanted, got = before(inputs), after(inputs)
        if wanted.shape != got.shape:
            break
        found.append(_largest(wanted, got))
    return found


def _largest(wanted: NDArray[np.float32], got: NDArray[np.float32]) -> float:
    return float(np.abs(wanted - got).max(initial=0.0))
