"""config.pbtxt and the pipelines agree on names and types, and the files keep to what Triton since 24.10 reads."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from frontend.catalogue.models import MODELS, Served
from frontend.catalogue.voices import KOKORO, TRITON_PREFIX, VOICES
from frontend.operations.embeddings import pipeline as embeddings
from frontend.operations.packed_model import WEIGHTS
from frontend.operations.rerank import pipeline as rerank
from frontend.operations.transcription import pipeline as transcription
from frontend.operations.transcription.abilities import TRANSLATE
from frontend.text import tokens
from scripts.run.model_configs import AUTO
from tests.conftest import ROOT

TRITON_MODELS = Served.of().triton_models
TEXT = {model.operation: model.triton_model for model in MODELS.values() if model.max_tokens}
REPOSITORY = ROOT / "model_repository"
# A start may have written others for this machine.
CONFIGS = sorted([*REPOSITORY.glob("*/config.pbtxt"), *REPOSITORY.glob("*/configs/gpu.pbtxt")])
PIPER = [name for name in TRITON_MODELS if name.startswith("piper_")]


def _read(path: Path) -> Any:
    return text_format.Parse(path.read_text(encoding="utf-8"), model_config_pb2.ModelConfig())


def _config(name: str) -> Any:
    return _read(REPOSITORY / name / "config.pbtxt")


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: str(p.relative_to(REPOSITORY)))
def test_a_config_is_explicit_plain_and_holds_for_any_gpu(path: Path) -> None:
    config = _read(path)
    assert config.name == path.relative_to(REPOSITORY).parts[0]
    assert config.backend in ("onnxruntime", "python")
    assert all(group.kind and not group.gpus for group in config.instance_group)
    assert config.dynamic_batching.priority_levels == 0
    assert not config.dynamic_batching.HasField("default_queue_policy")
    threads = "intra_op_thread_count" if config.backend == "onnxruntime" else "intra_threads"
    assert config.parameters[threads].string_value in (AUTO, "1", "8")
    assert "gpu" not in config.parameters["memory.enable_memory_arena_shrinkage"].string_value


def test_every_model_has_a_folder_but_voices_which_the_export_makes() -> None:
    folders = {path.parent.name for path in REPOSITORY.glob("*/config.pbtxt")}
    voices = {f"{TRITON_PREFIX}{voice}" for voice in VOICES}
    assert set(TRITON_MODELS) - voices <= folders <= {*TRITON_MODELS, KOKORO}


@pytest.mark.parametrize(
    ("name", "outputs"), [(TEXT["embeddings"], [embeddings.OUTPUT, WEIGHTS]), (TEXT["rerank"], [rerank.OUTPUT])]
)
def test_the_text_models_take_and_give_what_the_pipelines_say(name: str, outputs: list[str]) -> None:
    config = _config(name)
    assert tuple(tensor.name for tensor in config.input) == tokens.INPUTS
    assert [tensor.name for tensor in config.output] == outputs
    assert all(tensor.allow_ragged_batch for tensor in config.input)


@pytest.mark.parametrize("name", ["whisper_turbo", "whisper_large_v3"])
def test_whisper_takes_what_the_pipeline_says(name: str) -> None:
    inputs = _config(name).input
    assert tuple(tensor.name for tensor in inputs if not tensor.optional) == transcription.INPUTS
    assert [tensor.name for tensor in inputs if tensor.optional] == [TRANSLATE]


@pytest.mark.parametrize("name", PIPER)
def test_a_voice_takes_and_gives_what_the_pipeline_says(name: str) -> None:
    config = _config(name)
    assert [tensor.name for tensor in config.input] == ["input", "input_lengths", "scales"]
    assert [tensor.name for tensor in config.output] == ["output"]


@pytest.mark.parametrize("names", [("whisper_turbo", "whisper_large_v3"), TEXT.values()], ids=str)
def test_models_of_a_kind_run_the_same_code(names: Iterable[str]) -> None:
    one, other = ({path.name: path.read_bytes() for path in (REPOSITORY / name / "1").glob("*.py")} for name in names)
    assert one == other


@pytest.mark.parametrize("name", TEXT.values())
def test_text_models_have_an_instance_beside_a_long_text(name: str) -> None:
    assert sum(group.count for group in _config(name).instance_group) == 2


@pytest.mark.parametrize("name", TEXT.values())
def test_on_a_gpu_each_request_gets_back_the_rows_of_its_texts(name: str) -> None:
    (rows,) = _on_gpus(name).batch_output
    assert rows.kind == model_config_pb2.BatchOutput.BATCH_SCATTER_WITH_INPUT_SHAPE
    assert (list(rows.target_name), list(rows.source_input)) == ([_config(name).output[0].name], [tokens.INPUTS[1]])


ON_GPUS = sorted(path.parents[1].name for path in REPOSITORY.glob("*/configs/gpu.pbtxt"))


def _on_gpus(name: str) -> Any:
    return _read(REPOSITORY / name / "configs" / "gpu.pbtxt")


@pytest.mark.parametrize("name", ON_GPUS)
def test_on_a_gpu_a_model_has_the_inputs_and_outputs_of_a_processor(name: str) -> None:
    here, there = _config(name), _on_gpus(name)
    # Processors alone weigh tokens.
    for output in [each for each in here.output if each.name == WEIGHTS]:
        here.output.remove(output)
    for config in (here, there):
        # What they differ in; callers see none of it.
        for field in ("backend", "batch_output", "instance_group", "parameters", "max_batch_size", "dynamic_batching"):
            config.ClearField(field)
    assert there == here


@pytest.mark.parametrize("name", ON_GPUS)
def test_every_gpu_has_a_session_of_its_own_on_its_own_device(name: str) -> None:
    config = _on_gpus(name)
    assert [group.kind for group in config.instance_group] == [model_config_pb2.ModelInstanceGroup.KIND_GPU]
    # The backend shares one by the group's name alone: every instance would compute on the first GPU.
    assert "share_session_between_instances" not in config.parameters
    # It overwrites a limit that stands here by none, where a configuration has any parameters.
    assert not config.optimization.execution_accelerators.gpu_execution_accelerator


def test_whisper_computes_in_fp16_on_a_gpu() -> None:
    whispers = [name for name in ON_GPUS if name.startswith("whisper_")]
    assert len(whispers) == 2
    assert {_on_gpus(name).parameters["compute_type"].string_value for name in whispers} == {"float16"}


def test_voices_have_no_configuration_for_gpus() -> None:
    assert set(ON_GPUS) == set(TRITON_MODELS) - set(PIPER)
