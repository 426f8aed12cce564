"""Sends requests of several items, in parallel, and repeats each until it is answered or refused."""

import asyncio
from collections.abc import Iterator, Sequence
from http import HTTPStatus

from client.api import Api, CommandError, Refusal
from client.bulk.inputs import Item, ItemError
from client.bulk.job import Job
from client.bulk.operations import Outcome, batches
from client.bulk.outputs import Output
from client.bulk.pace import Pace, StoppedError, pause
from client.bulk.progress import Tally

# Most attempts per request while the server is busy.
_ATTEMPTS = 10
_NO_SUCH_PATH = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
# Seconds without an answer before a refusal is printed.
_QUIET_SECONDS = 5.0
# Completed batches that are skipped before the event loop runs other tasks.
_SKIPPED = 256


class Worker:
    """Processes missing items of a job. If ``pace`` is stopped, it finishes the requests in flight and ends.

    Request ids contain ``token``.
    """

    def __init__(self, job: Job, output: Output, tally: Tally, pace: Pace, token: str) -> None:
        self._job, self._operation, self._output, self._tally = job, job.operation, output, tally
        self._pace, self._token = pace, token
        self._answered_at, self._is_reported = 0.0, False

    async def run(self, items: Iterator[Item]) -> None:
        """Process all ``items``; ``CommandError`` if the run cannot continue."""
        waiting = batches(self._operation, items)
        self._answered_at = asyncio.get_running_loop().time()
        async with Api(self._job.url, self._job.key, self._operation.answer_seconds) as api:
            try:
                async with asyncio.TaskGroup() as tasks:
                    for _ in range(self._job.at_once):
                        tasks.create_task(self._work(api, waiting))
            except BaseExceptionGroup as group:
                # The others have the same reason.
                raise group.exceptions[0] from None

    async def _work(self, api: Api, waiting: Iterator[list[Item]]) -> None:
        for place, batch in enumerate(waiting):
            missing = [item for item in batch if not self._output.has(item)]
            self._tally.note(before=len(batch) - len(missing))
            for item in missing:
                if item.error:
                    self._fail(item, item.error)
            try:
                if good := [item for item in missing if not item.error]:
                    await self._do(api, good)
                elif place % _SKIPPED == 0:
                    await asyncio.sleep(0)
            except StoppedError:
                return
            if self._pace.stopped.is_set():
                return

    async def _do(self, api: Api, items: Sequence[Item]) -> None:
        """Send one request. If it is rejected, send its halves, down to the faulty item."""
        try:
            outcomes = await self.ask(api, items)
        except ItemError as error:
            if len(items) == 1:
                self._fail(items[0], str(error))
                return
            half = len(items) // 2
            halves = (self._do(api, some) for some in (items[:half], items[half:]))
            for failure in filter(None, await asyncio.gather(*halves, return_exceptions=True)):
                raise failure from None
            return
        for item, (values, work) in zip(items, outcomes, strict=True):
            self._output.write(item, values)
            self._tally.note(1, work)

    def _fail(self, item: Item, message: str) -> None:
        self._output.fail(item, message)
        self._tally.note(failed=1)

    async def ask(self, api: Api, items: Sequence[Item]) -> list[Outcome]:
        """The outcomes of one request; ``ItemError`` if its content is rejected, or if it fails repeatedly.

        The same items have the same request id, so that the server charges them once.
        """
        headers = {"X-Request-Id": f"bulk-{self._token}-{items[0].number}-{len(items)}"}
        attempts, answered = 0, self._pace.answered
        while True:
            async with self._pace.slot() as sent:
                with self._operation.body(items) as body:
                    answer = await api.send("POST", self._operation.path, headers=headers, **body)
            if isinstance(answer, bytes):
                self._pace.note_answer()
                self._answered_at, self._is_reported = asyncio.get_running_loop().time(), False
                return self._operation.outcomes(items, answer)
            if answer.is_rate_limited:
                self._pace.close_for(max(1.0, answer.retry_after))
                continue
            if not answer.is_busy:
                raise self._end(answer)
            self._pace.note_busy(sent)
            self._report(answer)
            await self._pace.sleep(pause(attempts, answer.retry_after))
            attempts += 1
            # Give up on a batch, in which one item may be faulty, and on a single item if others succeed.
            if attempts >= _ATTEMPTS and (len(items) > 1 or self._pace.answered > answered):
                raise ItemError(answer.message)

    def _end(self, refusal: Refusal) -> Exception:
        """The error for a refusal: of the run if every request gets it, else of the items."""
        if refusal.status in _NO_SUCH_PATH:
            return CommandError(f"{self._job.url}: {refusal.message}")
        if refusal.param in self._operation.options:
            return CommandError(f"--{refusal.param}: {refusal.message}")
        return ItemError(refusal.message)

    def _report(self, refusal: Refusal) -> None:
        """Report an unreachable server, once until it answers; end the run after ``patience``."""
        silence, patience = asyncio.get_running_loop().time() - self._answered_at, self._job.patience
        if silence > patience:
            raise CommandError(f"nothing was answered for {silence:.0f} s, at last: {refusal.message}")
        if silence > _QUIET_SECONDS and not self._is_reported:
            self._is_reported = True
            self._tally.report(f"{refusal.message}; it is tried again for {patience:.0f} s (--patience)")
