"""A release, in two steps between which somebody reads and commits what changed:

    python -m scripts.release prepare 1.1.0     the version everywhere, and its heading in CHANGELOG.md
    python -m scripts.release make              the tag, wheel and notes in build/release; prints what is left to do

``make release RELEASE="prepare 1.1.0"`` does the same.
"""

import argparse
import datetime
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Where the version of pyproject.toml is repeated, with what stands before it.
PLACES = {
    "pyproject.toml": r'^name = "quartet"\nversion = "',
    "frontend/catalogue/version.py": r'^VERSION = "',
    "compose.yaml": r"\$\{TAG:-",
    "compose.embedded.yaml": r"\$\{TAG:-",
    ".env.example": r"^TAG=",
    "docker/helm/quartet/Chart.yaml": r"^(?:appVersion|version): ",
    "docker/README.md": r"`localhost/quartet/NAME:",
    "docs/kubernetes.md": r"localhost/quartet/\{frontend,export,triton\}:",
}
_NUMBER = r"\d+\.\d+\.\d+"
_UNRELEASED = "## [Unreleased]\n"
_IMAGES = "frontend export triton triton-embedded"


class ReleaseError(Exception):
    """The sentence says what has to be done first."""


def version(root: Path) -> str:
    return str(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def versions(root: Path) -> dict[str, list[str]]:
    """The versions that each place names."""
    return {
        place: re.findall(rf"(?m){before}({_NUMBER})", (root / place).read_text(encoding="utf-8"))
        for place, before in PLACES.items()
    }


def prepare(root: Path, new: str, today: datetime.date) -> None:
    """Write the version to all places, and give what is unreleased its heading."""
    if not re.fullmatch(_NUMBER, new):
        raise ReleaseError(f"{new}: must be three numbers, such as 1.1.0")
    if _numbers(new) <= _numbers(version(root)):
        raise ReleaseError(f"{new}: must come after {version(root)}")
    changes = root / "CHANGELOG.md"
    text = changes.read_text(encoding="utf-8")
    if not _section(text, "Unreleased"):
        raise ReleaseError("CHANGELOG.md: nothing is unreleased")
    changes.write_text(text.replace(_UNRELEASED, f"{_UNRELEASED}\n## [{new}] - {today}\n", 1), encoding="utf-8")
    for place, before in PLACES.items():
        file = root / place
        written = re.sub(rf"(?m)({before}){_NUMBER}", rf"\g<1>{new}", file.read_text(encoding="utf-8"))
        file.write_text(written, encoding="utf-8")


def make(root: Path, into: Path) -> str:
    """Build the wheel, write the notes and tag the commit; returns what is left to do."""
    new = version(root)
    tag, notes = f"v{new}", into / f"notes-{new}.md"
    if _git(root, "status", "--porcelain"):
        raise ReleaseError("commit or stash what has changed first")
    if _git(root, "tag", "--list", tag):
        raise ReleaseError(f"{tag} is there already")
    if others := [place for place, found in versions(root).items() if {*found} != {new}]:
        raise ReleaseError(f"{', '.join(others)}: must name {new}, as pyproject.toml does")
    text = _section((root / "CHANGELOG.md").read_text(encoding="utf-8"), new)
    if not text:
        raise ReleaseError(f"CHANGELOG.md: there is no {new}")
    into.mkdir(parents=True, exist_ok=True)
    notes.write_text(text, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(into), str(root)], check=True)
    # Last, so that what fails before can be tried again.
    _git(root, "tag", "--annotate", tag, "--file", str(notes), "--cleanup", "verbatim")
    return f"""{tag} is this commit; {into} has the wheel and the notes. Then:
  git push origin {tag}
  REGISTRY=registry.example/quartet docker/build.sh --push {_IMAGES}
  make sbom docs"""


def _section(text: str, name: str) -> str:
    """What the changelog has under a version, without its heading."""
    found = re.search(rf"^## \[{re.escape(name)}\].*\n((?:(?!## ).*\n?)*)", text, re.MULTILINE)
    return found[1].strip() + "\n" if found and found[1].strip() else ""


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(".")]


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(done.stderr.strip())
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description="Prepare or make a release.")
    steps = parser.add_subparsers(dest="step", required=True)
    steps.add_parser("prepare").add_argument("version")
    steps.add_parser("make")
    given = parser.parse_args()
    try:
        if given.step == "prepare":
            prepare(ROOT, given.version, datetime.datetime.now(datetime.UTC).date())
            print(f"read and commit what names {given.version} now, then: make release RELEASE=make")
        else:
            print(make(ROOT, ROOT / "build" / "release"))
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
