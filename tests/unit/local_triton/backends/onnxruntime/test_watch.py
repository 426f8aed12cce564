import time

import onnxruntime as ort
import pytest

from tests.unit.local_triton.backends.onnxruntime.stand_in import watch


class _Request:
    """As Triton's: cancelled or not."""

    def __init__(self, cancelled: bool) -> None:
        self.cancelled = cancelled

    def is_cancelled(self) -> bool:
        return self.cancelled


@pytest.mark.parametrize(("cancelled", "ends"), [([True, True], True), ([True, False], False), ([False], False)])
def test_a_run_is_ended_when_nobody_waits_for_it(cancelled: list[bool], ends: bool) -> None:
    options = ort.RunOptions()
    with watch.Watch().over([_Request(gone) for gone in cancelled], options):
        deadline = time.monotonic() + (5 if ends else 0.3)
        while not options.terminate and time.monotonic() < deadline:
            time.sleep(0.01)
    assert options.terminate == ends


def test_a_request_is_not_asked_after_its_run() -> None:
    watching, options, late = watch.Watch(), ort.RunOptions(), ort.RunOptions()
    request = _Request(False)
    with watching.over([request], options):
        pass
    request.cancelled = True
    with watching.over([_Request(False)], late):
        time.sleep(0.2)
    assert not options.terminate
    assert not late.terminate
