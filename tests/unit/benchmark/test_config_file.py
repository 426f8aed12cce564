"""Measured settings are written into any file of a model, whose comments stay."""

import errno
import re
from pathlib import Path

import pytest
from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig

from scripts.benchmark.product import config_file
from scripts.benchmark.product.model_control import Knobs
from scripts.run.model_configs import ConfigError, parsed
from tests.conftest import ROOT

REPOSITORY = ROOT / "model_repository"
_FILES = sorted([*REPOSITORY.glob("*/config.pbtxt"), *REPOSITORY.glob("*/configs/gpu.pbtxt")])
_CHANGES = {"max_batch_size": 5, "max_queue_delay_us": 777, "instances": 3, "threads": 6}


def _applied(text: str, changed: dict[str, int], folder: Path) -> tuple[str, ModelConfig]:
    path = folder / "config.pbtxt"
    path.write_text(text, encoding="utf-8")
    config_file.apply(path, changed)
    return path.read_text(encoding="utf-8"), parsed(path)


def _values(config: ModelConfig) -> tuple[set[int], set[str], int, int]:
    threads = {
        config.parameters[name].string_value
        for name in ("intra_threads", "intra_op_thread_count")
        if name in config.parameters
    }
    counts = {group.count for group in config.instance_group}
    return counts, threads, config.max_batch_size, config.dynamic_batching.max_queue_delay_microseconds


@pytest.mark.parametrize("source", _FILES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_each_file_takes_all_settings_and_keeps_its_comments_and_the_rest(source: Path, tmp_path: Path) -> None:
    text, before = source.read_text(encoding="utf-8"), parsed(source)
    batches = before.HasField("dynamic_batching")
    changed = _CHANGES if batches else {name: _CHANGES[name] for name in ("instances", "threads")}
    edited, after = _applied(text, changed, tmp_path)
    assert _values(after) == ({3}, {"6"}, 5 if batches else 0, 777 if batches else 0)
    assert re.findall("#.*", edited) == re.findall("#.*", text)
    for field in ("max_batch_size", "dynamic_batching", "instance_group", "parameters"):
        before.ClearField(field)
        after.ClearField(field)
    assert before == after


_RARE = {
    "several groups": "instance_group [ { count: 1 kind: KIND_CPU }, { count: 2 kind: KIND_CPU } ]",
    "repeated": "instance_group { kind: KIND_CPU }",
    "colons": "instance_group: [ { kind: KIND_CPU count:2 } ]",
    "lines": "instance_group [\n  {\n    kind: KIND_CPU\n  }\n]",
}


@pytest.mark.parametrize("group", _RARE.values(), ids=_RARE)
@pytest.mark.parametrize("written", [False, True], ids=["by hand", "by a program"])
def test_other_forms_are_written_too(group: str, written: bool, tmp_path: Path) -> None:
    text = f"""name: "own" # max_batch_size: 1
backend: "python"
max_batch_size:8
{group}
dynamic_batching {{}}
parameters: {{ key: "intra_threads", value: {{ string_value: "auto" }} }}
"""
    if written:
        text = text_format.MessageToString(text_format.Parse(text, ModelConfig()))
    _, after = _applied(text, _CHANGES, tmp_path)
    assert _values(after) == ({3}, {"6"}, 5, 777)


_COMMENTED = """# max_batch_size: 16 was no better
name: "own"
  max_batch_size: 8 # max_queue_delay_microseconds: 5000 neither
instance_group [ # one
  { # on a {processor}
    kind: KIND_CPU }
]
dynamic_batching { # max_queue_delay_microseconds: 1
}
# parameters { key: "intra_threads" value { string_value: "2" } }
parameters { key: 'intra_threads' # the machine's
  value { string_value: 'auto' } }
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_comments_and_ends_of_lines_stay_as_they_are(end: str, tmp_path: Path) -> None:
    path, text = tmp_path / "config.pbtxt", _COMMENTED.replace("\n", end)
    path.write_bytes(text.encode())
    config_file.apply(path, _CHANGES)
    edited = path.read_bytes().decode()
    assert _values(parsed(path)) == ({3}, {"6"}, 5, 777)
    assert re.findall("#[^\r\n]*", edited) == re.findall("#[^\r\n]*", text)
    assert edited.count("\r") == text.count("\r")


def test_a_form_that_would_lose_comments_is_not_written(tmp_path: Path) -> None:
    path, text = tmp_path / "config.pbtxt", _COMMENTED.replace(": 8", ": 0x8")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="comments would be lost"):
        config_file.apply(path, _CHANGES)
    assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_one_and_another_export_keeps_its_file(tmp_path: Path) -> None:
    path, link, other = (tmp_path / name for name in ("own.pbtxt", "config.pbtxt", "other.pbtxt"))
    path.write_text(_COMMENTED, encoding="utf-8")
    path.chmod(0o640)
    link.symlink_to(path)
    other.hardlink_to(path)
    config_file.apply(link, _CHANGES)
    assert link.is_symlink()
    assert (parsed(path).max_batch_size, path.stat().st_mode & 0o777) == (5, 0o640)
    assert other.read_text(encoding="utf-8") == _COMMENTED


def test_a_full_disk_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.pbtxt"
    path.write_text(_COMMENTED, encoding="utf-8")

    def full(new: Path, *_: object, **__: object) -> None:
        new.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        config_file.apply(path, _CHANGES)
    assert path.read_text(encoding="utf-8") == _COMMENTED
    assert list(tmp_path.iterdir()) == [path]


_TEXT = """max_batch_size: 8
dynamic_batching {{ max_queue_delay_microseconds: 5000 }}
instance_group [ {{ kind: KIND_CPU {count} }} ]
parameters {{ key: "intra_threads" value {{ string_value: "auto" }} }}
"""


def _file(folder: Path, count: str = "") -> Path:
    path = folder / "config.pbtxt"
    path.write_text(_TEXT.format(count=count))
    return path


def test_what_fits_by_itself_stays_open(tmp_path: Path) -> None:
    path = _file(tmp_path)
    fitted = Knobs(5000, 8, 1, 2)
    assert config_file.changes(path, fitted, fitted) == {}
    assert config_file.changes(path, fitted, Knobs(0, 8, 1, 1)) == {"max_queue_delay_us": 0, "threads": 1}
    assert config_file.changes(path, fitted, Knobs(5000, 16, 2, 2)) == {"max_batch_size": 16, "instances": 2}


def test_the_lines_to_paste_are_a_part_of_a_configuration(tmp_path: Path) -> None:
    said = config_file.lines(_file(tmp_path), {**_CHANGES, "max_queue_delay_us": 0})
    assert "dynamic_batching { max_queue_delay_microseconds: 0 }" in said
    assert _values(text_format.Parse("\n".join(said), ModelConfig())) == ({3}, {"6"}, 5, 0)


def test_a_file_that_says_other_than_what_ran_gets_the_best_row(tmp_path: Path) -> None:
    path, ran = _file(tmp_path, "count: 2"), Knobs(0, 16, 1, 4)
    assert config_file.changes(path, ran, ran) == {"max_queue_delay_us": 0, "max_batch_size": 16, "instances": 1}


@pytest.mark.parametrize(
    ("model", "kind", "file"),
    [
        ("m3_embedder", "KIND_CPU", "config.pbtxt"),
        ("m3_embedder", "KIND_GPU", "configs/gpu.pbtxt"),
        ("piper_ryan", "KIND_CPU", "config.pbtxt"),
    ],
)
def test_the_file_is_the_one_that_runs(model: str, kind: str, file: str) -> None:
    found = config_file.file_of(REPOSITORY, model, {"instance_group": [{"kind": kind}]})
    assert found == REPOSITORY / model / file
