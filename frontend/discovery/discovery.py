"""Discovery: resolve a pool's names, add a Triton for each new address, and remove those that are gone."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace

from frontend.concurrency.background import Repeating, cancel_all
from frontend.config.pools import PoolSetting, TritonAddress
from frontend.discovery.resolver import Resolver, Unresolved
from frontend.dispatch.dispatcher import Dispatcher
from frontend.observe.logs import log
from frontend.tritons.inference import InferenceServer

# Empty DNS answers in a row until a name loses its addresses. A DNS server that just started may know none yet.
# The probes find dead Tritons meanwhile.
_EMPTY_ANSWERS = 3

# Makes the client of an address, with ``Tls`` if the pool has it. Raises ``OSError`` if a TLS file cannot be read.
Connect = Callable[..., InferenceServer]


@dataclass(frozen=True)
class _Answer:
    """The IP addresses of a setting's address, and the number of empty answers since."""

    addresses: Sequence[str] = ()
    empty: int = 0


class Discovery:
    """Resolves one pool every ``seconds``; ``models`` gives the most calls in flight by model, 0 for no cap."""

    def __init__(
        self,
        pool: PoolSetting,
        models: Mapping[str, int],
        dispatcher: Dispatcher,
        resolver: Resolver,
        connect: Connect,
        seconds: float,
    ) -> None:
        self._pool, self._models, self._dispatcher = pool, models, dispatcher
        self._resolver, self._connect = resolver, connect
        # The setting's address by IP address and port of each Triton.
        self._members: dict[str, TritonAddress] = {}
        self._named = pool.read()
        self._answers: dict[TritonAddress, _Answer] = {}
        self._failing: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._repeating = Repeating(seconds, self.refresh)

    async def start(self) -> None:
        """Resolve once, wait for the trials, then resolve in the background."""
        await self.refresh()
        await asyncio.gather(*self._tasks)
        self._repeating.start()

    async def close(self) -> None:
        """Stop at once, without waiting for calls of removed Tritons."""
        await self._repeating.close()
        await cancel_all(list(self._tasks))

    async def refresh(self) -> None:
        """Resolve the names, add new Tritons and remove those that are gone."""
        self._named = await self._read()
        answers = await asyncio.gather(*map(self._resolve, self._named))
        self._answers = dict(zip(self._named, answers, strict=True))
        members = {
            str(replace(named, host=address)): named
            for named, answer in self._answers.items()
            for address in answer.addresses
        }
        for address, _ in self._members.items() - members.items():
            log.info("Triton gone", extra={"fields": {"backend": self._name(address)}})
            self._begin(self._dispatcher.remove(self._name(address)))
            del self._members[address]
        for address, named in members.items() - self._members.items():
            self._add(address, named)

    def _add(self, address: str, named: TritonAddress) -> None:
        """Add a Triton, if its client can be made."""
        tls = self._pool.tls(named.host)
        try:
            server = self._connect(address, tls) if tls else self._connect(address)
        except OSError as error:
            self._note_failure("tls", str(error))
            return
        self._failing.discard("tls")
        log.info("Triton found", extra={"fields": {"backend": self._name(address)}})
        self._begin(self._dispatcher.add(self._name(address), server, self._models, named.zone))
        self._members[address] = named

    def _name(self, address: str) -> str:
        return f"{self._pool.name}/{address}"

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self) -> list[TritonAddress]:
        """The pool's addresses, from the settings or its file; the previous ones if the file cannot be read."""
        try:
            named = await asyncio.to_thread(self._pool.read) if self._pool.file else self._named
        except (OSError, ValueError) as error:
            self._note_failure(str(self._pool.file), str(error))
            return self._named
        self._failing.discard(str(self._pool.file))
        return named

    async def _resolve(self, named: TritonAddress) -> _Answer:
        """The IP addresses of a setting's address; the previous ones if DNS fails or has just become empty."""
        last = self._answers.get(named, _Answer())
        try:
            addresses = await self._resolver.addresses(named.host)
        except Unresolved as error:
            self._note_failure(named.host, str(error))
            return last
        self._failing.discard(named.host)
        if not addresses and last.empty + 1 < _EMPTY_ANSWERS:
            return _Answer(last.addresses, last.empty + 1)
        return _Answer(addresses)

    def _note_failure(self, source: str, details: str) -> None:
        """Log a failure, once until ``source`` works again."""
        if source not in self._failing:
            self._failing.add(source)
            fields = {"pool": self._pool.name, "source": source, "details": details}
            log.warning("the addresses of a pool cannot be found", extra={"fields": fields})
