"""Work beside the event loop, in an order: a queue by tier and key before processes or threads."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import ParamSpec, TypeVar

from frontend.dispatch.context import RequestContext
from frontend.dispatch.queue import ModelQueue
from frontend.observe.record import current
from frontend.processes.offload import Offload, Threads

P = ParamSpec("P")
T = TypeVar("T")
# What the work of some workers is called in a trace.
_SPANS = {"audio": "decode"}


class Pool:
    """``queue`` lets in as many as there are ``workers``."""

    def __init__(self, queue: ModelQueue, workers: Offload | Threads) -> None:
        self._queue, self._workers = queue, workers

    async def run(self, context: RequestContext, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call ``function`` when it is the caller's turn; a caller who goes leaves it the workers' grace."""
        return await self.run_with((), context, function, *args, **kwargs)

    async def run_with(
        self,
        used: Sequence[AbstractContextManager[object]],
        context: RequestContext,
        function: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The same, within the contexts ``used``, which last as long as the work and not only as its caller."""

        async def work(backend: str) -> T:
            with ExitStack() as stack:
                for each in used:
                    stack.enter_context(each)
                with current().tracer.span(_SPANS.get(self._queue.model, self._queue.model)):
                    return await self._workers.run(function, *args, **kwargs)

        return await self._queue.run(context, work, grace=lambda backend: self._workers.grace)

    @property
    def works(self) -> bool:
        """False while none of the workers is there."""
        return self._workers.works

    async def close(self) -> None:
        """End the workers."""
        await self._workers.close()
