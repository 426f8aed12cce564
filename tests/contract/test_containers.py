"""What ``python -m tests.containers`` and the images rely on, as far as no container engine is needed to know it."""

import importlib.util
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT
from tests.examples import examples

_PACKAGES = Path(sysconfig.get_path("purelib"))


def test_every_curl_example_of_the_first_calls_has_an_answer() -> None:
    found = list(examples(ROOT / "docs" / "start.md"))
    written = re.findall(r"^    curl ", (ROOT / "docs" / "start.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(found) == len(written) > 0
    assert [example.command for example in found if not example.begins and "-o hello.wav" not in example.command] == []


@pytest.mark.parametrize("file", ["compose.embedded.yaml", "compose.registry.yaml", "tests/containers/stores.yaml"])
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
