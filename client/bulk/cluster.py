"""Runs on a Ray cluster: Ray Data gives ranges of the input to actors, which process them as one machine does.

Every node needs Ray, access to the server, and the input and output at the same path. Ray sends this package.
Each range has its own output, so a range that Ray gives to a second actor replaces the first one's.
"""

import asyncio
import logging
import os
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from client.api import CommandError
from client.bulk.inputs import Item, Source
from client.bulk.job import LINES, Job
from client.bulk.outputs import AudioFiles
from client.bulk.pace import Pace
from client.bulk.progress import Tally
from client.bulk.run import RunContext, complete
from client.bulk.work import Worker

# Processors that an actor reserves. It mostly waits for answers.
_PROCESSORS = 0.25
# Actors per node: while one waits for the last requests of its range, another sends.
_ACTORS = 2
_EXTRA = "--ray needs more than the frontend: in a checkout, pip install '.[ray]'"


class _Failures:
    """New failures of a range, which the driver records. ``before`` are earlier ones."""

    def __init__(self, before: Collection[int]) -> None:
        self._before = before
        self.new: list[tuple[int, str, dict[str, Any]]] = []

    def has(self, number: int) -> bool:
        return number in self._before

    def add(self, item: Item, values: dict[str, Any]) -> None:
        self.new.append((item.number, item.id, values))

    def count(self) -> int:
        return len(self.new)

    def close(self) -> None:
        """Do nothing."""


class RayActor:
    """Processes ranges of the input, one after the other."""

    def __init__(self, job: Job, token: str) -> None:
        self._job, self._token = job, token
        self._source: Source | None = None

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[bytes]]:
        """The result of each range as JSON. ``ended`` is an error that ends the run."""
        return {"result": [orjson.dumps(self._do(**orjson.loads(chunk))) for chunk in batch["range"]]}

    def _do(self, first: int, failed: Collection[int]) -> dict[str, Any]:
        began, tally, failures = time.monotonic(), Tally(), _Failures(failed)
        try:
            self._source = self._source or self._job.source()
            output = self._job.outcomes(self._source.count, failures)
            worker = Worker(self._job, output, tally, Pace(self._job.at_once), self._token)
            asyncio.run(worker.run(self._source.items(first, self._job.operation.part)))
        except (CommandError, OSError) as error:
            return {"ended": str(error)}
        return {"tally": vars(tally), "seconds": time.monotonic() - began, "failures": failures.new}


def run(job: Job, address: str) -> bool:
    """Process missing items on the cluster at ``address``; ``local`` starts one here."""
    ray = _ray()
    if job.output.suffix in LINES:
        raise CommandError(f"{job.output}: a cluster writes parts: name a .parquet folder")
    # Actors have another working directory.
    job = replace(job, input=job.input.resolve(), output=job.output.resolve())

    def work(context: RunContext) -> bool:
        try:
            _connect(ray, address)
            _record(_results(ray, context), context)
        except ray.exceptions.RayError as error:
            raise CommandError(f"--ray {address}: {str(error).strip().splitlines()[0]}") from error
        finally:
            ray.shutdown()
        return True

    return complete(job, work)


def _ray() -> Any:
    # Ray sends usage statistics of each cluster that it starts, unless this is set.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray.data
    except ModuleNotFoundError:
        raise CommandError(_EXTRA) from None
    return ray


def _connect(ray: Any, address: str) -> None:
    try:
        ray.init(
            address=None if address == "local" else address,
            runtime_env={"py_modules": [str(Path(__file__).parents[1])], "excludes": ["**/__pycache__", "recordings"]},
            log_to_driver=False,
            logging_level="ERROR",
            include_dashboard=False if address == "local" else None,
        )
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        raise CommandError(f"--ray {address}: {error}") from None


def _results(ray: Any, context: RunContext) -> Iterator[Mapping[str, Any]]:
    """The actors' results, as they arrive."""
    part, total = context.job.operation.part, context.source.count
    failures, ranges = context.output.failures if isinstance(context.output, AudioFiles) else None, []
    for first in range(0, total, part):
        failed = [n for n in range(first, min(first + part, total)) if failures is not None and failures.has(n)]
        ranges.append({"range": orjson.dumps({"first": first, "failed": failed})})
    if not ranges:
        return
    nodes = sum(node["Alive"] for node in ray.nodes())
    actors = max(1, min(len(ranges), context.job.at_once, _ACTORS * nodes))
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
    rows = ray.data.from_items(ranges, override_num_blocks=len(ranges)).map_batches(
        RayActor,
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=actors, max_tasks_in_flight_per_actor=1),
        num_cpus=_PROCESSORS,
        fn_constructor_kwargs={
            "job": replace(context.job, at_once=context.job.at_once // actors),
            "token": context.token,
        },
    )
    for row in rows.iter_rows():
        yield orjson.loads(row["result"])


def _record(results: Iterator[Mapping[str, Any]], context: RunContext) -> None:
    """Count results, and record failures that actors did not record."""
    for place, result in enumerate(results):
        if "ended" in result:
            raise CommandError(result["ended"])
        if place == 0:
            context.progress.begin(result["seconds"])
        context.progress.note(**result["tally"])
        for number, name, values in result["failures"]:
            context.output.fail(Item(number, name), values["error"])
