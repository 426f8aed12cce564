"""Build the manual: the pages that ``mkdocs.yml`` lists, as files that a web server, or a browser alone, can show.

    make docs DOCS="--into /srv/manual"

Each version has a folder of its own there. The pages offer the other versions that are in it.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from frontend.catalogue.version import VERSION

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "mkdocs.yml"
_WORK = ROOT / "build" / "manual"
# What pages show, besides other pages.
_FOLDERS = ("docs/pictures", "docs/theme")
# Samples that say the same follow one another, each in its own language.
_TABS = {"bash": "curl", "python": "Python", "js": "Node"}
_FENCE = r"^```(?:bash|python|js)\b.*\n(?:(?!```).*\n)*```\n"
_SAME = re.compile(rf"(?:{_FENCE}\n?){{2,}}", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_VERSION = re.compile(r"\d+(\.\d+)+")


def pages() -> list[str]:
    """The pages of the manual in order, by their paths in the checkout."""
    return re.findall(r"[\w./-]+\.md", CONFIG.read_text(encoding="utf-8").partition("\nnav:\n")[2])


def with_tabs(text: str) -> str:
    """Neighbouring samples in different languages become tabs of one."""

    def tabs(match: re.Match[str]) -> str:
        fences = re.findall(_FENCE, match[0], re.MULTILINE)
        languages = [re.match(r"```(\w+)", fence)[1] for fence in fences]  # type: ignore[index]
        if len({*languages}) < len(languages):
            return match[0]
        indented = (re.sub(r"^(?=.)", "    ", fence, flags=re.MULTILINE) for fence in fences)
        parts = [f'=== "{_TABS[language]}"\n\n{fence}' for language, fence in zip(languages, indented, strict=True)]
        return "\n".join(parts) + "\n"

    return _SAME.sub(tabs, text)


def with_own_links(page: str, text: str, known: Iterable[str]) -> str:
    """Links to files of the checkout that are not in the manual become their names."""
    folder = os.path.dirname(page)

    def link(match: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(folder, match[2]))
        if target in known or target.startswith(_FOLDERS) or not (ROOT / target).exists():
            # In the manual, of another host, or broken, which ends the build.
            return match[0]
        return f"`{target}`" if match[1].strip("`") == target else f"{match[1]} (`{target}`)"

    return _LINK.sub(link, text)


def stage(into: Path) -> None:
    """Write the pages into a folder, as the generator reads them."""
    shutil.rmtree(into, ignore_errors=True)
    found = pages()
    for page in found:
        (into / page).parent.mkdir(parents=True, exist_ok=True)
        text = (ROOT / page).read_text(encoding="utf-8")
        (into / page).write_text(with_own_links(page, with_tabs(text), {*found}), encoding="utf-8")
    for folder in _FOLDERS:
        shutil.copytree(ROOT / folder, into / folder)


def list_versions(folder: Path) -> list[str]:
    """Write which versions are in a folder, for the pages' menu, and a page that leads to the newest; newest first."""
    found = [path.name for path in folder.iterdir() if _VERSION.fullmatch(path.name)]
    found.sort(key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    rows = [{"version": name, "title": name, "aliases": ["latest"] if name == found[0] else []} for name in found]
    (folder / "versions.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    page = f'<!doctype html><meta http-equiv="refresh" content="0; url={found[0]}/index.html"><title>Quartet</title>\n'
    (folder / "index.html").write_text(page, encoding="utf-8")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the manual.")
    parser.add_argument("--into", type=Path, default=_WORK / "site", help="folder of all versions")
    into = parser.parse_args().into.absolute()
    stage(_WORK / "pages")
    built = into / VERSION
    # With --quiet it would ignore --strict; without the variable it tells which generator comes after it.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(CONFIG)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [*command, "--site-dir", str(built)], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stdout + done.stderr, file=sys.stderr)
        return done.returncode
    versions = list_versions(into)
    print(f"the manual is {built}/index.html; versions in {into}: {', '.join(versions)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
