"""The server to measure: a given one, or the product, started for the measurement."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from frontend.catalogue.endpoints import LIMITS
from frontend.config.reading import CONFIG_FILE, PREFIX
from scripts.local_triton.checks import PreflightError, free_port
from scripts.local_triton.server import TritonFailedError
from scripts.run.stack import Stack
from scripts.run.state import REPOSITORY


@dataclass(frozen=True)
class Target:
    """``address`` ends with /v1; ``secret`` opens Triton's model control.

    Triton's gRPC address and the database are set only for a product started here.
    """

    address: str
    key: str = ""
    triton: str = ""
    grpc: str = ""
    database: str = ""
    secret: str = ""


@contextmanager
def own_product(repository: Path = REPOSITORY, variables: Mapping[str, str] = MappingProxyType({})) -> Iterator[Target]:
    """Start the product as ``make run`` does, with a new database, without rate limits, with more ``variables``.

    Ends the program with a sentence if it cannot start.
    """
    with tempfile.TemporaryDirectory(prefix="quartet-bench-") as folder:
        limits = "\n".join(f"{name} = 1_000_000_000" for name in LIMITS)
        (Path(folder) / "quartet.toml").write_text(f"[limits]\n{limits}\n", encoding="utf-8")
        database = f"sqlite:///{folder}/quartet.sqlite3"
        own = {CONFIG_FILE: f"{folder}/quartet.toml", f"{PREFIX}DATABASE": database}
        own |= {f"{PREFIX}USAGE_FOLDER": f"{folder}/usage", f"{PREFIX}LOG_LEVEL": "WARNING"}
        environment = {**os.environ, **own, **variables}
        stack = Stack(free_port(), environment, repository, Path(folder))
        try:
            try:
                stack.start()
            except (PreflightError, TritonFailedError) as error:
                raise SystemExit(str(error)) from None
            ports = stack.triton.ports
            http, grpc = f"http://127.0.0.1:{ports.http}", f"127.0.0.1:{ports.grpc}"
            yield Target(f"{stack.url}/v1", stack.api_key, http, grpc, database, stack.triton.secret)
        finally:
            stack.stop()
