"""When a Triton and its models get calls, with a server that tests control."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence

import pytest

from frontend.errors import AccountRefused, BrokenModel, Unloaded, Unreached
from frontend.peers.frontends import FixedFrontends
from frontend.tritons import backend as backends
from frontend.tritons.backend import Backend
from frontend.tritons.inference import Capacity, Outputs, State, Trial
from tests.eventually import until
from tests.unit.tritons.servers import FakeServer


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest.fixture
async def made(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Backend]:
    """A backend that has not started, with short pauses between probes."""
    monkeypatch.setattr(backends, "_PROBE_SECONDS", 0.05)
    monkeypatch.setattr(backends, "_WATCH_SECONDS", 0.25)
    trials = {"embedder": Trial({}, [])}
    made = Backend(
        "a", server, {"embedder": 0, "whisper": 3}, server.note_change, FixedFrontends(1).lock, trials, lambda: 1
    )
    yield made
    await made.close()


@pytest.fixture
async def backend(made: Backend) -> Backend:
    await made.start()
    return made


async def test_capacities_are_reported_with_their_caps(backend: Backend, server: FakeServer) -> None:
    assert server.capacities == {"embedder": Capacity(2, 16, gpu=True), "whisper": Capacity(1, 8, stops=True)}
    assert server.caps == {"embedder": 0, "whisper": 3}


async def test_only_calls_of_a_model_that_stops_are_cancelled(backend: Backend) -> None:
    assert (backend.grace("embedder"), backend.grace("whisper")) == (math.inf, 0)


async def test_a_model_that_is_not_ready_is_out(backend: Backend, server: FakeServer) -> None:
    server.up.discard("whisper")
    await server.until(embedder=True, whisper=False)


@pytest.mark.parametrize("fault", ["frozen", "away"])
async def test_a_server_that_fails_is_out_until_it_answers(backend: Backend, server: FakeServer, fault: str) -> None:
    setattr(server, fault, True)
    await server.until(embedder=False, whisper=False)
    setattr(server, fault, False)
    await server.until(embedder=True, whisper=True)


async def _after_probes(server: FakeServer, count: int) -> None:
    """Wait until so many more probes have been answered."""
    last = server.probes + count + 1
    await until(lambda: server.probes >= last)


async def test_two_late_probes_in_a_row_take_a_server_out(backend: Backend, server: FakeServer) -> None:
    server.late = 2
    await server.until(embedder=False, whisper=False)


async def test_single_late_probes_change_nothing(backend: Backend, server: FakeServer) -> None:
    server.capacities.clear()
    for _ in range(2):
        server.late = 1
        await _after_probes(server, 2)
    assert server.capacities == {}


async def test_one_refused_connection_takes_a_server_out(made: Backend, server: FakeServer) -> None:
    await made.probe()
    await server.until(embedder=True, whisper=True)
    server.away = True
    await made.probe()
    assert server.is_in == {"embedder": False, "whisper": False}
    await made.close()


@pytest.mark.parametrize(("error", "others"), [(Unreached, False), (Unloaded, True)])
async def test_a_call_that_did_not_arrive_takes_the_server_or_the_model_out_until_the_next_probe(
    backend: Backend, server: FakeServer, monkeypatch: pytest.MonkeyPatch, error: type[Unreached], others: bool
) -> None:
    async def fail(*arguments: object) -> Outputs:
        raise error("away")

    monkeypatch.setattr(server, "infer", fail)
    with pytest.raises(error):
        await backend.infer("whisper", {}, [], 1.0)
    assert server.is_in == {"embedder": others, "whisper": False}
    await server.until(embedder=True, whisper=True)


async def test_a_model_whose_process_died_is_out_until_it_is_reloaded_once(
    backend: Backend, server: FakeServer
) -> None:
    server.dead.add("whisper")
    for _ in range(2):
        with pytest.raises(BrokenModel):
            await backend.infer("whisper", {}, [], 1.0)
    await _after_probes(server, 2)
    assert not server.is_in["whisper"]
    assert backend.state("whisper") is State.LOADING
    server.may_reload.set()
    await server.until(embedder=True, whisper=True)
    assert server.reloaded == ["whisper"]


async def test_a_dead_process_is_found_without_a_call(backend: Backend, server: FakeServer) -> None:
    server.dead.add("whisper")
    await server.until(embedder=True, whisper=False)
    server.may_reload.set()
    await server.until(embedder=True, whisper=True)
    assert server.reloaded == ["whisper"]


async def test_a_model_with_calls_in_flight_is_not_checked(backend: Backend, server: FakeServer) -> None:
    server.may_answer.clear()
    call = asyncio.create_task(backend.infer("whisper", {}, [], 1.0))
    await asyncio.sleep(0)
    server.asked.clear()
    await backend.watch()
    server.may_answer.set()
    await call
    assert server.asked == ["embedder"]


async def test_a_model_with_wrong_numbers_gets_no_calls(made: Backend, server: FakeServer) -> None:
    server.wrong.add("embedder")
    await made.start()
    assert server.is_in == {"whisper": True}
    assert [made.state(model) for model in ("embedder", "whisper")] == [State.UNFIT, State.READY]


async def test_a_model_with_wrong_numbers_is_tried_again(
    made: Backend, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "_UNFIT_SECONDS", 0.0)
    server.wrong.add("embedder")
    await made.start()
    server.wrong.clear()
    await server.until(embedder=True, whisper=True)


async def test_probes_do_not_try_a_model_with_wrong_numbers_again(made: Backend, server: FakeServer) -> None:
    server.wrong.add("embedder")
    await made.start()
    await _after_probes(server, 2)
    assert server.tried == ["embedder"]


async def test_a_model_that_was_away_is_tried_again(backend: Backend, server: FakeServer) -> None:
    server.up.clear()
    await server.until(embedder=False, whisper=False)
    server.wrong.add("embedder")
    server.up.update({"embedder", "whisper"})
    await server.until(embedder=False, whisper=True)
    assert backend.state("embedder") is State.UNFIT


async def test_a_leaving_backend_takes_no_calls_and_reloads_nothing(backend: Backend, server: FakeServer) -> None:
    server.may_answer.clear()
    call = asyncio.create_task(backend.infer("whisper", {}, [], 1.0))
    await asyncio.sleep(0)
    leaving = asyncio.create_task(backend.leave())
    await asyncio.sleep(0)
    assert server.is_in == {"embedder": False, "whisper": False}
    with pytest.raises(Unreached):
        await backend.infer("whisper", {}, [], 1.0)
    server.dead.add("whisper")
    await asyncio.sleep(0.05)
    assert not leaving.done()
    server.may_answer.set()
    with pytest.raises(BrokenModel):
        await call
    await leaving
    assert server.closed
    assert not server.reloaded


async def test_pauses_between_probes_grow_with_the_number_of_servers(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused: list[float] = []

    async def pause(seconds: float) -> None:
        paused.append(seconds)

    servers = ["a"]
    made = Backend("a", server, {"embedder": 0}, server.note_change, FixedFrontends(1).lock, {}, lambda: len(servers))
    monkeypatch.setattr("frontend.tritons.backend.asyncio.sleep", pause)
    for _ in range(2):
        await made._next_probe()
        await made._next_watch()
        servers = ["a"] * 100
    assert paused == [0.25, 2.0, 4.0, 25.0]
    server.late, paused[:] = 1, []
    for _ in range(2):
        await made._next_probe()
    assert paused == [4.0, 0.25]


async def test_a_model_whose_trial_is_cancelled_before_its_start_comes_back(
    backend: Backend, server: FakeServer
) -> None:
    server.up.discard("embedder")
    await server.until(embedder=False, whisper=True)
    # Ready and not ready within one turn of the event loop.
    backend._note_readiness("embedder", True)
    backend._note_readiness("embedder", False)
    server.up.add("embedder")
    await server.until(embedder=True, whisper=True)


async def test_a_backend_that_is_closed_during_its_start_probes_no_more(made: Backend, server: FakeServer) -> None:
    server.frozen = True
    starting = asyncio.create_task(made.start())
    await until(lambda: server.probes == 1)
    await made.close()
    server.frozen = False
    await starting
    await asyncio.sleep(0.2)
    assert server.probes == 1


async def test_a_closed_backend_leaves_no_task(backend: Backend) -> None:
    await backend.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_refused_secret_is_logged_once(
    made: Backend, server: FakeServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(models: Sequence[str]) -> set[str]:
        raise AccountRefused("closed")

    monkeypatch.setattr(server, "ready_models", refuse)
    for count in (1, 1):
        await made.probe()
        assert caplog.messages == ["Triton refuses QUARTET_TRITON_SECRET"] * count


async def test_a_closed_backend_does_not_start(made: Backend, server: FakeServer) -> None:
    await made.close()
    await made.start()
    assert server.probes == 0
