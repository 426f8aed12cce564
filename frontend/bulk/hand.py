"""The actor of a cluster: does stretches of the input, several at a time."""

import asyncio
import time
from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Any

import orjson

from frontend.bulk.client import Client, Server
from frontend.bulk.failures import BulkError
from frontend.bulk.kinds import output_of, source_of
from frontend.bulk.operations import OPERATIONS
from frontend.bulk.outputs import AudioFiles, Gathered, Output
from frontend.bulk.pace import Pace
from frontend.bulk.progress import Tally
from frontend.bulk.runs import Job
from frontend.bulk.sources import Item, Source
from frontend.bulk.work import Worker


class Hand:
    """One actor, with ``at_once`` requests under way.

    A stretch begins when all requests of the one before have been sent: together they would end together, and leave
    the server without work until the next ones come.
    """

    def __init__(self, job: Job, server: Server, token: str, at_once: int) -> None:
        self._job, self._server, self._token, self._at_once = job, server, token, at_once
        self._operation, self._pace = OPERATIONS[job.operation](job.options), Pace(at_once)
        self._source: Source | None = None
        self._sends = asyncio.Lock()

    async def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[bytes]]:
        """What came of each stretch, as JSON; ``ended`` is the sentence that ends the run."""
        return {"said": [await self._said(orjson.loads(stretch)) for stretch in batch["stretch"]]}

    async def _said(self, stretch: Mapping[str, Any]) -> bytes:
        began, tally, failures = time.monotonic(), Tally(), Gathered(stretch["failed"])
        try:
            await self._do(stretch["first"], tally, failures)
        except BulkError as error:
            return orjson.dumps({"ended": str(error)})
        failed = [(item.number, item.id, values) for item, values in failures.items]
        return orjson.dumps({**vars(tally), "seconds": time.monotonic() - began, "failures": failed})

    async def _do(self, first: int, tally: Tally, failures: Gathered) -> None:
        job, operation = self._job, self._operation
        if self._source is None:
            self._source = source_of(job, operation)
        if job.operation == "speak":
            output: Output = AudioFiles(job.output, failures, operation.options["response_format"])
        else:
            output = output_of(job, operation, self._source.count)
        async with Client(self._server, operation, self._pace, self._token) as client:
            await self._sends.acquire()
            with closing(self._items(self._source, first)) as items:
                await Worker(client, operation, output, tally).run(items, self._at_once)

    def _items(self, source: Source, first: int) -> Generator[Item]:
        """A stretch, which lets the next one begin when the last of it is taken."""
        try:
            yield from source.items(first, self._operation.part)
        finally:
            self._sends.release()
