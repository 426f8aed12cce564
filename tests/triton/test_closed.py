"""The product of make run beside other processes: what they reach of its Triton, and see of its secret."""

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from ipaddress import ip_address

import psutil
import pytest
from tritonclient.grpc import InferenceServerClient
from tritonclient.utils import InferenceServerException

from scripts.local_triton.server import DIRECT
from scripts.local_triton.settings import HEADER
from scripts.run.stack import Stack
from tests.conftest import ROOT

pytestmark = pytest.mark.triton
MODEL = "piper_ryan"


def _status(stack: Stack, path: str, body: bytes | None = b"{}", secret: str = "") -> int:
    address, headers = f"http://127.0.0.1:{stack.triton.ports.http}{path}", {HEADER: secret} if secret else {}
    try:
        with DIRECT.open(urllib.request.Request(address, body, headers), timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def _family(stack: Stack) -> list[psutil.Process]:
    """Triton, the frontend and their processes."""
    assert stack.triton._process is not None
    assert stack._frontend is not None
    parents = [psutil.Process(each.pid) for each in (stack.triton._process, stack._frontend)]
    return [each for parent in parents for each in (parent, *parent.children(recursive=True))]


@pytest.mark.parametrize("path", ["index", f"models/{MODEL}/load", f"models/{MODEL}/unload"])
@pytest.mark.parametrize("secret", ["", "wrong"], ids=["without a secret", "with a wrong one"])
def test_another_process_cannot_control_models(stack: Stack, path: str, secret: str) -> None:
    assert _status(stack, f"/v2/repository/{path}", secret=secret) == 403
    assert _status(stack, f"/v2/models/{MODEL}/ready", None) == 200


@pytest.mark.parametrize("path", ["systemsharedmemory/status", "cudasharedmemory/status", "trace/setting", "logging"])
def test_nobody_reaches_what_no_program_of_ours_calls(stack: Stack, path: str) -> None:
    assert _status(stack, f"/v2/{path}", None, stack.triton.secret) == 403


def test_another_process_cannot_control_models_by_grpc(stack: Stack) -> None:
    with InferenceServerClient(f"127.0.0.1:{stack.triton.ports.grpc}") as client:
        for call in (client.load_model, client.unload_model):
            with pytest.raises(InferenceServerException, match="restricted"):
                call(MODEL)


def test_no_command_line_has_what_opens_a_closed_interface(stack: Stack) -> None:
    lines = [" ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"])]
    (ours,) = [line for line in lines if f"--http-port={stack.triton.ports.http}" in line]
    assert [line for line in lines if stack.triton.secret in line] == []
    shown = re.findall(r":quartet=(\S*)", ours)
    assert [_status(stack, "/v2/logging", None, value) for value in shown] == [403] * 4


def test_everything_listens_on_loopback_alone(stack: Stack) -> None:
    listening = {
        (ip_address(each.laddr.ip), each.laddr.port)
        for process in _family(stack)
        for each in process.net_connections("inet")
        if each.status == psutil.CONN_LISTEN
    }
    ports = stack.triton.ports
    assert {port for _, port in listening} >= {ports.http, ports.grpc, ports.metrics, stack._port}
    # gRPC writes IPv4 as IPv6.
    assert {str(getattr(address, "ipv4_mapped", None) or address) for address, _ in listening} == {"127.0.0.1"}


def test_the_frontend_and_other_shells_of_its_user_have_the_secret(stack: Stack) -> None:
    environment = stack.environment()
    assert environment["QUARTET_TRITON_SECRET"] == stack.triton.secret
    with DIRECT.open(f"{stack.url}/health/ready", timeout=10) as answer:
        assert set(json.load(answer)["models"].values()) == {"ready"}


@pytest.mark.parametrize(
    ("secret", "says"), [("wrong", "refuses this QUARTET_TRITON_SECRET"), ("", "models are ready")]
)
def test_check_says_who_has_a_wrong_secret(stack: Stack, secret: str, says: str) -> None:
    own = {"QUARTET_TRITON_SECRET": secret or stack.triton.secret, "QUARTET_TRITON": stack.addresses["QUARTET_TRITON"]}
    command = [sys.executable, "-m", "frontend", "check", "--reach"]
    environ = {"PATH": "/usr/bin:/bin", **own}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert [line for line in (done.stdout + done.stderr).splitlines() if says in line]
