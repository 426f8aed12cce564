"""Metrics of one of several workers, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

from frontend.observe import METRICS_FOLDER, METRICS_NUMBER
from tests.conftest import ROOT

_PROGRAM = """
import asyncio
from frontend.observe.metrics import QUEUE_WAITING
from frontend.observe.table import write_gauges
from frontend.operations.status.metrics import render_metrics
QUEUE_WAITING.labels("m3_embedder", "free").set_function(lambda: 7)
asyncio.run(write_gauges())
print(render_metrics().decode())
"""


def test_workers_add_up_gauges_that_are_read_when_they_are_scraped(tmp_path: Path) -> None:
    # The last one takes the place of one that has ended.
    for number, waiting in ((0, 7.0), (1, 14.0), (1, 14.0)):
        environ = {**os.environ, METRICS_FOLDER: str(tmp_path), METRICS_NUMBER: str(number)}
        command = [sys.executable, "-c", _PROGRAM]
        said = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=True).stdout
        assert f'quartet_queue_waiting{{model="m3_embedder",tier="free"}} {waiting}\n' in said
