"""The work itself: batches of items, so many at once, until each item has come to something."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from frontend.bulk.client import Client
from frontend.bulk.failures import ItemError, StoppedError
from frontend.bulk.operations import Operation, batches
from frontend.bulk.outputs import Output
from frontend.bulk.progress import Tally
from frontend.bulk.sources import Item

# So many batches that are done already are passed over before others have a turn of the event loop.
_PASSED = 256


@dataclass
class Worker:
    """Does what is missing of items; where its client's pace is stopped, it ends when what is under way is done."""

    client: Client
    operation: Operation
    output: Output
    tally: Tally

    async def run(self, items: Iterator[Item], at_once: int) -> None:
        """All of ``items``; ``BulkError`` where that cannot be."""
        waiting = batches(self.operation, items)
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(at_once):
                    tasks.create_task(self._work(waiting))
        except BaseExceptionGroup as group:
            # The first says why; the others were cancelled, or met the same.
            raise group.exceptions[0] from None

    async def _work(self, waiting: Iterator[list[Item]]) -> None:
        for place, batch in enumerate(waiting):
            missing = [item for item in batch if not self.output.has(item)]
            self.tally.note_before(len(batch) - len(missing))
            try:
                if missing:
                    await self._do(missing)
                elif place % _PASSED == 0:
                    await asyncio.sleep(0)
            except StoppedError:
                return
            if self.client.pace.stopped.is_set():
                return

    async def _do(self, items: Sequence[Item]) -> None:
        bad = [item for item in items if item.error]
        for item in bad:
            self._fail(item, item.error)
        if good := [item for item in items if not item.error]:
            await self._ask(good)

    async def _ask(self, items: Sequence[Item]) -> None:
        """One request, or where it is refused two of half of it, down to the item that is at fault."""
        try:
            outcomes = await self.client.ask(items)
        except ItemError as error:
            if len(items) == 1:
                self._fail(items[0], str(error))
                return
            half = len(items) // 2
            ended = await asyncio.gather(self._ask(items[:half]), self._ask(items[half:]), return_exceptions=True)
            for failure in filter(None, ended):
                raise failure from None
            return
        for item, (values, work) in zip(items, outcomes, strict=True):
            self.output.write(item, values)
            self.tally.note(work)

    def _fail(self, item: Item, message: str) -> None:
        self.output.fail(item, message)
        self.tally.note_failure()
