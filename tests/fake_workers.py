"""``quartet serve`` with a fake Triton: ``python -m tests.fake_workers``.

The embedding of a text of more than ``_LONG`` tokens takes ``FAKE_SECONDS``.
"""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from frontend.app import create_app
from frontend.config.settings import Settings
from frontend.http.server import serve
from frontend.observe.logs import set_up_logging
from frontend.processes.worker import Start
from frontend.processes.workers import Workers
from frontend.tritons.triton import Arrays
from tests.fakes import FakeTriton

SECONDS = "FAKE_SECONDS"
_LONG = 50


class _Slow(FakeTriton):
    async def infer(
        self, model: str, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str], seconds: float
    ) -> Arrays:
        if model == "m3_embedder" and inputs["lengths"].max() > _LONG:
            await asyncio.sleep(float(os.environ[SECONDS]))
        return await super().infer(model, inputs, outputs, seconds)


def _read() -> Settings:
    return Settings.from_env(os.environ)


if __name__ == "__main__":
    if arguments := sys.argv[1:]:
        start = Start.read(int(arguments[0]))
        set_up_logging(start.settings.log_level, start.settings.log_format)
        serve(create_app(start.settings, connect=_Slow), start)
    else:
        settings = _read()
        set_up_logging(settings.log_level, settings.log_format)
        sys.exit(Workers(settings, [sys.executable, "-m", "tests.fake_workers"], _read).run())
