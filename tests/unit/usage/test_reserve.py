from pathlib import Path

import pytest

from frontend.usage.reserve import Reserve

_MB = 1024 * 1024


@pytest.fixture
def reserve(tmp_path: Path) -> Reserve:
    return Reserve(tmp_path / "a.reserve")


def test_nothing_is_held_back_before_it_is_filled(reserve: Reserve) -> None:
    assert not reserve.whole


def test_room_is_held_back_when_it_is_filled(reserve: Reserve, tmp_path: Path) -> None:
    reserve.fill()
    assert reserve.whole
    assert (tmp_path / "a.reserve").stat().st_blocks * 512 >= 8 * _MB


def test_what_is_given_up_is_free_at_once_and_held_again_later(reserve: Reserve, tmp_path: Path) -> None:
    reserve.fill()
    sizes = []
    for change in (lambda: reserve.give_up(keep_last=True), reserve.fill):
        change()
        sizes.append((tmp_path / "a.reserve").stat().st_size)
    assert sizes == [7 * _MB, 8 * _MB]


def test_the_last_part_is_given_up_for_what_makes_room_alone(reserve: Reserve) -> None:
    reserve.fill()
    given = 0
    while reserve.give_up(keep_last=True):
        given += 1
    assert given == 7
    assert [reserve.give_up(keep_last=False) for _ in range(2)] == [True, False]


def test_nothing_is_left_of_it_at_the_end(reserve: Reserve, tmp_path: Path) -> None:
    reserve.fill()
    reserve.close()
    assert list(tmp_path.iterdir()) == []
