"""A download reports its progress from a thread beside it."""

import threading

import pytest

from scripts.export_models import progress
from scripts.export_models.progress import Progress


class _Steps(Progress):
    def __init__(self) -> None:
        self._count = threading.Semaphore(0)
        self.steps: set[tuple[str, int, int]] = set()

    def step(self, name: str, done: int, total: int) -> None:
        self.steps.add((name, done, total))
        self._count.release()

    def wait_for_three(self) -> None:
        assert all(self._count.acquire(timeout=5) for _ in range(3))


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_DOWNLOAD_SECONDS", 0.001)


@pytest.mark.parametrize(("arrived", "done"), [(4, 4), (12, 10)])
def test_a_download_reports_again_and_again_at_most_its_size(arrived: int, done: int) -> None:
    reports = _Steps()
    with reports.downloading("it", 10, lambda: arrived):
        reports.wait_for_three()
    assert reports.steps == {("downloading it", done, 10)}


def test_files_that_vanish_while_they_are_counted_do_no_harm() -> None:
    sizes = iter([None, 1, None, 2, 3, 4])

    def arrived() -> int:
        if (size := next(sizes, 5)) is None:
            raise FileNotFoundError
        return size

    reports = _Steps()
    with reports.downloading("it", 10, arrived):
        reports.wait_for_three()


def test_no_thread_is_left_after_a_download() -> None:
    before = threading.active_count()
    with pytest.raises(ValueError, match="broken"), Progress().downloading("it", 10, lambda: 1):
        raise ValueError("broken")
    assert threading.active_count() == before
