"""Each kind of input and of output."""

import codecs
import errno
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from client.api import CommandError
from client.bulk import inputs
from client.bulk.inputs import Item
from client.bulk.outputs import LineFile
from client.bulk.parquet import ParquetParts
from client.bulk.run import run
from client.tests.bulk.api import Api, Refusal
from client.tests.bulk.conftest import job, lines, write_texts


def _rows(output: Path) -> list[dict[str, Any]]:
    return list(pq.read_table(output).sort_by("item").to_pylist())


def _folder(path: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(content)
    return path


def test_a_folder_of_texts_is_read_with_all_below_it(api: Api, tmp_path: Path) -> None:
    source = _folder(tmp_path / "in", {"b.txt": "bb", "a/c.txt": "c", "a/picture.png": "", ".hidden.txt": "h"})
    assert run(job(api, source, tmp_path / "out.jsonl"))
    found = [(line["id"], line["embedding"][0]) for line in lines(tmp_path / "out.jsonl")]
    assert found == [("a/c.txt", 1.0), ("b.txt", 2.0)]


def test_a_byte_order_mark_before_lines_is_passed_over(api: Api, tmp_path: Path) -> None:
    source = write_texts(tmp_path / "in.jsonl", ["a", "bb"])
    source.write_bytes(codecs.BOM_UTF8 + source.read_bytes())
    assert run(job(api, source, tmp_path / "out.jsonl"))
    assert [line["embedding"][0] for line in lines(tmp_path / "out.jsonl")] == [1.0, 2.0]


def test_a_byte_order_mark_is_no_part_of_a_files_text(api: Api, tmp_path: Path) -> None:
    source = _folder(tmp_path / "in", {"a.txt": "\ufeffa"})
    assert run(job(api, source, tmp_path / "out.jsonl"))
    assert api.asked[0].body["input"] == ["a"]


@pytest.mark.parametrize("rows", [(5,), (3, 0, 4)])
def test_a_column_of_parquet_files_is_read(api: Api, tmp_path: Path, rows: tuple[int, ...]) -> None:
    (tmp_path / "in").mkdir()
    texts = ["x" * (1 + number) for number in range(sum(rows))]
    for number, count in enumerate(rows):
        its, texts_left = texts[:count], texts[count:]
        table = pa.table({"body": pa.array(its, pa.string()), "id": pa.array(range(count), pa.int64())})
        pq.write_table(table, tmp_path / "in" / f"{number}.parquet", row_group_size=2)
        texts = texts_left
    source = tmp_path / "in" if len(rows) > 1 else tmp_path / "in" / "0.parquet"
    assert run(job(api, source, tmp_path / "out.jsonl", column="body"))
    assert [line["embedding"][0] for line in lines(tmp_path / "out.jsonl")] == [1.0 + n for n in range(sum(rows))]


def test_a_file_without_line_ends_is_not_read_into_memory(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_LONGEST_LINE", 100)
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n' + "x" * 200)
    with pytest.raises(CommandError, match="line 2 is longer than 100 bytes"):
        run(job(api, tmp_path / "in.jsonl", tmp_path / "out.jsonl"))


def test_an_output_of_parts_may_lie_in_the_folder_of_its_input(api: Api, tmp_path: Path) -> None:
    source = _folder(tmp_path / "in", {"a.txt": "one"})
    assert run(job(api, source, source / "out.parquet"))
    assert run(job(api, source, source / "out.parquet"))
    assert len(api.asked) == 1


def test_recordings_come_from_a_folder_from_paths_and_from_bytes(api: Api, tmp_path: Path) -> None:
    source = _folder(tmp_path / "in", {"a.wav": "one", "b/c.MP3": "two", "notes.txt": "no"})
    (tmp_path / "paths.jsonl").write_text(
        '{"path": "in/a.wav"}\n{"path": "in/gone.wav", "id": 7}\n{"path": "in/b/c.MP3"}\n'
    )
    pq.write_table(pa.table({"path": [b"one", b"two"]}), tmp_path / "bytes.parquet")
    assert run(job(api, source, tmp_path / "1.jsonl", "transcribe"))
    paths = job(api, tmp_path / "paths.jsonl", tmp_path / "2.jsonl", "transcribe")
    assert not run(paths)
    assert run(job(api, tmp_path / "bytes.parquet", tmp_path / "3.jsonl", "transcribe"))
    found = [[(line["id"], line["text"]) for line in lines(tmp_path / f"{n}.jsonl")] for n in (1, 2, 3)]
    assert found == [
        [("a.wav", "one"), ("b/c.MP3", "two")],
        [("in/a.wav", "one"), ("in/b/c.MP3", "two")],
        [("0", "one"), ("1", "two")],
    ]
    assert lines(paths.failures) == [
        {"item": 1, "id": "7", "error": "the file cannot be read: No such file or directory"}
    ]


def test_a_recording_that_the_api_would_not_take_is_not_sent(api: Api, tmp_path: Path) -> None:
    source = _folder(tmp_path / "in", {"a.wav": ""})
    with (source / "a.wav").open("wb") as file:
        file.truncate(25 * 1024 * 1024 + 1)
    assert not run(job(api, source, tmp_path / "out.jsonl", "transcribe"))
    assert not api.asked


def test_segments_go_into_parquet(api: Api, tmp_path: Path) -> None:
    source = _folder(tmp_path / "in", {f"{number:02d}.wav": f"said {number}" for number in range(20)})
    assert run(job(api, source, tmp_path / "out.parquet", "transcribe", options={"timestamps": "word"}))
    rows = _rows(tmp_path / "out.parquet")
    assert [row["segments"][0]["text"] for row in rows] == [f"said {number}" for number in range(20)]
    assert {path.name for path in (tmp_path / "out.parquet").iterdir()} == {
        "part-0000000000.parquet",
        "part-0000000016.parquet",
    }


def test_a_row_that_has_failed_is_done_again_in_its_part(api: Api, tmp_path: Path) -> None:
    source = write_texts(tmp_path / "in.jsonl", [*["good"] * 700, "bad", *["good"] * 799])
    api.refuse = lambda asked: Refusal(400, "no", param="input") if "bad" in asked.body["input"] else None
    assert not run(job(api, source, tmp_path / "out.parquet"))
    assert [row["item"] for row in _rows(tmp_path / "out.parquet") if row["error"] == "no"] == [700]
    api.refuse, before = lambda asked: None, len(api.texts)
    assert run(job(api, source, tmp_path / "out.parquet", again=True))
    assert api.texts[before:] == ["bad"]
    rows = _rows(tmp_path / "out.parquet")
    assert [row["item"] for row in rows] == list(range(1500))
    assert not any(row["error"] for row in rows)


def test_speech_is_a_file_for_each_item_and_no_two_have_one_name(api: Api, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    ids = ["a/b", "a/b", "", "Grüße", "x" * 500]
    source.write_text("".join(json.dumps({"id": name, "text": "hello"}) + "\n" for name in ids))
    assert run(job(api, source, tmp_path / "audio", "speak"))
    names = sorted(path.name for path in (tmp_path / "audio").iterdir())
    assert names[:4] == [
        "00000000-a%2Fb.wav",
        "00000001-a%2Fb.wav",
        "00000002.wav",
        "00000003-Gr%C3%BC%C3%9Fe.wav",
    ]
    assert len(names) == 5


def test_speech_of_a_folder_keeps_its_paths_and_only_missing_files_are_made(api: Api, tmp_path: Path) -> None:
    source = _folder(tmp_path / "in", {"a.txt": "one", "b/c.txt": "two"})
    assert run(job(api, source, tmp_path / "audio", "speak"))
    assert (tmp_path / "audio" / "b" / "c.wav").read_bytes() == b"RIFFtwo"
    (tmp_path / "audio" / "a.wav").unlink()
    for folder in ("audio", "audio/b"):
        (tmp_path / folder / ".1234.partial").write_text("what a killed run left")
    assert run(job(api, source, tmp_path / "audio", "speak"))
    assert [asked.body["input"] for asked in api.asked].count("two") == 1
    assert sorted(path.name for path in (tmp_path / "audio").rglob("*")) == ["a.wav", "b", "c.wav"]


@pytest.mark.parametrize(
    ("source", "output", "operation", "sentence"),
    [
        ("in.csv", "out.jsonl", "embed", "is called neither"),
        ("gone", "out.jsonl", "embed", "there is no such file or folder"),
        ("in.jsonl", "out.csv", "embed", "must be called"),
        ("in.jsonl", "out.jsonl", "speak", "speech goes into a folder"),
        ("in.parquet", "out.jsonl", "embed", "has no column 'text'; choose one with --column"),
        ("body.jsonl", "out.jsonl", "embed", "no text in 'text'; choose another field with --column"),
    ],
)
def test_wrong_names_and_fields_are_refused(
    api: Api, tmp_path: Path, source: str, output: str, operation: str, sentence: str
) -> None:
    pq.write_table(pa.table({"body": ["x"]}), tmp_path / "in.parquet")
    for name, content in {"in.csv": "", "in.jsonl": "", "body.jsonl": '{"body": "x"}\n' * 3}.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(CommandError, match=sentence):
        run(job(api, tmp_path / source, tmp_path / output, operation))


def test_an_empty_input_is_done_and_told(api: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.jsonl").write_text("")
    assert run(job(api, tmp_path / "in.jsonl", tmp_path / "out.jsonl"))
    assert "there is nothing to do in " in capsys.readouterr().out


class _FullAfter:
    """A file on a disk that takes so many bytes more, and the part of a line that still fits."""

    def __init__(self, file: Any, left: int) -> None:
        self._file, self._left = file, left

    def write(self, line: bytes) -> int:
        if not self._left:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = line[: self._left]
        self._left -= len(taken)
        return int(self._file.write(taken))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def test_a_line_that_does_not_fit_on_the_disk_is_not_there_at_all(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "out.jsonl", 2)
    file._file = _FullAfter(file._file, 50)  # type: ignore[assignment]
    file.add(Item(0, "a"), {"text": "fits"})
    with pytest.raises(OSError, match="No space left on device"):
        file.add(Item(1, "b"), {"text": "does not fit"})
    file.close()
    assert lines(tmp_path / "out.jsonl") == [{"item": 0, "id": "a", "text": "fits"}]


def test_a_part_that_does_not_fit_on_the_disk_is_not_there_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(table: object, file: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    parts = ParquetParts(tmp_path / "out.parquet", ["text"], 16, 1, again=False)
    with pytest.raises(OSError, match="No space left on device"):
        parts.write(Item(0, "a"), {"text": "x"})
    assert not list((tmp_path / "out.parquet").iterdir())


def test_lines_of_something_else_are_not_added_to(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text('{"item":0,"id":"a"}\n{"other": 1}\n')
    with pytest.raises(CommandError, match="line 2 was not written by such a run"):
        LineFile(tmp_path / "out.jsonl", 2)
