"""Ten times the capacity: python -m tests.soak.overload --operations embeddings rerank --seconds 60

Measures the peak of each operation, then sends ten times that, of each alone and with ``--together`` of all at once, by
free keys in a process of its own. Beside it a company's key calls about once a second, and health is asked. Nobody
heeds Retry-After. Goodput is what both get. Then the callers hang up, and five seconds later nothing may be in hand.
Callers, frontend and models share the processors, so a line also says what each of them used. With ``--apart``, half of
the processors are the models' own.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import aiohttp

from frontend.administration.commands.database import with_registry
from frontend.administration.registry import Registry
from frontend.config.reading import PREFIX
from frontend.config.settings import Settings
from scripts.benchmark.common.inputs import UNIT_OF, Call, calls, clip
from scripts.benchmark.common.load import Client, Sample, closed, connected, form, units_of
from scripts.benchmark.common.output import head, line
from scripts.benchmark.common.summary import summary
from scripts.benchmark.common.target import Target, own_product
from tests.soak.processor_time import processor_seconds, use
from tests.soak.verdict import p95
from tests.soak.watch import GAUGES, summed

_TIMES, _DIFFERENT_CALLS, _PEAK_CALLERS, _KEYS = 10, 64, 16, 32
_PEAK_SECONDS, _ALONE_SECONDS = 15.0, 10.0
# The queue fills first.
_RAMP_SECONDS, _EMPTY_SECONDS = 5.0, 5.0
_HEALTH_SECONDS = 0.2
# A company calls about once a second, so that its own small calls take little of the models.
_COMPANY_SECONDS = 1.0
_LATE_SECONDS = 1.0
_HEAD = (
    "load",
    "sent a second",
    "answers by status",
    "refused after a second",
    "without Retry-After",
    "goodput",
    "of the peak",
    "of the peak, for the same processor time of the models",
    "processors: models, frontends, workers, callers",
    "health p95 ms",
    "company p95 ms: alone, beside",
    "times",
    "in hand 5 s later",
)
# Small calls, as people wait for.
_SENTENCE, _SPOKEN = "Good morning, Anna. Can you buy some bread today?", "Can you buy some bread today?"
_HEARD, _HEARD_SECONDS = clip(1, 3.0, 4.0)
_DOCUMENTS = ["We bake bread every morning.", "The trains run every hour.", "Flour and water.", "It rains."]
COMPANY: Mapping[str, Call] = {
    "embeddings": Call("/embeddings", 1, {"model": "embed-m3", "input": _SENTENCE}),
    "rerank": Call("/rerank", 1, {"model": "rerank-v2-m3", "query": _SENTENCE, "documents": _DOCUMENTS}),
    "speech": Call("/audio/speech", len(_SPOKEN), {"model": "tts-1", "voice": "ryan", "input": _SPOKEN}),
    "transcriptions": Call("/audio/transcriptions", _HEARD_SECONDS, file=_HEARD, fields=(("model", "stt-1"),)),
}


@dataclass(frozen=True)
class Peak:
    """The work of an operation's peak, and the processor time that its model takes for a unit."""

    units_a_second: float
    seconds_a_unit: float


@dataclass(frozen=True)
class Answer:
    """When it was whole, in seconds from the beginning of the flood, how long it took, and whether it names a wait."""

    operation: str
    at: float
    took: float
    status: int
    units: float
    names_wait: bool


async def _written(call: Call) -> tuple[bytes, str]:
    """The body of a call and its content type, so that the callers do not make each body again."""
    if call.file is None:
        return json.dumps(call.body).encode(), "application/json"
    body = form(call)()
    return await body.as_bytes(), body.headers["Content-Type"]


class _Flood:
    """Calls for whose answers nobody waits."""

    def __init__(self, session: aiohttp.ClientSession, address: str, keys: Sequence[str]) -> None:
        self._session, self._address, self._keys = session, address, itertools.cycle(keys)
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()
        self._tasks: set[asyncio.Task[None]] = set()
        self.answers: list[Answer] = []
        self.sent = 0

    async def arrive(self, operation: str, rate: float, seconds: float) -> None:
        """Send ``rate`` calls a second on average."""
        rng, at = random.Random(operation), 0.0
        waiting = itertools.cycle([(call, *await _written(call)) for call in calls(operation, _DIFFERENT_CALLS, 2)])
        while (at := at + rng.expovariate(rate)) < seconds:
            await asyncio.sleep(max(0.0, self._begun + at - self._loop.time()))
            self.sent += 1
            task = asyncio.create_task(self._call(operation, *next(waiting)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _call(self, operation: str, call: Call, body: bytes, kind: str) -> None:
        status, names_wait, units, began = 0, True, call.units, self._loop.time()
        headers = {"Content-Type": kind, "Authorization": f"Bearer {next(self._keys)}"}
        try:
            async with self._session.post(self._address + call.path, data=body, headers=headers) as response:
                units = units_of(call, await response.read())
                status, names_wait = response.status, "Retry-After" in response.headers
        except (aiohttp.ClientError, OSError):
            pass
        now = self._loop.time()
        self.answers.append(Answer(operation, now - self._begun, now - began, status, units, names_wait))

    async def hang_up(self) -> None:
        left = list(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def flood(address: str, keys: Sequence[str], rates: Mapping[str, float], seconds: float) -> tuple[int, list[Answer]]:
    """Send this many calls of each operation a second, and hang up at the end. Returns how many were sent."""

    async def run() -> tuple[int, list[Answer]]:
        timeout, connector = aiohttp.ClientTimeout(total=600), aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            client = _Flood(session, address, keys)
            await asyncio.gather(*(client.arrive(name, rate, seconds) for name, rate in rates.items()))
            await client.hang_up()
            return client.sent, client.answers

    return asyncio.run(run())


async def _health(root: str, until: asyncio.Event) -> list[float]:
    """Seconds of each look at whether the frontend lives, over a new connection each time."""
    seconds = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
        while not until.is_set():
            began = time.perf_counter()
            async with session.get(f"{root}/health/live") as response:
                await response.read()
                assert response.status == 200
            seconds.append(time.perf_counter() - began)
            await asyncio.sleep(_HEALTH_SECONDS)
    return seconds


async def _company(client: Client, operations: Sequence[str], until: asyncio.Event) -> dict[str, list[Sample]]:
    """Small calls, of each operation in turn."""
    pause = _COMPANY_SECONDS / len(operations)
    samples: dict[str, list[Sample]] = {operation: [] for operation in operations}
    while not until.is_set():
        for operation in operations:
            samples[operation].append(await client.send(COMPANY[operation], asyncio.get_running_loop().time()))
            await asyncio.sleep(pause)
    return samples


class Overload:
    """Measures at one product."""

    def __init__(self, target: Target, seconds: float) -> None:
        self._target, self._seconds = target, seconds
        self._root = target.address.removesuffix("/v1")
        self._settings = Settings(database=target.database)
        self._keys: list[str] = []
        self.faults: list[str] = []

    async def measure(self, operations: Sequence[str], *, together: bool) -> None:
        """Print a line for each operation under load, and one for all of them."""
        key, *self._keys = await asyncio.to_thread(with_registry, self._settings, _keys)
        async with (
            connected(self._target.address, self._target.key) as free,
            connected(self._target.address, key) as own,
        ):
            peaks, rates, alone = dict[str, Peak](), {}, {}
            for operation in operations:
                work = calls(operation, _DIFFERENT_CALLS, 1)
                await closed(free, work, 4, 3.0)
                before = processor_seconds()
                peak = summary(await closed(free, work, _PEAK_CALLERS, _PEAK_SECONDS))
                models = processor_seconds()["models"] - before["models"]
                units = peak.units_a_second * peak.seconds
                peaks[operation] = Peak(peak.units_a_second, models / units)
                rates[operation] = _TIMES * peak.calls_a_second
                alone[operation] = (await self._beside(own, [operation], _ALONE_SECONDS))[operation]
            print(head(_HEAD), flush=True)
            loads = [list(operations)] if together else [[operation] for operation in operations]
            for load in loads:
                await self._under({name: rates[name] for name in load}, peaks, alone, own)

    async def _beside(self, own: Client, operations: Sequence[str], seconds: float) -> dict[str, list[Sample]]:
        until = asyncio.Event()
        asyncio.get_running_loop().call_later(seconds, until.set)
        return await _company(own, operations, until)

    async def _under(
        self,
        rates: Mapping[str, float],
        peaks: Mapping[str, Peak],
        alone: Mapping[str, Sequence[Sample]],
        own: Client,
    ) -> None:
        until, seconds = asyncio.Event(), self._seconds
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            given = (self._target.address, self._keys, rates, seconds)
            flooding = asyncio.get_running_loop().run_in_executor(pool, flood, *given)
            await asyncio.sleep(_RAMP_SECONDS)
            before, began = processor_seconds(), time.monotonic()
            health = asyncio.create_task(_health(self._root, until))
            company = asyncio.create_task(_company(own, list(rates), until))
            sent, answers = await flooding
            until.set()
            used = {name: each - before[name] for name, each in processor_seconds().items()}
            used = {name: each / (time.monotonic() - began) for name, each in used.items()}
        await company
        await asyncio.sleep(_EMPTY_SECONDS)
        text = await asyncio.to_thread(_read, f"{self._root}/metrics")
        left = {name: value for name in GAUGES if (value := summed(text, name))}
        self._tell(rates, peaks, alone, sent, answers, await health, await company, left, used)

    def _tell(
        self,
        rates: Mapping[str, float],
        peaks: Mapping[str, Peak],
        alone: Mapping[str, Sequence[Sample]],
        sent: int,
        answers: Sequence[Answer],
        health: Sequence[float],
        company: Mapping[str, Sequence[Sample]],
        left: Mapping[str, float],
        used: Mapping[str, float],
    ) -> None:
        statuses = Counter(answer.status for answer in answers)
        silent = sum(answer.status in (429, 502) and not answer.names_wait for answer in answers)
        # Work was done for these in vain.
        late = Counter(answer.operation for answer in answers if answer.status == 502 and answer.took > _LATE_SECONDS)
        good: dict[str, float] = dict.fromkeys(rates, 0.0)
        for answer in answers:
            if answer.status == 200 and answer.at > _RAMP_SECONDS:
                good[answer.operation] += answer.units / (self._seconds - _RAMP_SECONDS)
        for name, samples in company.items():
            good[name] += sum(each.units for each in samples if each.status == 200) / (self._seconds - _RAMP_SECONDS)
        parts = {name: good[name] / peaks[name].units_a_second for name in rates}
        # What the models computed at the speed of the peaks, in the processor time that they had.
        efficiency = sum(good[name] * peaks[name].seconds_a_unit for name in rates) / used["models"]
        idle = {name: p95([each.seconds for each in alone[name]]) for name in rates}
        beside = {name: p95([each.seconds for each in company[name]]) for name in rates}
        refused = Counter(each.status for samples in company.values() for each in samples if each.status != 200)
        name = next(iter(rates)) if len(rates) == 1 else "all together"
        cells = (
            name,
            f"{sent / self._seconds:.1f}",
            ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items())),
            ", ".join(f"{late[each]}" for each in rates),
            silent,
            ", ".join(f"{good[each]:.0f} {UNIT_OF[each]}" for each in rates),
            ", ".join(f"{100 * part:.0f} %" for part in parts.values()) + f" (sum {100 * sum(parts.values()):.0f} %)",
            f"{100 * efficiency:.0f} %",
            ", ".join(f"{each:.2f}" for each in used.values()),
            f"{1000 * p95(health):.0f}",
            ", ".join(f"{1000 * idle[each]:.0f}, {1000 * beside[each]:.0f}" for each in rates),
            ", ".join(f"{beside[each] / idle[each]:.1f}" for each in rates),
            ", ".join(f"{value:g} {each}" for each, value in left.items()) or "nothing",
        )
        print(line(cells), flush=True)
        checks = {
            f"answers {dict(statuses)}": not statuses.keys() - {200, 429, 502},
            f"{silent} refusals without Retry-After": not silent,
            f"health p95 {p95(health):.3f} s": p95(health) < 0.1,
            f"goodput {sum(parts.values()):.2f} of the peak": sum(parts.values()) >= 0.9,
            f"a company's p95 is {max(beside[each] / idle[each] for each in rates):.1f} times its own": all(
                beside[each] <= 2 * idle[each] for each in rates
            ),
            f"a company is refused: {dict(refused)}": not refused,
            f"in hand: {dict(left)}": not left,
        }
        self.faults += [f"{name}: {fault}" for fault, holds in checks.items() if not holds]


def _read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        text: str = answer.read().decode()
    return text


async def _keys(registry: Registry) -> list[str]:
    """A company's key and those of the flood."""
    tiers = ["company", *["free"] * _KEYS]
    return [await registry.create(f"{tier} {number}", tier, None, {}, None) for number, tier in enumerate(tiers)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Send ten times the capacity.")
    parser.add_argument("--operations", nargs="+", choices=list(UNIT_OF), default=list(UNIT_OF))
    parser.add_argument("--seconds", type=float, default=60.0, help="of each load")
    parser.add_argument("--together", action="store_true", help="all these operations at once")
    parser.add_argument("--apart", action="store_true", help="half of the processors are for the models alone")
    given = parser.parse_args()
    processors = sorted(os.sched_getaffinity(0))
    half = len(processors) // 2
    if given.apart:
        if not half:
            parser.error("--apart needs two processors")
        # What is started now keeps to these.
        use(processors[:half])
    # The callers stand for those of many addresses.
    with own_product(variables={f"{PREFIX}CONNECTIONS_PER_ADDRESS": "0"}) as target:
        if given.apart:
            use(processors[half:])
        overload = Overload(target, given.seconds)
        asyncio.run(overload.measure(given.operations, together=given.together))
    print(*overload.faults or ["every promise was kept"], sep="\n", flush=True)
    return 1 if overload.faults else 0


if __name__ == "__main__":
    sys.exit(main())
