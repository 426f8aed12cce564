"""New workers for old ones: when one is started, and what is made of one that does not come to accept."""

import logging
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.processes import renewal
from frontend.processes.renewal import Renewal

OLD, NEW = Settings(), Settings(threads=3)


@dataclass
class Starting:
    """A worker that does as it is told."""

    settings: Settings
    accepts: bool = False
    code: int | None = None
    born: float = 1e12

    def ended(self) -> int | None:
        return self.code

    def kill(self) -> None:
        self.code = self.code or -9


class Scene:
    """A renewal whose workers are at hand."""

    def __init__(self) -> None:
        self.started: list[Starting] = []
        self.renewal = Renewal(lambda: NEW, self._start)  # type: ignore[arg-type]

    def _start(self, settings: Settings) -> Starting:
        self.started.append(Starting(settings))
        return self.started[-1]

    def next(self, current: Settings = OLD, *, old: bool = True, room: bool = True) -> object:
        return self.renewal.next(old, room, current)

    def begin(self) -> Starting:
        """Asked for, with the first worker started."""
        self.renewal.ask()
        assert [self.next(), self.next()] == [None, None]
        return self.started[-1]


def test_nothing_is_started_that_nobody_asked_for() -> None:
    scene = Scene()
    assert (scene.next(), scene.started) == (None, [])


def test_the_next_one_waits_until_the_one_before_accepts() -> None:
    scene = Scene()
    first = scene.begin()
    assert (scene.next(), len(scene.started)) == (None, 1)
    first.accepts = True
    assert scene.next() is first
    assert (scene.next(NEW), len(scene.started)) == (None, 2)


def test_none_is_started_while_there_is_no_room() -> None:
    scene = Scene()
    scene.renewal.ask()
    for _ in range(3):
        scene.next(room=False)
    assert scene.started == []


def test_it_is_over_when_there_are_no_old_ones() -> None:
    scene = Scene()
    scene.begin().accepts = True
    scene.next()
    scene.next(NEW, old=False)
    assert scene.renewal.settings is None


def test_the_settings_are_refused_where_the_first_one_does_not_start(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    scene.begin().code = 2
    scene.next()
    assert scene.renewal.settings is None
    assert "refused" in caplog.text


def test_a_later_one_that_does_not_start_is_tried_again() -> None:
    scene = Scene()
    scene.begin().accepts = True
    scene.next()
    scene.next(NEW)
    scene.started[-1].code = -9
    for _ in range(2):
        scene.next(NEW)
    assert (scene.renewal.settings, len(scene.started)) == (NEW, 3)


def test_one_that_dies_twice_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(renewal, "time", SimpleNamespace(monotonic=lambda: now[0]))
    scene = Scene()
    scene.begin().accepts = True
    for _ in range(2):
        scene.next(NEW)
    for _ in range(2):
        scene.started[-1].code = -9
        for _ in range(2):
            scene.next(NEW)
    counts = [len(scene.started)]
    for now[0] in (1000.9, 1001.0):
        scene.next(NEW)
        counts.append(len(scene.started))
    assert counts == [3, 3, 4]


def test_one_that_takes_for_ever_is_ended(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    worker = scene.begin()
    worker.born = -1e12
    with caplog.at_level(logging.ERROR):
        scene.next()
    assert worker.code == -9
    assert scene.renewal.starting == []


def test_bad_settings_start_nothing() -> None:
    def bad() -> Settings:
        raise SettingsError("QUARTET_PORT: must be a valid integer, not 'x'")

    scene = Scene()
    renewal = Renewal(bad, scene._start)  # type: ignore[arg-type]
    renewal.ask()
    for _ in range(3):
        assert renewal.next(True, True, OLD) is None
    assert scene.started == []
