from pathlib import Path

import pytest

from frontend.catalogue.exports import Export, read_export, read_exports
from scripts.export_models import stamp
from scripts.export_models.stamp import Stamp
from tests.conftest import ROOT


def test_what_an_export_wrote_is_read(tmp_path: Path) -> None:
    stamp.write(tmp_path, "m", Stamp(way="fp32", skipped=["int8: error is 0.3", "bf16: error is 0.2"]))
    export = read_export(tmp_path, "m")
    assert export == Export("fp32", ("int8: error is 0.3", "bf16: error is 0.2"))
    assert export.skipped_ways == ("int8", "bf16")


def test_a_model_that_could_not_be_exported_says_why(tmp_path: Path) -> None:
    stamp.write(tmp_path, "m", Stamp(failed="damaged"))
    assert read_export(tmp_path, "m") == Export(failed="damaged")


@pytest.mark.parametrize(
    "written",
    ["", "{", "[]", "null", '{"way": 1, "skipped": "int8", "failed": null}', '{"fingerprint": "of an older export"}'],
)
def test_a_repository_from_elsewhere_says_nothing(tmp_path: Path, written: str) -> None:
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "exported.json").write_text(written, encoding="utf-8")
    assert read_export(tmp_path, "m") == read_export(tmp_path, "missing") == Export()


def test_the_demos_models_say_how_they_were_exported() -> None:
    found = read_exports(ROOT / "model_repository", ["m3_embedder", "whisper_turbo"])
    assert all(export.way and not export.failed for export in found.values())
