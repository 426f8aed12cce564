"""When a Triton and its models are in and out, by what a server that tests control says."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence

import pytest

from frontend.dispatch import backends
from frontend.dispatch.backends import Backend, Capacity, Inputs, Outputs, State, Trial
from frontend.dispatch.locks import LocalLocks
from frontend.errors import BadAnswer, BadGateway, BrokenModel, Unreached
from tests.eventually import until


class FakeServer:
    """``up`` are the models that are ready; a frozen server answers nothing, one that is away refuses.

    ``dead`` are models whose process died, which says nothing of their readiness; ``wrong`` those that fail a trial.
    """

    def __init__(self) -> None:
        self.up = {"embedder", "whisper"}
        self.frozen = self.away = False
        # How many of the next probes come too late.
        self.late = 0
        self.probes = 0
        self.dead, self.wrong = set[str](), set[str]()
        self.failing_loads = 0
        self.asked: list[str] = []
        self.reloaded: list[str] = []
        self.may_answer, self.may_reload = asyncio.Event(), asyncio.Event()
        self.may_answer.set()

    async def ready_models(self, models: Sequence[str]) -> set[str]:
        self.probes += 1
        if self.frozen:
            await asyncio.Event().wait()
        if self.away:
            raise Unreached("away")
        if self.late:
            self.late -= 1
            raise BadGateway("late")
        return self.up & set(models)

    async def infer(self, model: str, inputs: Inputs, outputs: Sequence[str], seconds: float) -> Outputs:
        await self.may_answer.wait()
        if model in self.dead:
            raise BrokenModel("dead")
        return {}

    async def try_out(self, model: str, trial: Trial) -> None:
        if model in self.wrong:
            raise BadAnswer("not finite")

    async def capacity(self, model: str) -> Capacity:
        return {"embedder": Capacity(64, lanes=2), "whisper": Capacity(16, stops=True)}[model]

    async def ailing(self, models: Sequence[str]) -> set[str]:
        self.asked.extend(models)
        return self.dead & set(models)

    async def reload(self, model: str) -> None:
        await self.may_reload.wait()
        self.reloaded.append(model)
        if self.failing_loads:
            self.failing_loads -= 1
            raise BadGateway("no memory")
        self.dead.discard(model)


class Heard:
    """The slots by model, as they were told last."""

    def __init__(self) -> None:
        self.slots: dict[str, int] = {}
        self.lanes: dict[str, int] = {}

    def __call__(self, model: str, backend: str, slots: int, lanes: int) -> None:
        assert backend == "a"
        self.slots[model], self.lanes[model] = slots, lanes

    async def until(self, slots: dict[str, int]) -> None:
        await until(lambda: self.slots == slots)


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def made(server: FakeServer, heard: Heard) -> AsyncIterator[Backend]:
    """One that has not started."""
    trials = {"embedder": Trial({}, [])}
    made = Backend("a", server, {"embedder": 0, "whisper": 3}, heard, lambda model, slots: slots, LocalLocks(), trials)
    yield made
    await made.close()


@pytest.fixture
async def backend(made: Backend) -> Backend:
    await made.start()
    return made


async def test_slots_are_those_that_were_set_or_what_fills_two_batches(backend: Backend, heard: Heard) -> None:
    assert heard.slots == {"embedder": 64, "whisper": 3}


async def test_the_lanes_of_a_model_are_told_with_its_slots(backend: Backend, heard: Heard) -> None:
    assert heard.lanes == {"embedder": 2, "whisper": 1}


async def test_only_a_model_that_stops_has_its_calls_cancelled(backend: Backend) -> None:
    assert (backend.grace("embedder"), backend.grace("whisper")) == (math.inf, 0)


async def test_a_model_that_is_gone_is_out(backend: Backend, server: FakeServer, heard: Heard) -> None:
    server.up.discard("whisper")
    await heard.until({"embedder": 64, "whisper": 0})


@pytest.mark.parametrize("fault", ["frozen", "away"])
async def test_a_server_that_fails_is_out_and_back_when_it_answers(
    backend: Backend, server: FakeServer, heard: Heard, fault: str
) -> None:
    setattr(server, fault, True)
    await heard.until({"embedder": 0, "whisper": 0})
    setattr(server, fault, False)
    await heard.until({"embedder": 64, "whisper": 3})


async def _after_probes(server: FakeServer, count: int) -> None:
    """When so many probes more have been answered."""
    last = server.probes + count + 1
    await until(lambda: server.probes >= last)


async def test_two_late_probes_in_a_row_take_a_server_out(backend: Backend, server: FakeServer, heard: Heard) -> None:
    server.late = 2
    await heard.until({"embedder": 0, "whisper": 0})


async def test_late_probes_that_do_not_follow_each_other_change_nothing(
    backend: Backend, server: FakeServer, heard: Heard
) -> None:
    heard.slots.clear()
    for _ in range(2):
        server.late = 1
        await _after_probes(server, 2)
    assert heard.slots == {}


async def test_one_refused_connection_takes_a_server_out(made: Backend, server: FakeServer, heard: Heard) -> None:
    await made.probe()
    await heard.until({"embedder": 64, "whisper": 3})
    server.away = True
    await made.probe()
    assert heard.slots == {"embedder": 0, "whisper": 0}
    await made.close()


async def test_a_call_that_never_arrived_takes_the_server_out_and_a_probe_puts_it_back(
    backend: Backend, server: FakeServer, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*arguments: object) -> Outputs:
        raise Unreached("away")

    monkeypatch.setattr(server, "infer", fail)
    with pytest.raises(Unreached):
        await backend.infer("whisper", {}, [], 1.0)
    assert heard.slots == {"embedder": 0, "whisper": 0}
    await heard.until({"embedder": 64, "whisper": 3})


async def test_a_model_whose_process_died_is_loaded_anew_once_and_stays_out_until_then(
    backend: Backend, server: FakeServer, heard: Heard
) -> None:
    server.dead.add("whisper")
    for _ in range(2):
        with pytest.raises(BrokenModel):
            await backend.infer("whisper", {}, [], 1.0)
    await _after_probes(server, 2)
    assert heard.slots["whisper"] == 0
    assert backend.state("whisper") is State.LOADING
    server.may_reload.set()
    await heard.until({"embedder": 64, "whisper": 3})
    assert server.reloaded == ["whisper"]


async def test_a_dead_process_is_found_without_a_call(backend: Backend, server: FakeServer, heard: Heard) -> None:
    server.dead.add("whisper")
    await heard.until({"embedder": 64, "whisper": 0})
    server.may_reload.set()
    await heard.until({"embedder": 64, "whisper": 3})
    assert server.reloaded == ["whisper"]


async def test_a_model_that_has_calls_is_not_asked_whether_it_lives(backend: Backend, server: FakeServer) -> None:
    server.may_answer.clear()
    call = asyncio.create_task(backend.infer("whisper", {}, [], 1.0))
    await asyncio.sleep(0)
    server.asked.clear()
    await backend.watch()
    server.may_answer.set()
    await call
    assert server.asked == ["embedder"]


async def test_a_model_with_wrong_numbers_gets_no_calls(made: Backend, server: FakeServer, heard: Heard) -> None:
    server.wrong.add("embedder")
    await made.start()
    assert heard.slots == {"whisper": 3}
    assert [made.state(model) for model in ("embedder", "whisper")] == [State.UNFIT, State.READY]


async def test_a_model_whose_numbers_were_wrong_is_tried_again(
    made: Backend, server: FakeServer, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "_UNFIT_SECONDS", 0.0)
    server.wrong.add("embedder")
    await made.start()
    server.wrong.clear()
    await heard.until({"embedder": 64, "whisper": 3})


async def test_what_is_known_of_a_model_is_found_out_again_when_it_was_away(
    backend: Backend, server: FakeServer, heard: Heard
) -> None:
    server.up.clear()
    await heard.until({"embedder": 0, "whisper": 0})
    server.wrong.add("embedder")
    server.up.update({"embedder", "whisper"})
    await heard.until({"embedder": 0, "whisper": 3})
    assert backend.state("embedder") is State.UNFIT
