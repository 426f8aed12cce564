from pathlib import Path
from types import ModuleType

import ctranslate2
import numpy as np
import pytest

from scripts.export_models.whisper.export import convert
from scripts.export_models.whisper.served import recognizer_module
from tests.unit.whisper.conftest import CHECKPOINT

FLAGS = ["fpu", "fp"]


@pytest.fixture(scope="module")
def encoders() -> ModuleType:
    return recognizer_module("encoders")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whisper") / "int8"
    convert(CHECKPOINT, folder, "int8", encoder_graph=True)
    return folder


def _model(folder: Path) -> ctranslate2.models.Whisper:
    return ctranslate2.models.Whisper(str(folder), device="cpu")


def test_a_graph_is_taken_where_the_export_wrote_one(encoders: ModuleType, exported: Path) -> None:
    encoder = encoders.encoder_in(exported, _model(exported), device="cpu", threads=1, flags=FLAGS)
    assert isinstance(encoder, encoders.GraphEncoder)


def test_a_checkpoint_without_a_graph_is_encoded_by_ctranslate2(encoders: ModuleType, converted: Path) -> None:
    encoder = encoders.encoder_in(converted, _model(converted), device="cpu", threads=1, flags=FLAGS)
    features = np.random.default_rng(0).normal(size=(2, 80, 200)).astype(np.float32)
    assert encoder.encode(features).shape == (2, 100, 128)


def test_what_was_exported_for_a_processor_is_refused_on_a_gpu(encoders: ModuleType, exported: Path) -> None:
    with pytest.raises(ValueError, match="--whisper-compute-type float16"):
        encoders.encoder_in(exported, _model(exported), device="cuda", threads=1, flags=FLAGS)


def test_a_processor_without_exact_products_of_integers_computes_the_same_in_floating_point(
    encoders: ModuleType, exported: Path
) -> None:
    features = np.random.default_rng(0).normal(size=(1, 80, 200)).astype(np.float32)
    exact, other = (
        encoders.encoder_in(exported, _model(exported), device="cpu", threads=1, flags=flags).encode(features)
        for flags in (FLAGS, ["amx_of_next_year"])
    )
    assert np.linalg.norm(exact - other) < 0.03 * np.linalg.norm(exact)
    assert not np.array_equal(exact, other)


def test_the_decoder_is_whole_without_the_encoder(exported: Path, converted: Path) -> None:
    encoded = np.random.default_rng(0).normal(size=(1, 50, 128)).astype(np.float32)
    start = [["<|startoftranscript|>", "<|en|>", "<|transcribe|>"]]
    tokens = [
        _model(folder).generate(ctranslate2.StorageView.from_array(encoded), start, max_length=20)[0].sequences_ids
        for folder in (exported, converted)
    ]
    assert tokens[0] == tokens[1]
