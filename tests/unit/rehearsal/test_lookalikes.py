"""Look-alikes have the layout of the hub, the sizes of the real ones, and are taken by what reads those."""

from dataclasses import replace
from pathlib import Path

import pytest
from safetensors import safe_open
from transformers import AutoModel, AutoTokenizer

from scripts.export_models.checkpoints import (
    EMBEDDER,
    RERANKER,
    VOICES,
    WHISPER_LARGE,
    WHISPER_TURBO,
    Checkpoint,
)
from scripts.export_models.plan import CHECKPOINTS, MODELS
from scripts.export_models.sources import FolderSource
from scripts.export_models.text import calibration
from scripts.rehearsal.lookalikes import SCALES, write_all
from scripts.rehearsal.vocabulary import tokenizer

# torch's exporter warns of its own affairs.
pytestmark = pytest.mark.filterwarnings("ignore")
TINY = replace(SCALES["small"], entries=3_002, text_layers=1, whisper_layers=1, whisper_width=64)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hub")
    write_all(folder, TINY)
    return folder


def test_every_file_of_every_checkpoint_is_there(folder: Path) -> None:
    files = [folder / each.repository / name for each in CHECKPOINTS.values() for name in each.files]
    assert [path for path in files if not path.is_file()] == []


def test_they_pass_the_look_that_is_had_before_an_export(folder: Path) -> None:
    assert FolderSource(folder).faults(MODELS) == {}


def test_what_is_whole_is_left_as_it_is(folder: Path) -> None:
    weights = folder / RERANKER.repository / "model.safetensors"
    before = weights.stat().st_mtime_ns
    write_all(folder, TINY)
    assert weights.stat().st_mtime_ns == before


def test_each_text_model_has_its_own_layout_of_weights(folder: Path) -> None:
    names = {path.name for each in (EMBEDDER, RERANKER) for path in (folder / each.repository).iterdir()}
    assert {"pytorch_model.bin", "model.safetensors"} <= names
    assert AutoModel.from_pretrained(folder / EMBEDDER.repository).config.vocab_size == TINY.entries


@pytest.mark.parametrize("checkpoint", [WHISPER_TURBO, WHISPER_LARGE], ids=lambda each: each.repository)
def test_a_whisper_has_the_entries_of_the_real_ones_in_fp16(folder: Path, checkpoint: Checkpoint) -> None:
    with safe_open(folder / checkpoint.repository / "model.safetensors", "pt") as weights:
        words = weights.get_slice("model.decoder.embed_tokens.weight")
        assert words.get_shape() == [51_866, TINY.whisper_width]
        assert words.get_dtype() == "F16"


def test_voices_have_the_sample_rates_of_their_qualities(folder: Path) -> None:
    (low,) = (folder / VOICES.repository).rglob("*-x_low.onnx.json")
    assert '"sample_rate": 16000, "quality": "x_low"' in low.read_text(encoding="utf-8")


def test_the_full_scale_has_the_entries_of_the_real_ones() -> None:
    assert len(tokenizer(SCALES["full"].entries)) == SCALES["full"].entries == 250_002


def test_the_calibrations_texts_have_few_unknown_tokens_and_several_letters_a_token(folder: Path) -> None:
    found = AutoTokenizer.from_pretrained(folder / EMBEDDER.repository)
    ids = [token for text in calibration.texts() for token in found(text).input_ids]
    assert ids.count(found.unk_token_id) < len(ids) / 20
    assert len(ids) < sum(map(len, calibration.texts())) / 3
