import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from scripts.export_models.demo.tokenizer import build
from tests.unit.whisper.conftest import CHECKPOINT


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    build(folder, 8.0)
    return folder


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.json"])
def test_it_is_the_checkpoints_own(built: Path, name: str) -> None:
    ours, committed = (json.loads((folder / name).read_text(encoding="utf-8")) for folder in (built, CHECKPOINT))
    assert ours == committed


def test_one_piece_is_empty_and_every_text_has_pieces(built: Path) -> None:
    tokenizer = Tokenizer.from_file(str(built / "tokenizer.json"))
    assert tokenizer.token_to_id("") is not None
    for text in ("Hello.", "ÿ", "日本", "\U0001f600", "\x00\x7f"):
        assert tokenizer.decode(tokenizer.encode(text).ids) == text
