from pathlib import Path

import pytest

from frontend.usage.ballast import Ballast

_MB = 1024 * 1024


@pytest.fixture
def ballast(tmp_path: Path) -> Ballast:
    return Ballast(tmp_path / "a.ballast")


def test_room_is_held_back_when_it_is_filled(ballast: Ballast, tmp_path: Path) -> None:
    ballast.fill()
    assert ballast.whole
    assert (tmp_path / "a.ballast").stat().st_blocks * 512 >= 8 * _MB


def test_what_is_given_up_is_free_at_once_and_held_again_later(ballast: Ballast, tmp_path: Path) -> None:
    ballast.fill()
    sizes = []
    for change in (lambda: ballast.give_up(keep_last=True), ballast.fill):
        change()
        sizes.append((tmp_path / "a.ballast").stat().st_size)
    assert sizes == [7 * _MB, 8 * _MB]


def test_the_last_part_is_given_up_for_what_makes_room_alone(ballast: Ballast) -> None:
    ballast.fill()
    given = 0
    while ballast.give_up(keep_last=True):
        given += 1
    assert given == 7
    assert [ballast.give_up(keep_last=False) for _ in range(2)] == [True, False]


def test_nothing_is_left_of_it_at_the_end(ballast: Ballast, tmp_path: Path) -> None:
    ballast.fill()
    ballast.close()
    assert list(tmp_path.iterdir()) == []
