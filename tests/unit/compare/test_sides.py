"""Texts out of files, exports of both precisions, and what is asked of them."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from scripts.compare.sides import ROOT, Models, ask
from scripts.compare.texts import TextsError, read, spread
from scripts.export_models.onnx_graph import Graph
from scripts.export_models.progress import Progress
from scripts.export_models.text import write
from scripts.export_models.text_graph import text_inputs

NAMES = ("m3_embedder", "m3_reranker")


def _called(monkeypatch: pytest.MonkeyPatch, status: int = 0) -> list[tuple[list[str], Mapping[str, Any]]]:
    calls: list[tuple[list[str], Mapping[str, Any]]] = []

    def call(command: list[str], **options: Any) -> int:
        calls.append((command, options))
        return status

    monkeypatch.setattr(subprocess, "call", call)
    return calls


def test_text_models_are_exported_with_a_folder_per_precision(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = _called(monkeypatch)
    Models(NAMES, "folder", "/models", tmp_path).export("int8")
    ((command, options),) = calls
    wanted = "-m scripts.export_models --source folder --precision int8 --repository {} --folder /models"
    only = " --only m3_embedder --only m3_reranker"
    assert command == [sys.executable, *(wanted.format(tmp_path / "int8") + only).split()]
    assert options["cwd"] == ROOT


def test_the_export_gets_no_folder_without_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = _called(monkeypatch)
    Models(NAMES, "demo", "", tmp_path).export("fp32")
    assert "--folder" not in calls[0][0]


def test_an_export_beyond_its_limits_is_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _called(monkeypatch, status=1)
    Models(NAMES, "demo", "", tmp_path).export("int8")


def test_a_failed_export_raises_its_status(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _called(monkeypatch, status=130)
    with pytest.raises(subprocess.CalledProcessError) as caught:
        Models(NAMES, "hub", "", tmp_path).export("int8")
    assert caught.value.returncode == 130


def _lengths_as_scores(folder: Path) -> Path:
    """A model whose score of a text is its length."""
    g = Graph()
    g.op("Cast", "lengths", output="score", to=TensorProto.FLOAT)
    score = helper.make_tensor_value_info("score", TensorProto.FLOAT, ["texts"])
    write(g.model(text_inputs(), [score]), "fp32", folder)
    return folder


class _Pieces(Progress):
    count = 0

    def step(self, name: str, done: int, total: int) -> None:
        self.count = total


def test_texts_are_answered_in_order_in_pieces(tmp_path: Path) -> None:
    ids, pieces = [np.ones(length, np.int32) for length in (2000, 2, 2000, 7)], _Pieces()
    rows, tokens_a_second = ask(_lengths_as_scores(tmp_path), ids, 1, pieces)
    assert rows.tolist() == [2000, 2, 2000, 7]
    assert pieces.count == 2
    assert tokens_a_second > 0


def _file(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_a_text_is_a_line_and_empty_lines_are_none(tmp_path: Path) -> None:
    assert read(_file(tmp_path, "t.txt", "one\n\n  \nGrüezi mitenand \n".encode())) == ["one", "Grüezi mitenand"]


def test_a_mark_of_the_byte_order_and_returns_are_no_part_of_a_text(tmp_path: Path) -> None:
    assert read(_file(tmp_path, "t.txt", b"\xef\xbb\xbfone\r\ntwo\r\n")) == ["one", "two"]


def test_only_a_new_line_ends_a_text(tmp_path: Path) -> None:
    line = "one\u2028still one\x0cand still"
    assert read(_file(tmp_path, "t.txt", f"{line}\ntwo".encode())) == [line, "two"]


def test_a_text_that_comes_again_counts_once(tmp_path: Path) -> None:
    assert read(_file(tmp_path, "t.txt", b"b\na\nb")) == ["b", "a"]


def test_of_jsonl_the_text_of_each_object_is_taken(tmp_path: Path) -> None:
    path = _file(tmp_path, "t.jsonl", b'{"id": 1, "text": "one\\ntwo"}\n\n{"text": "three"}\n')
    assert read(path) == ["one\ntwo", "three"]


@pytest.mark.parametrize("line", [b"no json", b'{"texts": "x"}', b'{"text": 3}', b'["text"]', b'"text"', b"3"])
def test_a_line_of_jsonl_without_a_text_is_named(tmp_path: Path, line: bytes) -> None:
    with pytest.raises(TextsError, match=r"t\.jsonl: line 3 is no object with a text"):
        read(_file(tmp_path, "t.jsonl", b'{"text": "x"}\n\n' + line))


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TextsError, match="is not UTF-8"):
        read(_file(tmp_path, "t.txt", b"\xff"))


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(TextsError, match=r"none\.txt cannot be read: No such file"):
        read(tmp_path / "none.txt")


def test_of_too_many_some_are_taken_from_the_first_to_the_last() -> None:
    assert spread([str(at) for at in range(9)], 3) == ["0", "4", "8"]
    assert spread(["a", "b"], 3) == ["a", "b"]
