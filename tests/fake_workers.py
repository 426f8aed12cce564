"""``quartet serve`` with a fake Triton: ``python -m tests.fake_workers``.

The embedding of a text of more than ``_LONG`` tokens takes ``FAKE_SECONDS``.
"""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from frontend.commands.serve import serve
from frontend.config.settings import Settings
from tests.loop_watch import watch_frontend

if TYPE_CHECKING:
    from aiohttp import web

SECONDS = "FAKE_SECONDS"
_LONG = 50


def _app(settings: Settings) -> "web.Application":
    # The parent of several workers must not have imported them.
    from frontend.app import create_app
    from tests.fakes import FakeTriton

    class Slow(FakeTriton):
        async def infer(self, model: str, inputs: Mapping[str, Any], outputs: Sequence[str], seconds: float) -> Any:
            if model == "m3_embedder" and inputs["lengths"].max() > _LONG:
                await asyncio.sleep(float(os.environ[SECONDS]))
            try:
                return await super().infer(model, inputs, outputs, seconds)
            finally:
                # Nobody reads them here, and they would count as memory of the frontend.
                self.calls.clear()

    return create_app(settings, connect=Slow)


if __name__ == "__main__":
    watch_frontend()
    sys.exit(serve(Settings.from_env(os.environ), _app))
