"""A dead process of a model in a real Triton is found without a call, and the model reloaded."""

import asyncio
import json
import os
import signal
import urllib.request
from collections.abc import AsyncIterator, Iterator

import numpy as np
import psutil
import pytest
import pytest_asyncio

from client.recordings import recordings
from frontend.dispatch.context import RequestContext
from frontend.dispatch.dispatcher import Dispatcher
from frontend.dispatch.queue import Bounds
from frontend.dispatch.scheduler import Rules
from frontend.operations.transcription.pipeline import INPUTS
from frontend.peers.frontends import FixedFrontends
from frontend.tritons.triton import Triton, text_tensor
from scripts.local_triton.server import LocalTriton
from tests.conftest import ROOT
from tests.eventually import until
from tests.triton.conftest import processes, send

pytestmark = [pytest.mark.triton, pytest.mark.alone, pytest.mark.asyncio(loop_scope="module")]

# Whisper is the last that is reloaded.
MODELS = ("piper_ryan", "whisper_turbo")
_LONGEST = 120.0


@pytest.fixture(scope="module")
def triton(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalTriton]:
    made = LocalTriton(ROOT / "model_repository", tmp_path_factory.mktemp("triton"))
    made.start()
    try:
        made.load(MODELS)
        yield made
    finally:
        # It would wait for the calls that a killed process had.
        send(made, signal.SIGKILL)
        made.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def dispatcher(triton: LocalTriton) -> AsyncIterator[Dispatcher]:
    client = Triton(f"127.0.0.1:{triton.ports.grpc}", secret=triton.secret)
    made = Dispatcher(Rules(), Bounds(), FixedFrontends(1))
    await made.add("a", client, dict.fromkeys(MODELS, 0))
    await until(lambda: set(made.states(MODELS).values()) == {"ready"}, _LONGEST)
    yield made
    await made.close()
    await client.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def reloaded(triton: LocalTriton, dispatcher: Dispatcher) -> dict[str, float]:
    """How long processors were idle, in seconds, from the death of a process of each model until the model was back."""
    idle = {}
    for model in MODELS:
        before = psutil.cpu_times().idle
        os.kill(processes(triton, model)[0], signal.SIGKILL)
        await until(lambda model=model: dispatcher.states([model])[model] == "loading", _LONGEST)  # type: ignore[misc]
        await until(lambda model=model: dispatcher.states([model])[model] == "ready", _LONGEST)  # type: ignore[misc]
        idle[model] = psutil.cpu_times().idle - before
    return idle


async def test_a_dead_process_is_back_within_ten_seconds_of_an_idle_processor(reloaded: dict[str, float]) -> None:
    assert max(reloaded.values()) < 10


@pytest.mark.usefixtures("reloaded")
async def test_a_whisper_that_was_reloaded_answers_its_first_call(dispatcher: Dispatcher) -> None:
    samples = recordings("en")[2].samples()[None]
    given = (samples, text_tensor(""), text_tensor(""), np.zeros((1, 1), np.float32))
    context = RequestContext("key", 3, None, asyncio.get_running_loop().time() + _LONGEST)
    heard = await dispatcher.infer(
        "whisper_turbo", lambda: dict(zip(INPUTS, given, strict=True)), ["word_text"], context
    )
    assert b"not in service" in b"".join(heard["word_text"].reshape(-1))


async def test_a_check_of_a_model_is_no_failure_in_the_statistics_of_triton(
    triton: LocalTriton, dispatcher: Dispatcher
) -> None:
    address = f"http://127.0.0.1:{triton.ports.http}/v2/models/piper_ryan/stats"

    def figures() -> dict[str, int]:
        with urllib.request.urlopen(address, timeout=10) as answer:
            calls = json.loads(answer.read())["model_stats"][0]["inference_stats"]
        return {outcome: int(calls[outcome]["count"]) for outcome in ("success", "fail")}

    before = figures()
    await until(lambda: figures()["success"] > before["success"], _LONGEST)
    assert figures()["fail"] == before["fail"]
