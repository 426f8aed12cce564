"""The chart's Job for the first key, against a small Kubernetes API over TLS; a script replaces ``quartet``."""

import base64
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, Lock, Thread
from typing import Any

import pytest

from tests.certificates import Authority
from tests.conftest import ROOT

_TOKEN = "the pod's token"
# Prints a new key last, as the product does, and logs its arguments.
_QUARTET = '#!/bin/sh\necho "$@" >> "$LOG"\necho "this key is not shown again:"\necho "qk_$$"\n'


@dataclass
class Kubernetes:
    """One Secret, with the versions by which a change of what has changed since is refused."""

    data: dict[str, str] = field(default_factory=dict)
    version: int = 1
    # Statuses in the place of what would be done, by method; and whether it is done all the same.
    refuses: dict[str, int] = field(default_factory=dict)
    done_anyway: bool = False
    # What the first reads wait for.
    readers: Barrier | None = None
    _one_by_one: Lock = field(default_factory=Lock)

    def answer(self, method: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with self._one_by_one:
            return self._answer(method, body)

    def _answer(self, method: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status = self.refuses.get(method, 200)
        if method == "PATCH" and (status == 200 or self.done_anyway):
            if body["metadata"]["resourceVersion"] != str(self.version):
                return 409, {"reason": "Conflict"}
            self.data |= body["data"]
            self.version += 1
        if status != 200:
            return status, {"reason": "refused"}
        return 200, {"metadata": {"resourceVersion": str(self.version)}, **({"data": self.data} if self.data else {})}


class _Handler(BaseHTTPRequestHandler):
    kubernetes: Kubernetes

    def do_GET(self) -> None:
        self._answer({})

    def do_PATCH(self) -> None:
        assert self.headers["Content-Type"] == "application/merge-patch+json"
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body: dict[str, Any]) -> None:
        known = self.headers["Authorization"] == f"Bearer {_TOKEN}"
        status, answer = self.kubernetes.answer(self.command, body) if known else (401, {})
        if self.kubernetes.readers is not None and self.command == "GET" and "data" not in answer:
            self.kubernetes.readers.wait(20)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def kubernetes() -> Kubernetes:
    return Kubernetes()


@pytest.fixture
def job(kubernetes: Kubernetes, tmp_path: Path) -> Iterator["Job"]:
    certificate = Authority(tmp_path).certificate("localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.path, certificate.key_path)
    server = ThreadingHTTPServer(("localhost", 0), type("Handler", (_Handler,), {"kubernetes": kubernetes}))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    (tmp_path / "token").write_text(_TOKEN)
    command = tmp_path / "quartet"
    command.write_text(_QUARTET)
    command.chmod(0o755)
    yield Job(tmp_path, f"https://localhost:{server.server_port}/api/v1/namespaces/n/secrets/s")
    server.shutdown()
    thread.join()
    server.server_close()


@dataclass
class Job:
    """The script as its pod runs it."""

    folder: Path
    address: str

    def start(self) -> subprocess.Popen[str]:
        environ = {
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "SERVICE_ACCOUNT": str(self.folder),
            "SECRET_ADDRESS": self.address,
            "TIER": "pro",
            "LOG": str(self.folder / "log"),
        }
        command = [sys.executable, "-S", str(ROOT / "docker/helm/quartet/files/first_key.py")]
        return subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True)

    def run(self) -> tuple[int, str]:
        started = self.start()
        said = started.communicate()[1]
        return started.returncode, said

    @property
    def asked(self) -> list[str]:
        """What was asked of ``quartet``."""
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []


def _key(kubernetes: Kubernetes) -> str:
    return base64.b64decode(kubernetes.data["api_key"]).decode()


def test_the_key_is_made_and_put_into_the_secret(job: Job, kubernetes: Kubernetes) -> None:
    assert job.run() == (0, "")
    assert _key(kubernetes).startswith("qk_")
    assert job.asked == ["keys create --name first --tier pro"]


def test_an_existing_key_is_kept(job: Job, kubernetes: Kubernetes) -> None:
    kubernetes.data = {"api_key": "x"}
    assert job.run() == (0, "")
    assert (kubernetes.data, job.asked) == ({"api_key": "x"}, [])


def test_of_two_jobs_at_once_one_makes_the_key_and_the_other_revokes_its_own(job: Job, kubernetes: Kubernetes) -> None:
    kubernetes.readers = Barrier(2)
    jobs = [job.start(), job.start()]
    assert sorted(started.wait() for started in jobs) == [0, 1]
    for started in jobs:
        started.communicate()
    (revoked,) = [words.split()[-1] for words in job.asked if "revoke" in words]
    assert revoked != _key(kubernetes)
    # Its Job runs it again.
    assert job.run() == (0, "")
    assert len(job.asked) == 3


@pytest.mark.parametrize("status", [403, 500])
def test_no_key_is_made_if_the_secret_cannot_be_read(job: Job, kubernetes: Kubernetes, status: int) -> None:
    kubernetes.refuses = {"GET": status}
    code, said = job.run()
    assert (code, job.asked) == (1, [])
    assert said.startswith(f"the first key was not made: HTTP Error {status}")


def test_a_key_that_cannot_be_stored_is_revoked(job: Job, kubernetes: Kubernetes) -> None:
    kubernetes.refuses = {"PATCH": 403}
    assert job.run()[0] == 1
    assert [words.split()[1] for words in job.asked] == ["create", "revoke"]
    assert not kubernetes.data


def test_a_stored_key_is_kept_though_the_answer_was_an_error(job: Job, kubernetes: Kubernetes) -> None:
    kubernetes.refuses, kubernetes.done_anyway = {"PATCH": 504}, True
    assert job.run() == (0, "")
    assert len(job.asked) == 1


def test_without_the_api_the_job_ends_with_a_sentence(job: Job) -> None:
    job.address = "https://localhost:9/"
    code, said = job.run()
    assert (code, job.asked, said.count("\n")) == (1, [], 1)


def test_an_api_with_an_untrusted_certificate_gets_no_key(job: Job, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(Authority(_made(tmp_path / "other")).own.pem)
    code, said = job.run()
    assert (code, job.asked) == (1, [])
    assert "CERTIFICATE_VERIFY_FAILED" in said


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_without_the_database_the_job_ends_with_the_message_of_the_command(job: Job, tmp_path: Path) -> None:
    (tmp_path / "quartet").write_text("#!/bin/sh\necho the database is away >&2\nexit 2\n")
    code, said = job.run()
    assert code == 1
    assert said.startswith("the database is away\nthe first key was not made: ")
