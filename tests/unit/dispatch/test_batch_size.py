"""Batch work, expected waits and times of work, by measurements."""

import math
from collections.abc import Callable

import pytest

from frontend.dispatch.batch_size import BatchSize, Work
from tests.unit.dispatch.calls import COMPANY, DIVISIBLE, FREE, GPU, ONE, PRO, PROCESSORS, Scene

PACKED = Work(100, 6400, divisible=True)


def _together(work: float) -> float:
    """Seconds of an execution on a device that batches well, up to 1,600 of work."""
    return 0.5 * max(1.0, work / 1600)


def _one_by_one(work: float) -> float:
    """Seconds of an execution on a device that gains nothing from batches."""
    return work / 1000


class Device:
    """A device that runs one execution after another while calls wait."""

    def __init__(self, size: BatchSize, seconds: Callable[[float], float], calls: int = 1) -> None:
        self.size, self.seconds, self._calls, self.now = size, seconds, calls, 0.0
        self.sizes: list[float] = []

    def run(self, seconds: float, *, busy: bool = True) -> float:
        """Run for some seconds, and return the final size."""
        until = self.now + seconds
        while self.now < until:
            began, work = self.now, self.size.work
            self.now += self.seconds(work)
            self.sizes.append(work)
            for _ in range(self._calls):
                self.size.note(work / self._calls, began, self.now, busy=busy)
        return self.size.work


def _size(work: Work = PACKED, *, gpu: bool = False, instances: float = 1.0, max_batch: int = 16) -> BatchSize:
    size = BatchSize(work)
    size.configure(instances, max_batch, gpu=gpu)
    return size


def test_a_gpu_begins_with_full_batches_and_processors_with_the_smallest() -> None:
    assert (_size(gpu=True).work, _size().work) == (6400, 100)
    assert (_size(Work(30), gpu=True).work, _size(Work(30)).work) == (16 * 30, 30)


@pytest.mark.parametrize("calls", [1, 4])
def test_it_grows_while_throughput_grows(calls: int) -> None:
    device = Device(_size(), _together, calls)
    device.run(75)
    # One size more was tried, and none that takes over a second.
    assert device.size.work == 1600
    assert max(device.sizes) == 3200


@pytest.mark.parametrize("calls", [1, 4])
def test_it_stays_small_where_larger_executions_do_no_more(calls: int) -> None:
    device = Device(_size(), _one_by_one, calls)
    assert device.run(55) == 100
    assert max(device.sizes) == 400


def test_it_goes_down_while_throughput_does_not_fall() -> None:
    device = Device(_size(gpu=True), _together)
    assert device.run(20) == 6400
    device.run(2000)
    assert min(device.sizes) == 800
    assert device.sizes.count(1600) > len(device.sizes) / 4


def test_a_device_that_has_become_slow_for_large_executions_has_smaller_ones() -> None:
    device = Device(_size(), _together)
    assert device.run(75) == 1600
    device.seconds = _one_by_one
    device.sizes.clear()
    device.run(200)
    # A second result confirms the first, before that of the fast device is forgotten.
    assert min(device.sizes) < 1600
    assert device.run(2000) == 100


@pytest.mark.parametrize("calls", range(5))
def test_a_single_slow_call_changes_nothing(calls: int) -> None:
    device = Device(_size(), _together)
    while 3200 not in device.sizes or device.size.work != 1600:
        device.run(1)
    device.run(5 + calls * _together(1600))
    device.size.note(1600, device.now, device.now + 10, busy=True)
    device.now += 10
    device.sizes.clear()
    device.run(20)
    assert set(device.sizes) == {1600}


def test_calls_that_were_sent_before_a_change_do_not_count() -> None:
    size = _size()
    device = Device(size, _together)
    while size.work == 100:
        device.run(0.1)
    changed = device.now
    for number in range(1, 20):
        size.note(200, changed - 1, changed + number, busy=True)
    assert size.work == 200


def test_throughput_is_known_only_while_calls_waited() -> None:
    device = Device(_size(), _one_by_one)
    device.run(20, busy=False)
    assert device.size.throughput == 0
    device.run(20)
    assert device.size.throughput == pytest.approx(1000, rel=0.01)


def test_throughput_is_that_of_all_instances() -> None:
    size = _size(Work(30), instances=2)
    for number in range(40):
        for _ in range(2):
            size.note(30, float(number), number + 1.0, busy=True)
    assert size.throughput == pytest.approx(60, rel=0.01)


def test_calls_that_end_together_are_measured_as_a_whole() -> None:
    device = Device(_size(Work(30), gpu=True), lambda work: 2.0, calls=16)
    device.run(30)
    assert device.size.throughput == pytest.approx(16 * 30 / 2, rel=0.01)


def test_without_a_share_of_instances_nothing_is_measured() -> None:
    device = Device(_size(instances=0), _one_by_one)
    device.run(20)
    device.size.configure(1, 16, gpu=False)
    assert device.size.throughput == 0


def test_it_follows_another_frontend_that_measures() -> None:
    size = _size()
    size.follow(1500)
    assert size.work == 1600


def test_measurements_end_with_a_change_of_the_batch() -> None:
    device = Device(_size(Work(30)), _together)
    device.run(20)
    device.size.configure(1, 32, gpu=False)
    assert (device.size.work, device.size.throughput) == (30, 0)


def test_measurements_survive_a_change_of_the_share() -> None:
    device = Device(_size(), _one_by_one)
    device.run(20)
    device.size.configure(0.5, 16, gpu=False)
    assert device.size.throughput == pytest.approx(500, rel=0.01)


def test_a_repeated_configuration_does_not_restart_the_measurement() -> None:
    device = Device(_size(), _one_by_one)
    for _ in range(40):
        device.run(0.5)
        device.size.configure(1.0, 16, gpu=False)
    assert device.size.throughput == pytest.approx(1000, rel=0.01)


def test_a_call_is_a_part_of_an_execution_by_its_work() -> None:
    size = _size()
    size.follow(400)
    assert (size.executions(100), size.executions(2000)) == (0.25, 5)


def test_without_batching_each_call_is_one_execution() -> None:
    size = _size(Work(100), max_batch=1)
    assert (size.executions(1), size.executions(900)) == (1, 1)


def _whole_calls(scene: Scene, count: int, cost: float = 1.0, seconds: float = 2.0) -> None:
    for _ in range(count):
        call = scene.enter("m", cost=cost)
        assert scene.sent() == [call]
        scene.end(call, after=seconds)


def test_the_expected_wait_is_known_after_one_whole_call_however_long_nothing_is_called() -> None:
    scene = Scene()
    scene.triton("a", m=ONE)
    its = scene.admission.models["m"]
    assert its.seconds_for(10, 1) == 0
    _whole_calls(scene, 1)
    scene.now += 100_000
    assert its.seconds_for(10, 1) == 20
    scene.enter_all(6, "m")
    scene.sent()
    # Four wait, and one that is in flight is ahead of a new one; two are worked on at once.
    assert scene.expected_wait("m") == pytest.approx((4 + 1) * 2.0 / 2)


def test_the_expected_wait_counts_what_goes_before() -> None:
    scene = Scene()
    scene.triton("a", m=ONE)
    _whole_calls(scene, 1)
    scene.enter_all(2, "m", COMPANY)
    scene.sent()
    scene.enter_all(1, "m", PRO)
    scene.enter_all(2, "m", FREE)
    assert scene.expected_wait("m", COMPANY) < scene.expected_wait("m", PRO) < scene.expected_wait("m")


def test_small_calls_do_not_measure_the_time_of_work() -> None:
    scene = Scene()
    scene.model("m", DIVISIBLE)
    scene.triton("a", m=GPU)
    _whole_calls(scene, 5, cost=1)
    assert scene.admission.models["m"].seconds_for(100, 1) == 0


def test_short_windows_measure_the_time_of_work() -> None:
    scene = Scene()
    scene.model("m", Work(30))
    scene.triton("a", m=PROCESSORS)
    _whole_calls(scene, 5, cost=8, seconds=0.5)
    assert scene.admission.models["m"].seconds_for(80, 1) == pytest.approx(5)


def test_under_load_the_time_of_work_is_the_measured_one() -> None:
    scene = Scene()
    scene.triton("a", m=ONE)
    _whole_calls(scene, 1, seconds=2.0)
    _whole_calls(scene, 40, seconds=1.0)
    assert scene.admission.models["m"].seconds_for(10, 1) == pytest.approx(10, rel=0.01)


def test_long_executions_that_go_one_at_a_time_are_not_expected_two_at_a_time() -> None:
    scene = Scene()
    scene.model("m", Work(30))
    scene.triton("a", m=PROCESSORS)
    its = scene.admission.models["m"]
    _whole_calls(scene, 1, cost=30, seconds=3.0)
    scene.enter_all(11, "m", cost=30)
    assert len(scene.sent()) == 1
    assert its.seconds_for(300, 10) == pytest.approx(30)


def test_without_a_triton_the_expected_wait_is_infinite() -> None:
    scene = Scene()
    scene.model("m")
    assert math.isinf(scene.expected_wait("m"))
