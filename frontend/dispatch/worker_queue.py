"""Worker processes and threads behind a queue by tier and key."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import ParamSpec, TypeVar

from frontend.dispatch.context import RequestContext
from frontend.dispatch.queue import ModelQueue
from frontend.observe.record import current
from frontend.processes.offload import Offload, Threads

P = ParamSpec("P")
T = TypeVar("T")
# Span names in traces, if they differ from the queue's name.
_SPANS = {"audio": "decode"}


class WorkerQueue:
    """``queue`` has one slot for each of the ``workers``."""

    def __init__(self, queue: ModelQueue, workers: Offload | Threads) -> None:
        self._queue, self._workers = queue, workers

    async def run(self, context: RequestContext, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Queue a call of ``function`` and return its result. A cancelled call may run on for the workers' grace."""
        return await self.run_with((), context, function, *args, **kwargs)

    async def run_with(
        self,
        used: Sequence[AbstractContextManager[object]],
        context: RequestContext,
        function: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The same within the contexts ``used``, which last until the work ends, even if the caller is cancelled."""

        async def work(backend: str) -> T:
            with ExitStack() as stack:
                for each in used:
                    stack.enter_context(each)
                with current().tracer.span(_SPANS.get(self._queue.model, self._queue.model)):
                    return await self._workers.run(function, *args, **kwargs)

        return await self._queue.run(context, work, grace=lambda backend: self._workers.grace)

    @property
    def works(self) -> bool:
        """Whether at least one worker is alive."""
        return self._workers.works

    async def close(self) -> None:
        await self._workers.close()
