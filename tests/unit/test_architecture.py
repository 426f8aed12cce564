"""The pictures of the architecture are drawn from their present sources, and it names what there is."""

import hashlib
import re
from pathlib import Path

import pytest

from frontend.catalogue.models import ADDED_PREFIX
from tests.conftest import ROOT
from tests.unit.test_layers import ORDER

PICTURES = ROOT / "docs" / "pictures"
SOURCES = sorted(PICTURES.glob("*.dot"))
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PARTS, REQUEST = ((PICTURES / f"{name}.dot").read_text(encoding="utf-8") for name in ("parts", "request"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_picture_is_drawn_from_its_present_source(source: Path) -> None:
    drawn = source.with_suffix(".svg").read_text(encoding="utf-8")
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    assert drawn.endswith(f"<!-- {digest} -->\n"), "run 'make pictures'"


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_picture_is_shown(source: Path) -> None:
    assert f"(pictures/{source.stem}.svg)" in TEXT


def test_the_rooms_of_the_frontend_that_are_drawn_exist() -> None:
    rooms = re.findall(r"<b>(\w+)</b>", PARTS.partition("cluster_frontend")[2].partition("}")[0])
    assert rooms
    assert [room for room in rooms if not (ROOT / "frontend" / room).is_dir()] == []


def test_the_models_that_are_drawn_are_all_there_are() -> None:
    models, patterns = ROOT / "model_repository", re.findall(r"<b>(kokoro|\w+_\*)</b>", PARTS)
    drawn = {path for pattern in patterns for path in models.glob(f"{pattern}/config.pbtxt")}
    assert drawn == {path for path in models.glob("*/config.pbtxt") if not path.parent.name.startswith(ADDED_PREFIX)}


def test_the_modules_on_a_requests_way_exist() -> None:
    named = re.findall(r"(middleware|http): ([\w, ]+)", REQUEST)
    modules = [f"{room}/{name}" for room, names in named for name in names.split(", ")]
    assert modules
    assert [module for module in modules if not (ROOT / "frontend" / f"{module}.py").is_file()] == []


def test_the_rooms_are_told_from_the_last_to_the_first() -> None:
    table = TEXT.partition("| room | what happens there |")[2].partition("\n\n")[0]
    told = [
        room for line in table.splitlines() for room in re.findall(r"`(\w+)[./]", line.split("|")[1] if line else "")
    ]
    rooms = dict.fromkeys(name.partition(".")[0] for name in reversed(ORDER))
    assert told == [room for room in rooms if room != "app_keys"]
