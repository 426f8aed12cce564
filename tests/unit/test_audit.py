"""The list of a part has what its lock has, and an audit that could not ask never says that all is well."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts.audit import CannotAskError, ask, known_of_node, known_of_python, of_part
from scripts.install.lock import LOCKS, TORCH_CUDA

INSTALLED: dict[str, Any] = {
    "components": [
        {"name": "B_b", "version": "2.0+cpu", "bom-ref": "b"},
        {"name": "other", "version": "1", "bom-ref": "o"},
        {"name": "a", "version": "1", "bom-ref": "a"},
    ],
    "dependencies": [{"ref": "a", "dependsOn": ["o", "b"]}, {"ref": "o"}, {"ref": "b"}],
}
HOLE = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["2"]}
WELL = {"dependencies": [{"name": "a", "version": "1", "vulns": []}]}
NODE_WELL: dict[str, Any] = {"vulnerabilities": {}}


def test_a_parts_list_has_its_packages_and_what_they_need_of_each_other() -> None:
    part = of_part(INSTALLED, {"b-b": "2.0", "a": "1"})
    assert [item["name"] for item in part["components"]] == ["a", "B_b"]
    assert part["dependencies"] == [{"ref": "a", "dependsOn": ["b"]}, {"ref": "b", "dependsOn": []}]


@pytest.mark.parametrize("wanted", [{"a": "2"}, {"c": "1"}])
def test_a_package_that_is_not_installed_as_locked_is_named(wanted: dict[str, str]) -> None:
    with pytest.raises(LookupError, match=f"{next(iter(wanted))}; 'make install'"):
        of_part(INSTALLED, wanted)


def test_what_is_known_has_its_package_and_the_version_that_mends_it() -> None:
    said = json.dumps({"dependencies": [{"name": "a", "version": "1", "vulns": [HOLE]}]})
    assert list(known_of_python(said)) == ["a 1: PYSEC-1 CVE-1, fixed in 2"]


def test_a_package_that_was_left_out_is_no_package_without_holes() -> None:
    left_out = {"name": "b", "skip_reason": "not found on PyPI"}
    with pytest.raises(CannotAskError, match="1 of 2 packages: not found on PyPI"):
        list(known_of_python(json.dumps({"dependencies": [*WELL["dependencies"], left_out]})))


@pytest.mark.parametrize("said", ["", '{"message": "405", "error": {}}', '{"error": {"summary": "405"}}'])
def test_npm_that_could_not_ask_is_no_answer(said: str) -> None:
    with pytest.raises(CannotAskError):
        list(known_of_node(said))


@pytest.fixture
def databases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Sets what pip-audit and npm print."""

    def _print(python: str, node: str) -> None:
        for name, said in ((".venv/audit/bin/python", python), (".venv/clients/bin/npm", node)):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#!/bin/sh\necho \"$*\" >> asked\ncat <<'.'\n{said}\n.\n", encoding="utf-8")
            path.chmod(0o755)

    package = tmp_path / "tests" / "clients" / "node" / "package.json"
    package.parent.mkdir(parents=True)
    package.write_text("{}")
    monkeypatch.chdir(tmp_path)
    return _print


def test_an_audit_without_findings_says_when_it_asked_for_every_lock(
    databases: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    databases(json.dumps(WELL), json.dumps(NODE_WELL))
    assert ask(["--osv-url", "http://mirror"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert all("asked on 20" in line and line.endswith(" UTC, known vulnerabilities: none") for line in printed)
    asked = Path("asked").read_text()
    assert [file for file in (*LOCKS, TORCH_CUDA) if f"-r {file} --osv-url http://mirror" not in asked] == []


def test_an_audit_with_findings_names_them_and_fails(
    databases: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    databases(json.dumps({"dependencies": [{"name": "a", "version": "1", "vulns": [HOLE]}]}), json.dumps(NODE_WELL))
    assert ask([]) == 1
    assert "a 1: PYSEC-1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("python", "node"),
    [("Traceback", json.dumps(NODE_WELL)), (json.dumps(WELL), '{"message": "405"}')],
    ids=["OSV away", "npm away"],
)
def test_a_database_that_is_away_fails_the_audit_and_is_named(
    databases: Callable[[str, str], None], capsys: pytest.CaptureFixture[str], python: str, node: str
) -> None:
    databases(python, node)
    assert ask([]) == 2
    assert "could not be asked, so that nothing is known" in capsys.readouterr().err
