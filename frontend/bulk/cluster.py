"""The work on a Ray cluster: Ray Data hands stretches of the input to actors, which do them as one machine does.

Every node needs Ray, the input and the output at the same path, and a way to the product; this package is sent along.
The output has a part, or files, for each stretch: one that Ray gives to a second actor is written to the same place.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from frontend.bulk.client import Server
from frontend.bulk.course import Begun, complete
from frontend.bulk.failures import BulkError
from frontend.bulk.hand import Hand
from frontend.bulk.kinds import EXTRA, LINES
from frontend.bulk.outputs import AudioFiles, Numbers
from frontend.bulk.runs import Job
from frontend.bulk.sources import Item

# Of a processor, for an actor: it waits for answers.
_PROCESSORS = 0.25
# Stretches that an actor has at once: while the last requests of one are under way, those of the other are sent.
_STRETCHES = 2


def run(job: Job, server: Server, at_once: int, address: str, say: Callable[[str], None]) -> bool:
    """Do what is missing on the cluster at ``address``, or one that is started here where that is ``local``."""
    ray = _ray()
    if job.output.suffix in LINES:
        raise BulkError(f"{job.output}: a cluster writes parts: name a .parquet folder")
    # Paths mean the same in every process of a node.
    job = replace(job, input=job.input.resolve(), output=job.output.resolve())

    def work(its: Begun) -> bool:
        try:
            _connect(ray, address)
            _follow(_outcomes(ray, job, server, at_once, its), its)
        except ray.exceptions.RayError as error:
            raise BulkError(f"--ray {address}: {str(error).strip().splitlines()[0]}") from error
        finally:
            ray.shutdown()
        return True

    return complete(job, work, say)


def _ray() -> Any:
    # Ray tells its makers of each cluster that it starts, and looks at this then.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray.data
    except ModuleNotFoundError:
        raise BulkError(EXTRA) from None
    return ray


def _connect(ray: Any, address: str) -> None:
    here = Path(__file__).parents[1]
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


def _follow(outcomes: Iterator[Mapping[str, Any]], its: Begun) -> None:
    """Tell what actors say, and write down what failed where they do not."""
    for place, said in enumerate(outcomes):
        if "ended" in said:
            raise BulkError(said["ended"])
        if place == 0:
            its.progress.begin(said["seconds"])
        its.progress.note(said["work"], said["done"])
        its.progress.note_failure(said["failed"])
        its.progress.note_before(said["before"])
        for number, name, values in said["failures"]:
            its.output.fail(Item(number, name), values["error"])


def _outcomes(ray: Any, job: Job, server: Server, at_once: int, its: Begun) -> Iterator[Mapping[str, Any]]:
    """What actors say of their stretches, as they end."""
    part, total = its.operation.part, its.source.count
    failed = its.output.failures.numbers if isinstance(its.output, AudioFiles) else Numbers()
    stretches = [
        {"stretch": orjson.dumps({"first": first, "failed": [n for n in range(first, first + part) if n in failed]})}
        for first in range(0, total, part)
    ]
    if not stretches:
        return
    actors = max(1, min(len(stretches), at_once, sum(node["Alive"] for node in ray.nodes())))
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
    given = {"job": job, "server": server, "token": its.token, "at_once": at_once // actors}
    said = ray.data.from_items(stretches, override_num_blocks=len(stretches)).map_batches(
        Hand,
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(
            size=actors, max_concurrent_calls_per_actor=_STRETCHES, max_tasks_in_flight_per_actor=_STRETCHES
        ),
        num_cpus=_PROCESSORS,
        fn_constructor_kwargs=given,
    )
    for row in said.iter_rows():
        yield orjson.loads(row["said"])
