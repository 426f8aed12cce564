"""What is wrong is said in one sentence before anything is installed."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from frontend.catalogue.kokoro import DEMO_SPEAKERS
from scripts.export_models import checkpoints, space, stamp
from scripts.export_models.plan import MODELS, models_of
from scripts.export_models.sources import source_of
from scripts.export_models.stamp import Stamp
from scripts.local_triton.checks import PreflightError, free_port
from scripts.run import preflight
from scripts.run.preflight import Choice
from tests.conftest import ROOT

RUN = Choice("run")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without models and virtual environment, as a fresh clone is."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        (replace(RUN, port="99999"), "PORT=99999"),
        (replace(RUN, port="0"), "PORT=0"),
        (replace(RUN, port="٣"), "PORT=٣"),
        (replace(RUN, port=""), "PORT=:"),
        (replace(RUN, models="nonsense"), "MODELS=nonsense: must be one of demo, hub, folder"),
        (replace(RUN, models="demo", folder="x"), "FOLDER=x goes with MODELS=folder"),
        (replace(RUN, models="folder"), "MODELS=folder needs FOLDER="),
        (replace(RUN, models="folder", folder="/nowhere"), "FOLDER=/nowhere: there is no such folder"),
        (replace(RUN, voices_folder="/nowhere"), "VOICES_FOLDER=/nowhere: there is no such folder"),
        (replace(RUN, facts="/nowhere"), "FACTS=/nowhere: there is no such file"),
        (replace(RUN, precision="fp16"), "PRECISION=fp16: must be one of auto, int8, bf16, fp32"),
        (Choice("export", precision="int4"), "PRECISION=int4: must be one of auto, int8, bf16, fp32, fp16"),
    ],
)
def test_a_wrong_choice_is_named(choice: Choice, sentence: str) -> None:
    with pytest.raises(PreflightError, match=sentence):
        preflight.check(choice)


def test_an_added_voice_that_cannot_be_served_is_named_at_the_start(tmp_path: Path) -> None:
    for name in ("eva", "ryan"):
        (tmp_path / f"{name}.onnx").touch()
    assert preflight.faults_of_voices(replace(RUN, voices_folder=str(tmp_path))) == [
        f"piper_eva will not be served: {tmp_path}/eva.onnx is missing or empty",
        f"{tmp_path}/ryan.onnx is left out: there is a voice ryan already",
    ]


@pytest.mark.parametrize(
    ("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")]
)
def test_a_busy_port_is_named_and_who_listens_there(family: socket.AddressFamily, address: str) -> None:
    with socket.create_server((address, 0), family=family, dualstack_ipv6=family == socket.AF_INET6) as taken:
        port = taken.getsockname()[1]
        who = rf"port {port} is busy, \S+ \(process {os.getpid()}\) listens there; stop it or choose another$"
        with pytest.raises(PreflightError, match=who):
            preflight.check(replace(RUN, port=str(port)))


def test_a_busy_port_of_somebody_unknown_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "readlink", Mock(side_effect=PermissionError))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PreflightError, match=f"port {port} is busy; stop what listens there or choose another"):
            preflight.check(replace(RUN, port=str(port)))


@pytest.mark.parametrize("name", ["a b", "é"])
def test_a_folder_that_triton_cannot_run_in_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / name)
    with pytest.raises(PreflightError, match=f"Triton cannot run in {tmp_path / name}"):
        preflight.check(RUN)


def test_a_folder_of_state_that_triton_cannot_run_in_is_named() -> None:
    with pytest.raises(PreflightError, match="Triton cannot run in .*/my state"):
        preflight.check(replace(RUN, state=Path("my state")))


@pytest.mark.parametrize(
    ("memory", "disk", "sentence"),
    [
        (2 * 10**9, 10**12, "needs 5 GB of memory, and 2.0 GB may be used"),
        (
            10**11,
            10**9,
            r"7.0 GB of disk are needed \(3.5 GB of .*, 1.0 GB of .*, 2.5 GB of exports\), .* 1.0 GB free",
        ),
    ],
)
def test_a_machine_that_is_too_small_is_an_error(
    monkeypatch: pytest.MonkeyPatch, memory: int, disk: int, sentence: str
) -> None:
    monkeypatch.setattr(preflight, "memory_bytes", lambda: memory)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=disk))
    with pytest.raises(PreflightError, match=sentence):
        preflight.check_machine(RUN)


def test_a_hub_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setenv("HF_ENDPOINT", address)
    with pytest.raises(PreflightError, match=f"the model hub {address} cannot be reached .*Connection refused"):
        preflight.check_source(source_of("hub", None, Path()))


def _said(choice: Choice) -> list[str]:
    return [line.strip() for line in preflight.plan(choice).splitlines()[1:]]


def _export(models: Iterable[str], source: str) -> None:
    Path(".venv").mkdir(exist_ok=True)
    Path(".venv/installed").touch()
    for model in models:
        (Path("model_repository") / model / "1").mkdir(parents=True, exist_ok=True)
        stamp.write(Path("model_repository"), model, Stamp(source=source))


def test_the_first_start_says_what_it_takes() -> None:
    assert _said(RUN) == [
        "3.5 GB of packages and what their installer keeps, 1 to 5 minutes",
        "1.0 GB of downloads, unpacked",
        "2.5 GB of exports, made here in 3 to 7 minutes",
    ]
    assert _said(replace(RUN, models="hub"))[1:] == ["9.7 GB of downloads", "12.0 GB of exports"]


def test_a_machine_as_the_readme_asks_for_is_large_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    found = re.search(r"(\d+) GB of free disk and (\d+) GB of memory for the demo", (ROOT / "README.md").read_text())
    assert found
    disk, memory = (int(number) * 10**9 for number in found.groups())
    monkeypatch.setattr(preflight, "memory_bytes", lambda: memory)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=disk))
    preflight.check_machine(RUN)


@pytest.mark.parametrize("source", ["demo", "hub"])
def test_exported_models_need_nothing_more(source: str) -> None:
    _export(models_of(replace(RUN, models=source).speakers), source)
    assert _said(replace(RUN, models=source)) == []


def test_after_the_demo_the_real_models_are_checked_as_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    _export(models_of(DEMO_SPEAKERS), "demo")
    assert _said(replace(RUN, models="hub"))[0] == "9.7 GB of downloads"
    monkeypatch.setattr(preflight, "memory_bytes", lambda: 10**11)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10**12))
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(PreflightError, match="the model hub .* cannot be reached"):
        preflight.check(replace(RUN, models="hub", port=str(free_port())))


def test_the_last_of_ten_models_asks_for_its_own_room_alone() -> None:
    _export((model for model in MODELS if model != "whisper_large_v3"), "hub")
    assert _said(replace(RUN, models="hub")) == ["3.1 GB of downloads", "4.7 GB of exports"]
    come = space.WORK / "hub" / checkpoints.WHISPER_LARGE.repository / ".cache" / "model.incomplete"
    come.parent.mkdir(parents=True)
    with come.open("wb") as file:
        file.truncate(3_000_000_000)
    assert _said(replace(RUN, models="hub"))[0] == "100 MB of downloads"


def test_it_needs_nothing_but_the_standard_library() -> None:
    code = (
        "import sys; sys.path.append('.'); import scripts.run.preflight, scripts.run.__main__, scripts.install.__main__"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=ROOT, check=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files under the names of every checkpoint, which say what they are and hold nothing."""
    kinds = {checkpoints.WHISPER_TURBO: "whisper", checkpoints.WHISPER_LARGE: "whisper"}
    for checkpoint in (*kinds, checkpoints.EMBEDDER, checkpoints.RERANKER, checkpoints.VOICES):
        for name in checkpoint.files:
            path = tmp_path / "checkpoints" / checkpoint.repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            said = {"model_type": kinds.get(checkpoint, "xlm-roberta"), "phoneme_id_map": {}}
            sizes = {"hidden_size": 1024, "max_position_embeddings": 8194}
            sizes |= {"num_mel_bins": 128, "feature_size": 128, "chunk_length": 30}
            path.write_text(json.dumps(said | sizes), encoding="utf-8")
    return tmp_path / "checkpoints"


def test_a_folder_of_checkpoints_passes(folder: Path) -> None:
    assert preflight.check_source(source_of("folder", folder, folder)) == []


def test_a_fault_in_a_folder_is_named(folder: Path) -> None:
    (folder / "openai/whisper-large-v3/config.json").write_text("")
    (line,) = preflight.check_source(source_of("folder", folder, folder))
    assert re.match(r"whisper_large_v3 will not be served: .*config\.json is empty", line)


def test_an_embedder_of_the_wrong_width_is_named(folder: Path) -> None:
    config = folder / "BAAI" / "bge-m3" / "config.json"
    config.write_text(config.read_text(encoding="utf-8").replace("1024", "768"), encoding="utf-8")
    (line,) = preflight.check_source(source_of("folder", folder, folder))
    assert re.match("m3_embedder will not be .* gives vectors of 768 numbers, and m3_embedder promises 1024", line)


def test_a_folder_that_can_give_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PreflightError, match="does not exist"):
        preflight.check_source(source_of("folder", tmp_path, tmp_path))
