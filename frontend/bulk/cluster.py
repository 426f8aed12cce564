"""A run over a Ray cluster: Ray Data hands stretches of the input to actors, which do them as one machine does.

Every node needs Ray, the input and the output at the same path, and a way to the product; this package is sent along.
The output has a part, or files, for each stretch: one that Ray gives to a second actor is written to the same place.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from frontend.bulk.client import Client, Server
from frontend.bulk.failures import BulkError
from frontend.bulk.local import EXTRA, LINES, finish, output_of, source_of
from frontend.bulk.operations import OPERATIONS
from frontend.bulk.outputs import AudioFiles, Gathered, Numbers, sweep
from frontend.bulk.pace import Pace
from frontend.bulk.progress import Progress, Tally
from frontend.bulk.runs import Job, Run
from frontend.bulk.sources import Item
from frontend.bulk.work import Worker

# Of a processor, for an actor: it waits for answers.
_PROCESSORS = 0.25


class Hand:
    """One actor: does stretches of the input, ``at_once`` requests at a time."""

    def __init__(self, job: Job, server: Server, token: str, at_once: int) -> None:
        self._job, self._server, self._token, self._at_once = job, server, token, at_once
        self._operation = OPERATIONS[job.operation](job.options)
        self._source = source_of(job, self._operation)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[bytes]]:
        """What came of each stretch, as JSON; ``ended`` is the sentence that ends the run."""
        return {"said": [self._said(orjson.loads(stretch)) for stretch in batch["stretch"]]}

    def _said(self, stretch: Mapping[str, Any]) -> bytes:
        tally, failures = Tally(), Gathered(stretch["failed"])
        try:
            asyncio.run(self._do(stretch["first"], tally, failures))
        except BulkError as error:
            return orjson.dumps({"ended": str(error)})
        failed = [(item.number, item.id, values) for item, values in failures.items]
        return orjson.dumps(
            {"before": tally.before, "done": tally.done, "failed": tally.failed, "work": tally.work, "failures": failed}
        )

    async def _do(self, first: int, tally: Tally, failures: Gathered) -> None:
        operation, job = self._operation, self._job
        if job.operation == "speak":
            output: Any = AudioFiles(job.output, failures, operation.options["response_format"])
        else:
            output = output_of(job, operation, self._source.count)
        async with Client(self._server, operation, Pace(self._at_once), self._token) as client:
            worker = Worker(client, operation, output, tally)
            await worker.run(self._source.items(first, operation.part), self._at_once)


def run(job: Job, server: Server, at_once: int, address: str, say: Callable[[str], None]) -> bool:
    """Do what is missing on the cluster at ``address``, or one that is started here where that is ``local``."""
    try:
        import ray.data
    except ModuleNotFoundError:
        raise BulkError(EXTRA) from None
    if job.output.suffix in LINES:
        raise BulkError(f"{job.output}: a cluster writes parts: name a .parquet folder")
    # Paths mean the same in every process of a node.
    job = replace(job, input=job.input.resolve(), output=job.output.resolve())
    operation = OPERATIONS[job.operation](job.options)
    source = source_of(job, operation)
    with Run(job, source.mark) as begun:
        sweep(job.output)
        output = output_of(job, operation, source.count)
        progress = Progress(source.count, operation.unit)
        try:
            _connect(ray, address)
            for said in _outcomes(ray, job, server, begun.token, at_once, source.count, output):
                if "ended" in said:
                    raise BulkError(said["ended"])
                progress.note(said["work"], said["done"])
                progress.note_failure(said["failed"])
                progress.note_before(said["before"])
                for number, name, values in said["failures"]:
                    output.fail(Item(number, name), values["error"])
        finally:
            output.close()
            progress.close()
            ray.shutdown()
        say(progress.summary())
        return finish(job, source, output, operation, say)


def _connect(ray: Any, address: str) -> None:
    here = Path(__file__).parents[1]
    # Ray tells its makers of each cluster that it starts, unless it is told not to.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(
            address=None if address == "local" else address,
            runtime_env={"py_modules": [str(here)], "excludes": ["**/__pycache__"]},
            log_to_driver=False,
            logging_level="ERROR",
            include_dashboard=False if address == "local" else None,
        )
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        raise BulkError(f"--ray {address}: {error}") from None


def _outcomes(ray: Any, job: Job, server: Server, token: str, at_once: int, total: int, output: Any) -> Any:
    """What actors say of their stretches, as they end."""
    part = OPERATIONS[job.operation].part
    failed = output.failures.numbers if isinstance(output, AudioFiles) else Numbers()
    stretches = [
        {"stretch": orjson.dumps({"first": first, "failed": [n for n in range(first, first + part) if n in failed]})}
        for first in range(0, total, part)
    ]
    if not stretches:
        return
    actors = min(len(stretches), max(1, sum(node["Alive"] for node in ray.nodes())))
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
    given = {"job": job, "server": server, "token": token, "at_once": max(1, -(-at_once // actors))}
    said = ray.data.from_items(stretches, override_num_blocks=len(stretches)).map_batches(
        Hand,
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=actors),
        num_cpus=_PROCESSORS,
        fn_constructor_kwargs=given,
    )
    for row in said.iter_rows():
        yield orjson.loads(row["said"])
