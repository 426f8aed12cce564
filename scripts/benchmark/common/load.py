"""Three shapes of load: a closed loop of callers, Poisson arrivals, and a burst."""

import asyncio
import itertools
import random
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aiohttp

if TYPE_CHECKING:
    from scripts.benchmark.common.inputs import Call

Keep = Callable[["Call", bytes], None]
_LONGEST_SECONDS = 600.0
_TOKENS = re.compile(rb'"total_tokens": ?(\d+)')


@dataclass(frozen=True)
class Sample:
    """One call: when it was due and how long it took, in seconds. ``status`` 0 means that the connection failed."""

    due: float
    seconds: float
    status: int
    units: float


class Client:
    """Sends calls to one address; ``keep`` gets each complete answer."""

    def __init__(self, session: aiohttp.ClientSession, address: str, keep: Keep | None = None) -> None:
        self._session, self._address, self._keep = session, address, keep

    async def send(self, call: "Call", due: float) -> Sample:
        """Send a call and read its answer. Time counts from ``due``, so a late start counts too.

        For texts, the unit of work is the answer's number of tokens.
        """
        units = call.units
        try:
            data = None if call.file is None else form(call)
            async with self._session.post(self._address + call.path, json=call.body, data=data) as response:
                content = await response.read()
                status = response.status
                units = units_of(call, content)
                if self._keep:
                    self._keep(call, content)
        except (aiohttp.ClientError, TimeoutError, OSError):
            status = 0
        return Sample(due, _now() - due, status, units)


def _now() -> float:
    return asyncio.get_running_loop().time()


def units_of(call: "Call", content: bytes) -> float:
    """The work of a call: tokens by its answer, else what the call says."""
    tokens = _TOKENS.search(content)
    return float(tokens[1]) if tokens else call.units


def form(call: "Call") -> aiohttp.FormData:
    """The file of a call and its fields."""
    made = aiohttp.FormData(call.fields)
    made.add_field("file", call.file, filename="clip.wav", content_type="audio/wav")
    return made


@asynccontextmanager
async def connected(address: str, key: str, keep: Keep | None = None) -> AsyncIterator[Client]:
    """A client with any number of connections."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    timeout = aiohttp.ClientTimeout(total=_LONGEST_SECONDS)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, headers=headers) as session:
        yield Client(session, address.rstrip("/"), keep)


async def closed(client: Client, calls: "Sequence[Call]", callers: int, seconds: float) -> list[Sample]:
    """``callers`` send one call after the other for ``seconds``, and start ``calls`` again at the end."""
    samples: list[Sample] = []
    end = _now() + seconds
    waiting = itertools.cycle(calls)

    async def caller() -> None:
        while (due := _now()) < end:
            samples.append(await client.send(next(waiting), due))

    await asyncio.gather(*(caller() for _ in range(callers)))
    return samples


async def each_once(client: Client, calls: "Sequence[Call]", callers: int) -> list[Sample]:
    """``callers`` send one call after the other until all ``calls`` are answered."""
    waiting = iter(calls)

    async def caller() -> list[Sample]:
        return [await client.send(call, _now()) for call in waiting]

    answered = await asyncio.gather(*(caller() for _ in range(callers)))
    return [sample for samples in answered for sample in samples]


async def poisson(client: Client, calls: "Sequence[Call]", rate: float, seconds: float, seed: int) -> list[Sample]:
    """Calls arrive at ``rate`` per second on average, without waiting for earlier answers."""
    rng = random.Random(seed)
    sent: list[asyncio.Task[Sample]] = []
    due = begun = _now()
    while (due := due + rng.expovariate(rate)) < begun + seconds:
        await asyncio.sleep(max(0.0, due - _now()))
        sent.append(asyncio.create_task(client.send(calls[len(sent) % len(calls)], due)))
    return list(await asyncio.gather(*sent))


async def burst(client: Client, calls: "Sequence[Call]") -> list[Sample]:
    """Send all calls at once."""
    now = _now()
    return list(await asyncio.gather(*(client.send(call, now) for call in calls)))
