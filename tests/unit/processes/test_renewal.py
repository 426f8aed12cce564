"""A rolling restart: when a new worker starts, and what happens if it fails."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from frontend.processes import renewal as module
from frontend.processes.renewal import Renewal

OLD, NEW = Settings(), Settings(threads=3)


@dataclass
class Starting:
    """A worker that does what a test sets."""

    settings: Settings
    accepts: bool = False
    code: int | None = None
    started_at: float = 1e12

    def exit_code(self) -> int | None:
        return self.code

    def kill(self) -> None:
        self.code = self.code or -9


class Scene:
    """A renewal to ``settings``, and the workers that it has started."""

    def __init__(self, settings: Settings = NEW) -> None:
        self.started: list[Starting] = []
        self.settings = settings
        self.renewal = Renewal(self._read, self._start)  # type: ignore[arg-type]

    def _read(self) -> Settings:
        return self.settings

    def _start(self, settings: Settings) -> Starting:
        self.started.append(Starting(settings))
        return self.started[-1]

    def next(self, current: Settings = OLD, *, old: bool = True, room: bool = True, times: int = 1) -> object:
        """The result of the last of so many calls."""
        return [self.renewal.next(old, room, current) for _ in range(times)][-1]

    def begin(self) -> Starting:
        """Request a restart and return the first new worker."""
        self.renewal.request()
        assert self.next(times=2) is None
        return self.started[-1]


def test_without_a_request_nothing_starts() -> None:
    scene = Scene()
    assert (scene.next(), scene.started) == (None, [])


def test_a_new_worker_starts_when_the_one_before_accepts() -> None:
    scene = Scene()
    first = scene.begin()
    assert (scene.next(), len(scene.started)) == (None, 1)
    first.accepts = True
    assert scene.next() is first
    assert (scene.next(NEW), len(scene.started)) == (None, 2)


def test_no_worker_starts_while_there_is_no_room() -> None:
    scene = Scene()
    scene.renewal.request()
    scene.next(room=False, times=3)
    assert scene.started == []


def test_the_restart_is_over_when_no_old_worker_remains() -> None:
    scene = Scene()
    scene.begin().accepts = True
    scene.next()
    scene.next(NEW, old=False)
    assert scene.renewal.settings is None


def test_the_settings_are_rejected_if_the_first_worker_does_not_start(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    scene.begin().code = 2
    scene.next()
    assert scene.renewal.settings is None
    assert "refused" in caplog.text


def test_a_later_worker_that_does_not_start_is_retried_at_once_and_then_after_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    scene = Scene()
    scene.begin().accepts = True
    scene.next(NEW, times=2)
    counts = []
    for _ in range(2):
        scene.started[-1].code = -9
        scene.next(NEW, times=2)
        counts.append(len(scene.started))
    for now[0] in (1000.9, 1001.0):
        scene.next(NEW)
        counts.append(len(scene.started))
    assert counts == [3, 3, 3, 4]
    assert scene.renewal.settings == NEW


def test_a_worker_that_takes_too_long_to_start_is_killed() -> None:
    scene = Scene()
    worker = scene.begin()
    worker.started_at = -1e12
    scene.next()
    assert (worker.code, scene.renewal.worker) == (-9, None)


def test_bad_settings_start_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def bad() -> Settings:
        raise SettingsError("QUARTET_PORT: must be a valid integer, not 'x'")

    scene = Scene()
    monkeypatch.setattr(scene.renewal, "_read", bad)
    scene.renewal.request()
    assert (scene.next(times=3), scene.started) == (None, [])


@pytest.mark.parametrize("name", ["host", "port", "admin_host", "admin_port"])
def test_settings_with_another_address_to_listen_on_are_rejected(name: str, caplog: pytest.LogCaptureFixture) -> None:
    changed: dict[str, Any] = {name: "0.0.0.0" if name.endswith("host") else 1}
    scene = Scene(replace(OLD, **changed))
    scene.renewal.request()
    assert (scene.next(times=3), scene.started) == (None, [])
    assert f"QUARTET_{name.upper()}: cannot change" in str([vars(record) for record in caplog.records])
