"""What the export of a voice writes, and its comparison with the original."""

import json
import shutil
import wave
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray

from scripts.export_models import voice, voice_passes
from scripts.export_models.checkpoints import SourceError
from scripts.export_models.parity import Exported, first_that_passes
from scripts.export_models.voice import (
    WAYS,
    Arrays,
    Infer,
    Open,
    compare,
    config_text,
    open_session,
    utterances,
    with_seeds,
)


def _exported(source: Path, target: Path) -> Exported:
    return first_that_passes(WAYS, partial(voice.export, "piper_amy", source, target))


@pytest.fixture(scope="module")
def exported(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    exported = _exported(source, folder)
    assert (exported.way, [check.passed for check in exported.checks]) == ("rewritten", [True, True])
    return folder


@pytest.mark.parametrize("phonemes", [3, 300])
def test_an_exported_voice_says_the_same_without_noise(source: Path, exported: Path, phonemes: int) -> None:
    inputs = {
        "input": np.random.default_rng(1).integers(1, 100, (1, phonemes)),
        "input_lengths": np.array([phonemes]),
        "scales": np.array([0, 1, 0], np.float32),
    }
    before, after = (open_session(path.read_bytes(), 1)(inputs) for path in (source, exported / "1" / "model.onnx"))
    assert np.abs(before - after).max() < 1e-6


def test_an_exported_voice_has_no_fixed_noise(exported: Path) -> None:
    noises = [node for node in onnx.load(exported / "1" / "model.onnx").graph.node if "Random" in node.op_type]
    assert [[attribute.name for attribute in node.attribute if attribute.name == "seed"] for node in noises] == [[]]


def test_the_description_is_copied(source: Path, exported: Path) -> None:
    description = source.with_name("amy.onnx.json").read_text()
    assert json.loads((exported / "1" / "voice.json").read_text()) == json.loads(description)


def test_a_voice_speaks_a_sample(exported: Path) -> None:
    with wave.open(str(exported / "1" / "sample.wav")) as file:
        assert (file.getframerate(), file.getnframes() > file.getframerate()) == (22_050, True)


def test_the_configuration_has_the_inputs_and_outputs_of_the_written_graph(exported: Path) -> None:
    written = (exported / "config.pbtxt").read_text(encoding="utf-8")
    assert written == config_text("piper_amy", ort.InferenceSession(str(exported / "1" / "model.onnx")))
    assert '{ name: "scales" data_type: TYPE_FP32 dims: [ 3 ] }' in written


def test_an_export_keeps_what_an_operator_wrote_into_the_configuration(
    source: Path, exported: Path, tmp_path: Path
) -> None:
    path = tmp_path / "config.pbtxt"
    edited = (exported / "config.pbtxt").read_text(encoding="utf-8").replace("{ kind", "{ count: 3 kind")
    path.write_text(edited, encoding="utf-8")
    voice.export("piper_amy", source, tmp_path, "original")
    assert path.read_text(encoding="utf-8") == edited


def test_a_file_that_is_no_voice_is_refused(source: Path, tmp_path: Path) -> None:
    model = onnx.load(source)
    onnx.compose.add_prefix_graph(model.graph, "other_", inplace=True)
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(SourceError, match="a Piper voice takes input, input_lengths and scales"):
        config_text("piper_amy", ort.InferenceSession(str(tmp_path / "other.onnx")))


def test_a_voice_that_a_pass_does_not_match_keeps_its_graph(source: Path, tmp_path: Path) -> None:
    """One of its kernels is computed."""
    model = onnx.load(source)
    upsampling = next(node for node in model.graph.node if node.op_type == "ConvTranspose")
    model.graph.node.insert(0, onnx.helper.make_node("Identity", [upsampling.input[1]], ["computed"]))
    upsampling.input[1] = "computed"
    onnx.save(model, tmp_path / "voice.onnx")
    shutil.copy(source.with_name("amy.onnx.json"), tmp_path / "voice.onnx.json")
    exported = _exported(tmp_path / "voice.onnx", tmp_path / "out")
    assert exported.way == "original"
    assert exported.skipped == ["rewritten: the pass 'NCHW' rewrote 75 of the graph's 76 convolutions"]
    assert len(onnx.load(tmp_path / "out" / "1" / "model.onnx").graph.node) == len(model.graph.node)


SPOKEN = utterances(range(1, 100), speakers=False)


def _sessions(length: Callable[[int], int] = lambda ids: ids, added: float = 0.0) -> Open:
    """Sessions that say random numbers, which go on from call to call; ``length`` is that of a sentence."""

    def begun() -> Infer:
        rng = np.random.default_rng(0)

        def infer(inputs: Arrays) -> NDArray[np.float32]:
            return rng.normal(size=length(inputs["input"].shape[1])).astype(np.float32) + np.float32(added)

        return infer

    return begun


def test_more_than_twenty_sentences_of_one_to_300_ids_are_said() -> None:
    lengths = [inputs["input"].shape[1] for inputs in SPOKEN]
    assert len(lengths) >= 20
    assert (min(lengths), max(lengths)) == (1, 300)
    assert len(set(lengths)) == len(lengths)
    assert all((inputs["input_lengths"] == inputs["input"].shape[1]).all() for inputs in SPOKEN)


def test_sentences_are_said_with_noise() -> None:
    assert all((inputs["scales"] > 0).all() for inputs in SPOKEN)


def test_a_voice_of_several_speakers_is_given_one() -> None:
    assert [inputs["sid"].tolist() for inputs in utterances([1], speakers=True)[:1]] == [[0]]


def test_the_same_sound_passes() -> None:
    assert [check.difference for check in compare("m", SPOKEN, _sessions(), _sessions())] == [0, 0]


@pytest.mark.parametrize(("added", "passes"), [(5e-5, True), (2e-4, False), (float("nan"), False)])
def test_samples_may_differ_by_a_ten_thousandth(added: float, passes: bool) -> None:
    samples, lengths = compare("m", SPOKEN, _sessions(), _sessions(added=added))
    assert (samples.passed, lengths.passed) == (passes, True)


def test_one_sentence_may_have_another_length_and_later_ones_are_compared_with_the_same_noise() -> None:
    samples, lengths = compare("m", SPOKEN, _sessions(), _sessions(lambda ids: ids + (ids == 300)))
    middle = SPOKEN[12]["input"].shape[1]
    again, others = compare("m", SPOKEN, _sessions(), _sessions(lambda ids: ids + (ids == middle)))
    assert all(check.passed for check in (samples, lengths, again, others))
    assert lengths.difference == others.difference == 1 / len(SPOKEN)


def test_two_sentences_of_another_length_fail() -> None:
    others = [SPOKEN[at]["input"].shape[1] for at in (5, 12)]
    _, lengths = compare("m", SPOKEN, _sessions(), _sessions(lambda ids: ids + (ids in others)))
    assert not lengths.passed


def test_with_seeds_two_graphs_of_a_voice_draw_the_same_noise(source: Path) -> None:
    original, ours = onnx.load(source), onnx.load(source)
    voice_passes.rewrite(ours)
    one, other = (open_session(with_seeds(model), 1) for model in (original, ours))
    first = one(SPOKEN[8])
    assert np.abs(first - other(SPOKEN[8])).max() < 1e-6
    # A session draws on: its next sentence has other noise.
    second = one(SPOKEN[8])
    assert np.abs(second - other(SPOKEN[8])).max() < 1e-6
    assert np.abs(second - first).max() > 1e-4
