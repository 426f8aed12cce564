import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.export_models import stamp
from scripts.export_models.stamp import Stamp
from scripts.local_triton import checks, settings
from scripts.local_triton.assemble import assemble_backends, environment
from scripts.local_triton.checks import PreflightError, find_wheel
from tests.conftest import ROOT

SECRET = 32 * "5"


def test_the_backends_are_triton_pythons_with_this_interpreters_stub_and_the_stand_in(tmp_path: Path) -> None:
    (tmp_path / "backends" / "of-an-earlier-run").mkdir(parents=True)
    folder = assemble_backends(find_wheel(), tmp_path / "backends")
    assert sorted(path.name for path in folder.iterdir()) == ["onnxruntime", "python"]
    assert os.access(folder / "python" / "triton_python_backend_stub", os.X_OK)
    assert (folder / "onnxruntime" / "model.py").is_file()


def test_the_server_finds_its_libraries_and_this_interpreter_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/lib")
    wheel, interpreter = find_wheel(), Path(sys.executable)
    values = environment(wheel, Path("/python/lib"), interpreter)
    assert values["PATH"] == f"{interpreter.parent}:/usr/bin"
    assert values["LD_LIBRARY_PATH"] == f"/python/lib:{wheel.libraries}:/opt/lib"


def test_the_environment_overrides_the_variables_of_every_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")
    values = environment(find_wheel(), Path("/python/lib"), Path(sys.executable))
    assert (values["OMP_NUM_THREADS"], values["ORT_DISABLE_TELEMETRY"]) == ("1", "0")


def test_this_machine_passes() -> None:
    checks.check_glibc()
    checks.check_numpy()
    checks.check_stub(checks.find_wheel())
    checks.find_libpython()
    checks.check_port(checks.free_port())


def test_a_free_port_is_not_given_to_two() -> None:
    assert len({checks.free_port() for _ in range(50)}) == 50


def test_an_old_glibc_is_named() -> None:
    with pytest.raises(PreflightError, match=r"glibc 2\.31"):
        checks.check_glibc("2.31")


def test_numpy_2_is_refused() -> None:
    with pytest.raises(PreflightError, match="numpy<2"):
        checks.check_numpy("2.1.0")


def test_a_missing_stub_is_named(tmp_path: Path) -> None:
    with pytest.raises(PreflightError, match="no Python stub"):
        checks.check_stub(replace(checks.find_wheel(), stub=tmp_path / "none"))


def test_a_missing_libpython_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(PreflightError, match="apt-get install libpython3"):
        checks.find_libpython([tmp_path])


@pytest.mark.parametrize("strange", [" ", "é", "$", "'", ";", ":", "(", "~", "\n"])
def test_a_path_that_a_shell_would_not_take_as_it_is_is_refused(strange: str) -> None:
    with pytest.raises(PreflightError, match=f"because of the {re.escape(repr(strange))}: use a folder"):
        checks.check_path(Path(f"/home/me/a{strange}b/quartet"))


def test_a_path_that_a_shell_takes_as_it_is_passes() -> None:
    checks.check_path(Path("/home/me/Quartet-0.1_b,c=d@e%f+g"))


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A folder as it is in the image, with a ``tritonserver`` that prints what it is given."""
    for name in ("model_repository/triton.args", "model_repository/triton.env", "docker/triton.sh"):
        shutil.copy(ROOT / name, tmp_path)
    server = tmp_path / "tritonserver"
    printed = '"OMP_NUM_THREADS=$OMP_NUM_THREADS" "GLIBC_TUNABLES=$GLIBC_TUNABLES" "$@"'
    server.write_text(f'#!/bin/sh\nprintf "%s\\n" {printed}\n', encoding="utf-8")
    server.chmod(0o755)
    models = tmp_path / "exports" / "first"
    (models / "m3_embedder").mkdir(parents=True)
    shutil.copy(ROOT / "model_repository" / "m3_embedder" / "config.pbtxt", models / "m3_embedder")
    stamp.write(models, "m3_embedder", Stamp())
    (tmp_path / "current").symlink_to(models)
    return tmp_path


def _environment(image: Path) -> dict[str, str]:
    """``python3`` is that of these tests."""
    path = f"{image}:{Path(sys.executable).parent}:/usr/bin:/bin"
    values = {"PATH": path, "APP": str(ROOT), "TMPDIR": str(image), "MODEL_REPOSITORY": str(image / "current")}
    return {**values, "QUARTET_TRITON_SECRET": SECRET}


def _started(image: Path, *arguments: str, **variables: str) -> list[str]:
    environment = _environment(image) | variables
    done = subprocess.run(
        [image / "triton.sh", *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_the_image_starts_triton_with_the_arguments_of_the_launcher_before_its_own(image: Path) -> None:
    repository = f"--model-repository={image / 'repository'}"
    arguments = [*settings.arguments(SECRET), repository, "--load-model=*", "a b"]
    assert _without_secrets(_started(image, "--load-model=*", "a b")[2:]) == _without_secrets(arguments)


def test_each_start_closes_what_nobody_calls_by_another_value_and_model_control_by_the_secret(image: Path) -> None:
    for arguments in ([_started(image), _started(image)], [settings.arguments(SECRET), settings.arguments(SECRET)]):
        first, second = ([each for each in every if "-restricted-" in each] for every in arguments)
        assert _without_secrets(first) == _without_secrets(second) != first != second
        assert len(first) == 4
        assert [each.partition("=")[2] for each in first[2:]] == [f"model-repository:quartet={SECRET}"] * 2


def test_the_image_reads_the_secret_from_a_file(image: Path) -> None:
    (image / "secret").write_text(f"of-the-file-{SECRET}\n", encoding="utf-8")
    started = _started(image, QUARTET_TRITON_SECRET="", QUARTET_TRITON_SECRET_FILE=str(image / "secret"))
    assert len([each for each in started if each.endswith(f"model-repository:quartet=of-the-file-{SECRET}")]) == 2


@pytest.mark.parametrize("variables", [{}, {"QUARTET_TRITON_SECRET_FILE": "/dev/null"}], ids=["none", "empty"])
def test_the_image_does_not_start_without_a_secret(image: Path, variables: dict[str, str]) -> None:
    environment = _environment(image) | {"QUARTET_TRITON_SECRET": ""} | variables
    done = subprocess.run([image / "triton.sh"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "QUARTET_TRITON_SECRET" in done.stderr


def _without_secrets(arguments: list[str]) -> list[str]:
    return [re.sub(r":quartet=[0-9a-f]{32}$", ":quartet=", each) for each in arguments]


def test_the_image_reads_the_export_that_was_selected_when_it_started(image: Path) -> None:
    _started(image)
    model = image / "repository" / "m3_embedder"
    assert (model / "config.pbtxt").readlink() == image / "exports" / "first" / "m3_embedder" / "config.pbtxt"
    assert (model / "configs" / "machine.pbtxt").is_file()


def test_the_image_has_the_variables_of_the_launcher(image: Path) -> None:
    names = ("OMP_NUM_THREADS", "GLIBC_TUNABLES")
    assert _started(image)[:2] == [f"{name}={settings.variables()[name]}" for name in names]


def test_a_variable_of_the_environment_is_kept(image: Path) -> None:
    assert _started(image, OMP_NUM_THREADS="4")[0] == "OMP_NUM_THREADS=4"


def test_triton_has_explicit_model_control_and_does_not_complete_configurations() -> None:
    assert {"--model-control-mode=explicit", "--disable-auto-complete-config"} <= set(settings.arguments(SECRET))


def test_sigterm_reaches_triton_and_the_image_ends_with_its_exit_code(image: Path) -> None:
    (image / "tritonserver").write_text(
        '#!/bin/bash\ntrap "echo ended; exit 7" TERM\necho started\nwhile :; do sleep 0.05; done\n',
        encoding="utf-8",
    )
    environment = _environment(image)
    with subprocess.Popen([image / "triton.sh"], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.terminate()
        assert process.stdout.read() == "ended\n"
    assert process.returncode == 7
