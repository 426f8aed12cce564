"""What 'make run' prints can be pasted into a shell."""

import json
import re
import shlex
import subprocess
from pathlib import Path

from scripts.run.launch import examples, write_environment
from scripts.run.stack import Stack


def test_what_is_printed_has_bodies_of_json_and_tritons_addresses() -> None:
    stack = Stack(1, {})
    ports = stack.triton.ports
    values = {"QUARTET_API_KEY": "qk_1", "QUARTET_MOBILE_JWT": "token"}
    printed = examples(stack, values, Path("build/demo.env"), 1.0)
    bodies = re.findall(r"-d '(.*?)'", printed, re.DOTALL)
    assert [sorted(json.loads(body)) for body in bodies] == [["input", "voice"], ["documents", "query"]]
    assert all(f"127.0.0.1:{port}" in printed for port in (ports.http, ports.grpc, ports.metrics))


def test_the_environment_file_is_its_owners_alone_and_can_be_sourced(tmp_path: Path) -> None:
    path = tmp_path / "demo.env"
    write_environment(path, {"QUARTET_DATABASE": "postgresql://quartet:a b$c'd@host/name"})
    assert path.stat().st_mode & 0o777 == 0o600
    script = f'. {shlex.quote(str(path))}; printf %s "$QUARTET_DATABASE"'
    shown = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout == "postgresql://quartet:a b$c'd@host/name"
