"""One list of arguments and one of variables for the launcher and for the image."""

import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.local_triton import settings
from tests.conftest import ROOT


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A folder as it is in the image, with a ``tritonserver`` that prints what it is given."""
    for name in ("model_repository/triton.args", "model_repository/triton.env", "docker/triton.sh"):
        shutil.copy(ROOT / name, tmp_path)
    server = tmp_path / "tritonserver"
    printed = '"OMP_NUM_THREADS=$OMP_NUM_THREADS" "GLIBC_TUNABLES=$GLIBC_TUNABLES" "$@"'
    server.write_text(f'#!/bin/sh\nprintf "%s\\n" {printed}\n', encoding="utf-8")
    server.chmod(0o755)
    return tmp_path


def _started(image: Path, *arguments: str, **variables: str) -> list[str]:
    environment = {"PATH": f"{image}:/usr/bin:/bin", **variables}
    done = subprocess.run(
        [image / "triton.sh", *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_the_image_starts_triton_with_the_arguments_of_the_launcher_before_its_own(image: Path) -> None:
    assert _started(image, "--load-model=*", "a b")[2:] == [*settings.arguments(), "--load-model=*", "a b"]


def test_the_image_has_the_variables_of_the_launcher(image: Path) -> None:
    names = ("OMP_NUM_THREADS", "GLIBC_TUNABLES")
    assert _started(image)[:2] == [f"{name}={settings.variables()[name]}" for name in names]


def test_a_variable_that_is_said_is_kept(image: Path) -> None:
    assert _started(image, OMP_NUM_THREADS="4")[0] == "OMP_NUM_THREADS=4"


def test_models_are_controlled_one_by_one_and_never_completed() -> None:
    assert {"--model-control-mode=explicit", "--disable-auto-complete-config"} <= set(settings.arguments())


def test_sigterm_reaches_triton_and_the_image_ends_with_its_exit_code(image: Path) -> None:
    (image / "tritonserver").write_text(
        '#!/bin/bash\ntrap "echo ended; exit 7" TERM\necho started\nwhile :; do sleep 0.05; done\n',
        encoding="utf-8",
    )
    environment = {"PATH": f"{image}:/usr/bin:/bin"}
    with subprocess.Popen([image / "triton.sh"], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.terminate()
        assert process.stdout.read() == "ended\n"
    assert process.returncode == 7
