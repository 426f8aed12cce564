"""An export is read only when it is complete, and the one before stays."""

import errno
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts.export_models import publish, stamp
from scripts.export_models.checkpoints import SourceError
from scripts.export_models.publish import Exports, alone, has_code, make_secret
from scripts.export_models.stamp import Stamp
from scripts.run.model_configs import parsed

WHISPER, VOICE = "whisper_turbo/1/model.py", "piper_ryan/config.pbtxt"


def _write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def code(tmp_path: Path) -> Path:
    _write(tmp_path / "code", **{WHISPER: "code", VOICE: "committed"})
    return tmp_path / "code"


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def _export(models: Path, code: Path, weights: str, name: str = "current") -> Path:
    exports = Exports(models, name)
    stamp = {"whisper_turbo/1/weights": weights, "whisper_turbo/1/exported.json": weights}
    _write(exports.begin(code), **stamp)
    export = exports.finish()
    exports.select(export)
    return export


def test_nothing_is_selected_while_the_first_export_is_written(models: Path, code: Path) -> None:
    exports = Exports(models, "current")
    exports.begin(code)
    assert exports.newest_first() == []
    assert not (models / "current").exists()


def test_the_selected_export_does_not_change_while_the_next_is_written(models: Path, code: Path) -> None:
    first = _export(models, code, "int8")
    _write(Exports(models, "current").begin(code), **{"whisper_turbo/1/weights": "half"})
    assert (models / "current").resolve() == first
    assert (first / "whisper_turbo/1/weights").read_text(encoding="utf-8") == "int8"


def test_the_next_export_starts_with_the_files_of_the_newest(models: Path, code: Path) -> None:
    _export(models, code, "int8")
    assert (Exports(models, "other").begin(code) / "whisper_turbo/1/weights").read_text(encoding="utf-8") == "int8"


def test_an_interrupted_export_goes_on_with_what_it_has(models: Path, code: Path) -> None:
    _write(Exports(models, "current").begin(code), **{"whisper_turbo/1/weights": "half"})
    again = Exports(models, "current").begin(code)
    assert (again / "whisper_turbo/1/weights").read_text(encoding="utf-8") == "half"


def test_an_export_that_changes_nothing_is_the_same_export(models: Path, code: Path) -> None:
    assert _export(models, code, "int8") == _export(models, code, "int8")
    assert [path.name for path in models.iterdir() if path.name.startswith(".")] == []


def test_the_export_before_is_kept_and_older_ones_are_removed(models: Path, code: Path) -> None:
    first, second, third = (_export(models, code, weights) for weights in ("int8", "fp32", "bf16"))
    assert [path.exists() for path in (first, second, third)] == [False, True, True]


def test_an_export_that_is_selected_again_outlives_the_one_between(models: Path, code: Path) -> None:
    first, second = (_export(models, code, weights) for weights in ("int8", "fp32"))
    assert _export(models, code, "int8") == first
    third = _export(models, code, "bf16")
    assert [path.exists() for path in (first, second, third)] == [True, False, True]


def test_each_name_selects_its_own_export_and_goes_with_it(models: Path, code: Path) -> None:
    first, second = _export(models, code, "int8", "a"), _export(models, code, "fp32", "b")
    assert ((models / "a").resolve(), (models / "b").resolve()) == (first, second)
    _export(models, code, "bf16", "c")
    assert sorted(path.name for path in models.iterdir()) == ["b", "c", "exports"]


def test_an_export_that_was_never_finished_goes_when_another_is_selected(models: Path, code: Path) -> None:
    building = Exports(models, "a").begin(code)
    _export(models, code, "int8", "b")
    assert not building.exists()


_TENSORS = "input { name: 'input' dims: 1 }"
_EXPORTED = "input { name: 'input' dims: -1 }"


def test_an_edited_configuration_of_a_voice_is_exported_with_the_tensors_of_its_graph(models: Path, code: Path) -> None:
    exports = Exports(models, "current")
    _write(exports.begin(code), **{VOICE: _EXPORTED})
    _write(code, **{VOICE: f"{_TENSORS} instance_group {{ count: 5 }}"})
    assert not has_code(code, models / ".building-current")
    building = exports.begin(code)
    config = parsed(building / VOICE)
    assert (list(config.input[0].dims), config.instance_group[0].count) == ([-1], 5)
    assert has_code(code, building)


def test_code_is_that_of_the_image_and_a_voice_keeps_its_own_configuration(models: Path, code: Path) -> None:
    exports = Exports(models, "current")
    _write(exports.begin(code), **{WHISPER: "old", VOICE: "generated", "piper_old/config.pbtxt": "removed"})
    building = exports.begin(code)
    assert (building / WHISPER).read_text(encoding="utf-8") == "code"
    assert (building / VOICE).read_text(encoding="utf-8") == "generated"
    assert not (building / "piper_old").exists()


def test_exported_voices_stay_and_are_no_part_of_the_code(models: Path, code: Path) -> None:
    exports = Exports(models, "current")
    stamp.write(exports.begin(code), "piper_eva", Stamp(source=stamp.ADDED))
    _write(code, **{"piper_max/config.pbtxt": "of a checkout that has served it"})
    building = exports.begin(code)
    assert (building / "piper_eva").exists()
    assert not (building / "piper_max").exists()


def test_another_code_is_noticed(models: Path, code: Path) -> None:
    export = _export(models, code, "int8")
    assert has_code(code, export)
    _write(code, **{WHISPER: "new"})
    assert not has_code(code, export)


def test_a_secret_is_made_once_for_users_of_the_same_volume(models: Path) -> None:
    make_secret(models / "triton.secret")
    first = (models / "triton.secret").read_text(encoding="utf-8")
    make_secret(models / "triton.secret")
    assert re.fullmatch("[0-9a-f]{32}", first)
    assert (models / "triton.secret").read_text(encoding="utf-8") == first
    assert (models / "triton.secret").stat().st_mode & 0o777 == 0o444
    assert [path.name for path in models.iterdir()] == ["triton.secret"]


def test_an_export_waits_for_another_one_into_the_same_folder(models: Path) -> None:
    # A process, because a lock is its.
    code = "import sys; from pathlib import Path; from scripts.export_models.publish import alone\n"
    code += "with alone(Path(sys.argv[1])): print('begins', flush=True)"
    with alone(models):
        second = subprocess.Popen([sys.executable, "-c", code, str(models)], stdout=subprocess.PIPE, text=True)
        assert second.stdout is not None
        assert "another export" in second.stdout.readline()
    assert second.communicate(timeout=60)[0] == "begins\n"


WEIGHTS = "whisper_turbo/1/weights"


LARGE = "int8" * 250_000


def test_the_next_export_takes_no_room_for_what_does_not_change(models: Path, code: Path) -> None:
    first = _export(models, code, LARGE)
    building = Exports(models, "other").begin(code)
    assert (building / WEIGHTS).samefile(first / WEIGHTS)
    # What is written in place must not be the other export's.
    assert not (building / WHISPER).samefile(first / WHISPER)
    assert not (building / VOICE).samefile(first / VOICE)


def test_texts_are_not_shared_whatever_their_size(models: Path, code: Path) -> None:
    exports = Exports(models, "current")
    tokenizer = "m3_embedder/1/tokenizer.json"
    _write(exports.begin(code), **{tokenizer: LARGE})
    first = exports.finish()
    _write(exports.begin(code), **{tokenizer: "edited"})
    assert (first / tokenizer).read_text(encoding="utf-8") == LARGE


def _no_links(_from: object, _to: object, **_: object) -> None:
    raise OSError(errno.EPERM, "there are no links")


def test_without_hard_links_it_is_a_copy(models: Path, code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _export(models, code, LARGE)
    monkeypatch.setattr(os, "link", _no_links)
    building = Exports(models, "other").begin(code)
    assert (building / WEIGHTS).read_text(encoding="utf-8") == LARGE
    assert not (building / WEIGHTS).samefile(first / WEIGHTS)


def test_a_copy_without_room_is_refused_before_it_begins(
    models: Path, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _export(models, code, LARGE)
    monkeypatch.setattr(os, "link", _no_links)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1))
    with pytest.raises(SourceError, match="of a copy of the export before"):
        Exports(models, "other").begin(code)
    assert not (models / ".building-other").exists()


def test_with_links_no_room_is_asked_for(models: Path, code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _export(models, code, LARGE)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1))
    assert Exports(models, "other").begin(code).is_dir()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_one_sentence(
    models: Path, code: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), str(models))

    monkeypatch.setattr(shutil, "copy", full)
    assert publish.main(["--models", str(models), "--code", str(code)]) == 2
    assert capsys.readouterr().err == (
        f"export stopped: the disk of {models} is full: make room and start again; what is finished stays\n"
    )


E5 = "added_e5"


def _with_e5(models: Path, code: Path, price: int) -> Path:
    exports = Exports(models, "current")
    described = {f"{E5}/1/model.json": f"price {price}", f"{E5}/1/exported.json": '{"source": "models"}'}
    _write(exports.begin(code), **described)
    export = exports.finish()
    exports.select(export)
    return export


def test_another_description_of_an_added_model_is_another_export(models: Path, code: Path) -> None:
    first = _with_e5(models, code, 1)
    assert _with_e5(models, code, 1) == first
    second = _with_e5(models, code, 2)
    assert second != first
    assert [(each / E5 / "1/model.json").read_text(encoding="utf-8") for each in (first, second)] == [
        "price 1",
        "price 2",
    ]


def test_an_added_model_stays_and_its_configurations_are_made_again(models: Path, code: Path) -> None:
    _write(_with_e5(models, code, 1), **{f"{E5}/config.pbtxt": "old", f"{E5}/configs/gpu.pbtxt": "old"})
    folder = Exports(models, "current").begin(code) / E5
    assert {path.name for path in folder.rglob("*") if path.is_file()} == {"exported.json", "model.json"}
