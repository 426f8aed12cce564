"""A real Triton, started by the images' script, in the place of a container."""

import asyncio
import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from scripts.local_triton import assemble, checks
from scripts.local_triton.checks import free_port
from scripts.local_triton.server import DIRECT
from scripts.local_triton.settings import HEADER
from tests.conftest import ROOT
from tests.eventually import until

_SECONDS = 120.0
# The images' tritonserver, with the folders and ports of a test.
_SERVER = """#!{python}
import os, sys
os.execve({server!r}, [{server!r}, *{arguments!r}, *sys.argv[1:]], {values!r})
"""


def write_small_graph(path: Path) -> None:
    """In the place of a voice, which takes two seconds of a processor for each instance to load."""
    given, answer = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in ("in", "out"))
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["in"], ["out"])], "small", [given], [answer])
    path.unlink(missing_ok=True)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)


@dataclass(frozen=True)
class Started:
    """``folder`` has the log, and ``repository`` as the script makes it."""

    folder: Path
    port: int
    grpc_port: int

    def config(self, model: str) -> Any:
        """The configuration that a model runs with."""
        with DIRECT.open(f"http://127.0.0.1:{self.port}/v2/models/{model}/config", timeout=10) as answer:
            return json.load(answer)

    def status(self, path: str, *, post: bool = False, secret: str = "") -> int:
        """The status of a GET or an empty POST; 0 while nothing listens."""
        address, headers = f"http://127.0.0.1:{self.port}{path}", {HEADER: secret} if secret else {}
        request = urllib.request.Request(address, data=b"" if post else None, headers=headers)
        try:
            with DIRECT.open(request, timeout=60) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0


@contextmanager
def started(folder: Path, environ: Mapping[str, str], arguments: Sequence[str]) -> Iterator[Started]:
    """Run the entry point of Triton's image with a container's variables and arguments; ``folder`` is for its files."""
    for name in ("model_repository/triton.args", "model_repository/triton.env", "docker/triton.sh"):
        shutil.copy(ROOT / name, folder)
    wheel, ports = checks.find_wheel(), {kind: free_port() for kind in ("http", "grpc", "metrics")}
    values = assemble.environment(wheel, checks.find_libpython(), Path(sys.executable))
    backends = assemble.assemble_backends(wheel, folder / "backends")
    own = [f"--backend-directory={backends}", f"--cache-directory={wheel.caches}"]
    own += [f"--{kind}-port={port}" for kind, port in ports.items()]
    own += [f"--{kind}-address=127.0.0.1" for kind in ports]
    server = folder / "tritonserver"
    text = _SERVER.format(python=sys.executable, server=str(wheel.server), arguments=own, values=values)
    server.write_text(text, encoding="utf-8")
    server.chmod(0o755)
    environment = (
        values | {"APP": str(ROOT), "TMPDIR": str(folder), "PATH": f"{folder}:{values['PATH']}"} | dict(environ)
    )
    command = [str(folder / "triton.sh"), *arguments]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, env=environment, stdout=log, stderr=log) as script,
    ):
        made = Started(folder, ports["http"], ports["grpc"])
        asyncio.run(until(lambda: made.status("/v2/health/live") == 200, _SECONDS))
        yield made
        script.terminate()
        script.wait(_SECONDS)
        assert made.status("/v2/health/live") == 0
