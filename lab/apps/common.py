"""Shared by the scripts: the product's address, a recording, and the output of results."""

import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ADDRESS, KEY = os.environ["QUARTET_URL"], os.environ["QUARTET_API_KEY"]
BASE = f"{ADDRESS}/v1"
SENTENCE = "Good morning, Anna. Can you buy some bread today?"
QUERY = "How do I change my password?"
DOCUMENTS = ["Bananas are yellow.", "Change your password under settings.", "It rains."]
_START_SECONDS = 150
TEXTS = [f"text {number}" for number in range(40)]


def recording() -> Path:
    """A WAV file of the sentence, spoken by the product."""
    body = json.dumps({"model": "tts-1", "voice": "ryan", "input": SENTENCE, "response_format": "wav"}).encode()
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{BASE}/audio/speech", body, headers)
    path = Path(tempfile.mkdtemp()) / "hello.wav"
    with urllib.request.urlopen(request, timeout=60) as answer:
        path.write_bytes(answer.read())
    return path


def show(operation: str, result: Any) -> None:
    """Print an operation and the result on one line."""
    print(f"{operation}: {json.dumps(result, default=str)}", flush=True)


def tried(operation: str, run: Callable[[], Any]) -> None:
    """Run an operation that may need an alias, and print the result or the error."""
    try:
        show(operation, run())
    except Exception as error:
        show(operation, f"{type(error).__name__}: {error}"[:150])


def kind_of(audio: bytes) -> str:
    """The format of an audio file, by its first bytes."""
    return "wav" if audio.startswith(b"RIFF") else "mp3" if audio[:1] == b"\xff" or audio.startswith(b"ID3") else "?"


@contextmanager
def running(command: list[str], port: int, path: str, **variables: str) -> Iterator[str]:
    """Start a server and yield its address when it answers at ``path``."""
    environ = {**os.environ, "QUARTET_BASE": BASE, "QUARTET_RERANK": f"{BASE}/rerank", **variables}
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/log", "wb") as log:
        # An empty folder, because LiteLLM imports from the parents of the current one.
        server = subprocess.Popen(command, env=environ, cwd=folder, stdout=log, stderr=log)
        try:
            _wait(server, f"{address}{path}", Path(log.name))
            yield address
        finally:
            server.terminate()
            server.wait(30)


def _wait(server: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(log.read_text(encoding="utf-8")[-2000:])


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
