"""A sample of changes can be made again, changes one place each, and leaves types alone."""

from pathlib import Path

import pytest
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from lab.mutants import ROOMS, its_tests, mutations

_ROOT = Path(__file__).parents[2]
_CODE = """
def later(seconds: float | None, times: int = 2) -> float | None:
    if seconds is None or times < 1:
        return None
    return seconds * times
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "module.py"
    path.write_text(_CODE, encoding="utf-8")
    return path


def test_a_seed_gives_the_same_changes_and_another_one_others(module: Path) -> None:
    sample = mutations([module], 4, 1)
    assert len(sample) == 4
    assert sample == mutations([module], 4, 1) != mutations([module], 4, 2)


def test_every_place_is_changed_once_and_unions_of_types_are_not(module: Path) -> None:
    sample = mutations([module], 100, 0)
    assert len({each.start_pos for each in sample}) == len(sample)
    for each in sample:
        changed = mutate_code(_CODE, get_operator(each.operator_name)(), each.occurrence)
        before, after = ("".join(text.split()) for text in (_CODE, changed))
        assert after != before
        assert after.count("float|None") == 2


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_and_its_tests_exist(room: str) -> None:
    assert [name for name in (room, *its_tests(room)) if not (_ROOT / name).exists()] == []
