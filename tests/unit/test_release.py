"""A release: one version in all places, its notes, its wheel and its tag."""

import datetime
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from frontend.catalogue.version import VERSION
from frontend.config.settings import Settings
from frontend.pages.openapi import document
from scripts import release
from scripts.release import ReleaseError
from tests.conftest import ROOT

TODAY = datetime.date(2026, 11, 28)
CHANGES = """# Changelog

## [Unreleased]

### Added
- a thing

## [0.0.9] - 2026-01-01

- old
"""


def _git(folder: Path, *words: str) -> str:
    own = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    return subprocess.run(["git", *own, *words], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the files that name the version, and packages that can be built."""
    for variable in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{variable}_NAME", "a")
        monkeypatch.setenv(f"{variable}_EMAIL", "a@example.com")
    folder = tmp_path / "checkout"
    for place in (*release.PLACES, "README.md", "frontend/__init__.py", "client/__init__.py"):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / place, folder / place)
    (folder / "CHANGELOG.md").write_text(CHANGES, encoding="utf-8")
    _git(folder, "init", "--quiet")
    _commit(folder)
    return folder


def _commit(folder: Path) -> None:
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message", "all")


def test_every_place_names_the_version_of_the_project() -> None:
    found = release.versions(ROOT)
    assert {place: {*names} for place, names in found.items()} == dict.fromkeys(release.PLACES, {release.version(ROOT)})


def test_no_other_file_that_is_shipped_names_the_version() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    shipped = [name for name in listed if re.match(r"(compose|docker|frontend|client|\.env)", name)]
    named = rf"(?<![\d.]){re.escape(VERSION)}(?![\d.])"
    texts = {name: (ROOT / name).read_text(encoding="utf-8", errors="ignore") for name in shipped}
    found = {name for name, text in texts.items() if re.search(named, text) and "requirements" not in name}
    assert found <= {*release.PLACES}


def test_the_chart_compose_and_the_api_document_name_it() -> None:
    chart = yaml.safe_load((ROOT / "docker" / "helm" / "quartet" / "Chart.yaml").read_text(encoding="utf-8"))
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    images = [service["image"] for service in services.values() if "REGISTRY" in service.get("image", "")]
    own = release.version(ROOT)
    assert (chart["version"], chart["appVersion"], document(Settings())["info"]["version"], VERSION) == (own,) * 4
    assert images
    assert [image for image in images if f"${{TAG:-{own}}}" not in image] == []


def test_a_release_is_prepared_made_and_tagged(checkout: Path, tmp_path: Path) -> None:
    release.prepare(checkout, "7.8.9", TODAY)
    assert {name for names in release.versions(checkout).values() for name in names} == {"7.8.9"}
    changes = (checkout / "CHANGELOG.md").read_text(encoding="utf-8")
    assert changes.startswith("# Changelog\n\n## [Unreleased]\n\n## [7.8.9] - 2026-11-28\n\n### Added\n- a thing\n")
    _commit(checkout)
    said = release.make(checkout, tmp_path / "release")
    (wheel,) = (tmp_path / "release").glob("*.whl")
    assert wheel.name == "quartet-7.8.9-py3-none-any.whl"
    assert (tmp_path / "release" / "notes-7.8.9.md").read_text(encoding="utf-8") == "### Added\n- a thing\n"
    assert "### Added\n- a thing" in _git(checkout, "tag", "--list", "--format=%(contents)", "v7.8.9")
    assert "git push origin v7.8.9" in said
    with pytest.raises(ReleaseError, match="v7.8.9 is there already"):
        release.make(checkout, tmp_path / "release")


@pytest.mark.parametrize("version", ["0.0.9", VERSION, "1.0", "v9.0.0", "9.0.0rc1"])
def test_a_version_that_is_none_or_comes_not_after_is_refused(checkout: Path, version: str) -> None:
    with pytest.raises(ReleaseError, match=rf"{version}: must "):
        release.prepare(checkout, version, TODAY)
    assert _git(checkout, "status", "--porcelain") == ""


def test_a_release_without_changes_is_refused(checkout: Path) -> None:
    release.prepare(checkout, "7.8.9", TODAY)
    with pytest.raises(ReleaseError, match="nothing is unreleased"):
        release.prepare(checkout, "7.9.0", TODAY)


def test_what_is_not_committed_prepared_or_agreed_on_is_not_released(checkout: Path, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=f"there is no {re.escape(VERSION)}"):
        release.make(checkout, tmp_path / "release")
    release.prepare(checkout, "7.8.9", TODAY)
    with pytest.raises(ReleaseError, match="commit or stash"):
        release.make(checkout, tmp_path / "release")
    chart = checkout / "docker" / "helm" / "quartet" / "Chart.yaml"
    chart.write_text(chart.read_text(encoding="utf-8").replace("appVersion: 7.8.9", "appVersion: 7.8.8"))
    _commit(checkout)
    with pytest.raises(ReleaseError, match=r"Chart\.yaml: must name 7\.8\.9"):
        release.make(checkout, tmp_path / "release")
    assert _git(checkout, "tag") == ""
