"""What ``python -m lab.containers`` and the images rely on, as far as no container engine is needed to know it."""

import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT
from tests.examples import samples

_PACKAGES = Path(sysconfig.get_path("purelib"))


def test_every_curl_example_of_the_first_calls_has_an_answer() -> None:
    page = ROOT / "docs" / "start.md"
    found = [sample for sample in samples(page) if sample.text.startswith("curl ")]
    assert len(found) == len(re.findall(r"^curl ", page.read_text(encoding="utf-8"), re.MULTILINE)) > 0
    assert [sample.text for sample in found if not sample.begins and "-o hello.wav" not in sample.text] == []


@pytest.mark.parametrize(
    "file", ["compose.embedded.yaml", "compose.ports.yaml", "compose.registry.yaml", "lab/containers/stores.yaml"]
)
def test_an_additional_compose_file_changes_existing_services_alone(file: str) -> None:
    services = [
        yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))["services"].keys() for name in ("compose.yaml", file)
    ]
    assert services[1] <= services[0]


def test_the_files_that_the_image_leaves_out_exist_in_the_packages() -> None:
    spec = importlib.util.spec_from_file_location("slim", ROOT / "docker" / "slim.py")
    assert spec is not None
    assert spec.loader is not None
    slim = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(slim)
    patterns = [*slim._UNREAD, *(f"av.libs/{library}" for library in slim._UNCALLED)]
    assert [pattern for pattern in patterns if "**" not in pattern and not list(_PACKAGES.glob(pattern))] == []


def test_the_frontend_is_imported_without_optional_packages() -> None:
    code = """
import runpy, sys
sys.modules |= dict.fromkeys(("pandas", "pyarrow", "ray"))
runpy.run_path("docker/slim.py")["import_all"]()
sys.exit(0 if {"frontend.app", "client.bulk.cluster"} <= sys.modules.keys() else "it was not imported")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def pinning(tmp_path: Path) -> tuple[Path, Path]:
    """A copy of the files with images, and a folder with a skopeo whose registry lacks NVIDIA's."""
    checkout, programs = tmp_path / "checkout", tmp_path / "bin"
    shutil.copytree(ROOT / "docker", checkout / "docker")
    shutil.copy(ROOT / "compose.yaml", checkout)
    programs.mkdir()
    (programs / "skopeo").write_text(
        '#!/bin/sh\ncase $3 in *nvcr.io*) exit 1 ;; esac\nprintf %s "$3"\n', encoding="utf-8"
    )
    (programs / "skopeo").chmod(0o755)
    return checkout, programs


def test_pins_are_the_digests_of_the_tags_and_what_a_registry_does_not_tell_stays(pinning: tuple[Path, Path]) -> None:
    checkout, programs = pinning
    environ = {"PATH": f"{programs}:/usr/bin:/bin"}
    command = [str(checkout / "docker" / "pin.sh")]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, "nvcr.io" in done.stderr) == (1, True)
    redis = "docker.io/library/redis:8.2.9-bookworm"
    digest = f"sha256:{hashlib.sha256(f'docker://{redis}'.encode()).hexdigest()}"
    texts = {path: (checkout / path).read_text(encoding="utf-8") for path in _PINNED}
    assert f"image: {redis}@{digest}\n" in texts["compose.yaml"]
    values = yaml.safe_load(texts["docker/helm/quartet/values.yaml"])["images"]
    assert values["redis"]["digest"] == digest != values["postgres"]["digest"]
    # Nothing but digests has changed.
    for path, text in texts.items():
        before = (ROOT / path).read_text(encoding="utf-8")
        assert re.sub(r"[0-9a-f]{64}", "", text) == re.sub(r"[0-9a-f]{64}", "", before)
        assert (text == before) == (path == "docker/triton.Dockerfile")


_PINNED = ("compose.yaml", "docker/helm/quartet/values.yaml", "docker/frontend.Dockerfile", "docker/triton.Dockerfile")


# Fails if its command matches a pattern of LACKING; writes down what it is asked for.
_PROGRAM = """#!/bin/sh
case " $* " in *" -m venv "*)
  for last; do :; done
  mkdir -p "$last/bin" && cp "$0" "$last/bin/pip" && cp "$0" "$last/bin/uv"
  exit
esac
echo "$(basename "$0") $*" >> {log}
set -f
for pattern in $LACKING; do case "$(basename "$0") $*" in $pattern) exit 1 ;; esac; done
"""


@pytest.mark.parametrize(
    ("lacking", "torch", "ways", "is_built"),
    [
        ("", "cpu", ["python cpu"], True),
        ("python*-cpu.txt", "cpu", ["python cpu", "uv cpu"], True),
        ("*-cpu.txt", "cpu", ["python cpu", "uv cpu"], False),
        ("*-cpu.txt", "cuda", ["python cuda"], True),
    ],
    ids=["pip's index has it", "PyTorch's index has it", "none has it", "with CUDA"],
)
def test_the_exports_image_takes_a_pytorch_without_cuda(
    tmp_path: Path, lacking: str, torch: str, ways: list[str], is_built: bool
) -> None:
    text = (ROOT / "docker" / "export.Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    (run,) = [line for line in re.findall(r"^RUN (?:--mount=\S+)? *(.*)$", text, re.MULTILINE) if "TORCH" in line]
    program, log = tmp_path / "python", tmp_path / "log"
    program.write_text(_PROGRAM.format(log=log), encoding="utf-8")
    program.chmod(0o755)
    run = run.replace("/tmp/uv", str(tmp_path / "uv")).replace("/opt/quartet", str(tmp_path / "quartet"))
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PIP": "python -m pip", "LACKING": lacking, "TORCH": torch}
    done = subprocess.run(["sh", "-c", run], cwd=ROOT, env=environ, check=False)
    assert (done.returncode == 0) == is_built
    asked = log.read_text(encoding="utf-8")
    assert [" ".join(way) for way in re.findall(r"^(\w+) .*requirements-(\w+)\.txt$", asked, re.MULTILINE)] == ways
    assert "-r scripts/export_models/requirements.txt" in asked


def test_an_image_is_built_with_the_version_and_its_own_base(tmp_path: Path) -> None:
    podman = tmp_path / "podman"
    podman.write_text('#!/bin/sh\n[ "$1" = image ] || printf "<%s>" "$@"\n', encoding="utf-8")
    podman.chmod(0o755)
    command = [str(ROOT / "docker" / "build.sh"), "--base", "export=debian:12", "export", "frontend"]
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "BUILDER": "podman"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for name, given in zip(("export", "frontend"), done.stdout.split("<build>")[1:], strict=True):
        assert f"<localhost/quartet/{name}:{version}>" in given
        assert f"<VERSION={version}>" in given
        assert ("<BASE=debian:12>" in given) == (name == "export")
