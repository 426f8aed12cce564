"""What measures the product, what measures peers and what answers one question stand apart."""

import ast

import pytest

from tests.conftest import ROOT

# A room to those that it may import from besides itself.
ROOMS = {
    "common": set[str](),
    "lookalikes": set[str](),
    "product": {"common"},
    "peers": {"common", "lookalikes"},
    "probes": {"common", "lookalikes"},
}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_from_what_all_share_alone(room: str) -> None:
    found = set()
    for path in (ROOT / "scripts" / "benchmark" / room).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scripts.benchmark."):
                found.add(str(node.module).split(".")[2])
    assert found - {room} <= ROOMS[room]
