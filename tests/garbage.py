"""What only garbage collection would free."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web


@contextmanager
def uncollected(found: list[object]) -> Iterator[None]:
    """Within the block, nothing is collected; then ``found`` has what of requests would have been."""
    gc.collect()
    gc.disable()
    try:
        yield
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found += [each for each in gc.garbage if isinstance(each, web.Request) or _is_ours(each)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def _is_ours(value: object) -> bool:
    return type(value).__module__.startswith("frontend.")
