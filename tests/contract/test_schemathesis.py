"""Requests made from the OpenAPI document, right ones and wrong ones, against a frontend in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from frontend.access import api_key
from frontend.access.jwt import Tokens
from frontend.commands.database import with_registry
from frontend.config import CONFIG_FILE, LIMITS, PREFIX, Settings
from tests.conftest import JWT_SECRET, ROOT
from tests.fakes import add_key

CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
]
# In a form everything is text: a number sent for a text is none that a server could tell.
OF_JSON = [*CHECKS, "negative_data_rejection"]
KEY = api_key.new_key()
CONFIG = Path(__file__).with_name("schemathesis.toml")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("schemathesis")
    limits = "\n".join(f"{name} = 1_000_000" for name in LIMITS)
    (folder / "quartet.toml").write_text(f"[limits]\n{limits}\n", encoding="utf-8")
    database = f"sqlite:///{folder}/quartet.sqlite3"
    with_registry(Settings(database=database), lambda registry: add_key(registry, KEY))
    environ = {
        **os.environ,
        CONFIG_FILE: str(folder / "quartet.toml"),
        f"{PREFIX}DATABASE": database,
        f"{PREFIX}JWT_SECRET": JWT_SECRET,
        f"{PREFIX}PORT": "0",
        f"{PREFIX}LOG_LEVEL": "WARNING",
    }
    command = [sys.executable, "-m", "tests.fake_frontend"]
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("paths", "checks", "examples", "least"),
    [
        ("^/v1/(audio/speech|embeddings|rerank|models)", OF_JSON, 900, 6500),
        ("^/v1/audio/transcriptions", CHECKS, 1200, 1000),
        ("^/api/v1/audio/(synthesize|voices)", OF_JSON, 1600, 1500),
        ("^/api/v1/audio/transcribe", CHECKS, 1200, 1000),
    ],
)
def test_no_request_gets_a_5xx_or_an_undocumented_answer(
    address: str, tmp_path: Path, paths: str, checks: list[str], examples: int, least: int
) -> None:
    mobile = Tokens("quartet-mobile", "quartet", JWT_SECRET).issue("phone", 3600)
    token = KEY if paths.startswith("^/v1") else mobile
    report = tmp_path / "report.json"
    command = [str(Path(sys.executable).parent / "st"), "--config-file", str(CONFIG), "run"]
    command += [f"{address}/openapi.json"]
    command += [
        "--include-path-regex",
        paths,
        "--header",
        f"Authorization: Bearer {token}",
        "--checks",
        ",".join(checks),
    ]
    command += ["--max-examples", str(examples), "--seed", "1", "--no-color", "--warnings", "off"]
    command += ["--report", "json", "--report-json-path", str(report), "--suppress-health-check", "all"]
    environ = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.contract.schemathesis_hooks"}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert json.loads(report.read_text(encoding="utf-8"))["test_cases"]["generated"] >= least
