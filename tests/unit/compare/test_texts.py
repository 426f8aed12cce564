"""Texts out of files."""

from pathlib import Path

import pytest

from scripts.compare.texts import TextsError, read, spread


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


def test_what_is_no_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TextsError, match="is not UTF-8"):
        read(_file(tmp_path, "t.txt", b"\xff"))


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(TextsError, match=r"none\.txt cannot be read: No such file"):
        read(tmp_path / "none.txt")


def test_of_too_many_some_are_taken_from_the_first_to_the_last() -> None:
    assert spread([str(at) for at in range(9)], 3) == ["0", "4", "8"]
    assert spread(["a", "b"], 3) == ["a", "b"]
