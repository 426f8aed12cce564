"""What a stamp depends on, with a small project below a folder."""

import hashlib
import os
from pathlib import Path

import pytest

from scripts.export_models import stamp
from scripts.export_models.stamp import Digests, Stamp

MAIN = '''"""Exports."""

from scripts.inner import double

# A reason.
def export(x: int) -> int:
    """Doubles."""
    return double(x)  # here
'''
INNER = """def double(x: int) -> int:
    return 2 * x
"""


def _code(root: Path, main: str = MAIN, inner: str = INNER, other: str = "pass") -> dict[str, str]:
    for name, text in (("main", main), ("inner", inner), ("other", other)):
        path = root / "scripts" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return stamp.code_of("scripts.main", root)


@pytest.mark.parametrize(
    "main",
    [
        MAIN.replace("# A reason.", "# Another reason."),
        MAIN.replace("  # here", ""),
        MAIN.replace("Doubles.", "Gives twice as much."),
        MAIN.replace('"""Exports."""', '"""Exports\n\nin more words."""'),
        MAIN.replace("    return double(x)", "\n    return (double( x ))"),
    ],
)
def test_comments_docstrings_and_layout_are_no_code(tmp_path: Path, main: str) -> None:
    assert _code(tmp_path, main) == _code(tmp_path)


@pytest.mark.parametrize(
    "changed", [{"main": MAIN.replace("(x)  #", "(x + 1)  #")}, {"inner": INNER.replace("2", "3")}]
)
def test_code_that_is_imported_counts(tmp_path: Path, changed: dict[str, str]) -> None:
    assert _code(tmp_path, **changed) != _code(tmp_path)


def test_code_that_is_not_imported_does_not_count(tmp_path: Path) -> None:
    assert _code(tmp_path, other="print(1)") == _code(tmp_path)


def test_where_code_lies_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert _code(tmp_path / "a") == _code(tmp_path / "b")


@pytest.mark.parametrize(
    "line",
    ["import scripts.other", "from scripts import other", "from scripts.other import x", "from scripts.other import *"],
)
def test_every_form_of_import_is_followed(tmp_path: Path, line: str) -> None:
    assert "scripts.other" in _code(tmp_path, f"def run():\n    {line if '*' not in line else 'pass'}\n{line}\n")


@pytest.mark.parametrize(
    ("family", "reads"),
    [
        ("text", {"text.encoder", "text.int8", "text.quantise", "text.calibration", "text.checks", "text.processor"}),
        ("whisper", {"whisper.encoder", "whisper.layers", "whisper.decoder", "whisper.checks"}),
        ("voices", {"voices.stretches", "graphs.rewriting"}),
    ],
)
def test_a_models_code_is_what_its_export_imports(family: str, reads: set[str]) -> None:
    package = "scripts.export_models."
    found = {name.removeprefix(package) for name in stamp.code_of(f"{package}{family}.export")}
    assert reads <= found
    others = {"text.export", "whisper.export", "voices.export", "worker", "lanes", "__main__"} - {f"{family}.export"}
    assert not others & found


def test_a_file_is_known_by_its_bytes(tmp_path: Path) -> None:
    for name, data in (("one", b"same"), ("two", b"same"), ("three", b"other")):
        (tmp_path / name).write_bytes(data)
    one, two, three = (Digests(tmp_path / "memory").of(tmp_path / name) for name in ("one", "two", "three"))
    assert one == two != three


def test_a_file_that_has_not_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weights").write_bytes(b"1")
    before = Digests(tmp_path / "memory").of(tmp_path / "weights")
    monkeypatch.delattr(hashlib, "file_digest")
    assert Digests(tmp_path / "memory").of(tmp_path / "weights") == before


def test_a_file_of_the_same_size_and_time_with_other_bytes_is_read_again(tmp_path: Path) -> None:
    path, memory = tmp_path / "weights", tmp_path / "memory"
    path.write_bytes(b"1")
    before, status = Digests(memory).of(path), path.stat()
    path.write_bytes(b"2")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert Digests(memory).of(path) != before


def test_a_memory_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("{", encoding="utf-8")
    (tmp_path / "weights").write_bytes(b"1")
    assert len(Digests(tmp_path / "memory").of(tmp_path / "weights")) == 64


def test_a_stamp_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "m" / "1").mkdir(parents=True)
    written = Stamp("f", ["1.19.2"], ["fp16: runs on CUDA alone"])
    stamp.write(tmp_path, "m", written)
    assert stamp.read(tmp_path, "m") == written


@pytest.mark.parametrize("text", ["", "{", "[]", '{"other": 1}', None])
def test_what_is_no_stamp_is_none(tmp_path: Path, text: str | None) -> None:
    (tmp_path / "m" / "1").mkdir(parents=True)
    if text is not None:
        (tmp_path / "m" / "1" / "exported.json").write_text(text, encoding="utf-8")
    assert stamp.read(tmp_path, "m") is None


def test_a_model_of_another_source_is_missing_and_one_of_before_sources_were_noted_is_not(tmp_path: Path) -> None:
    for name, source in (("demos", "demo"), ("hubs", "hub"), ("old", "")):
        (tmp_path / name / "1").mkdir(parents=True)
        stamp.write(tmp_path, name, Stamp("f", source=source))
    assert stamp.missing(tmp_path, ["demos", "hubs", "old", "none"], "hub") == ["demos", "none"]
