"""Valid and invalid requests, generated from the OpenAPI document, against a frontend process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from frontend.extensions.realtime.pipeline import PATH as LIVE
from tests.conftest import EXTENSIONS, KEY, ROOT
from tests.frontends import MOBILE_TOKEN, prepare, running

CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
    "negative_data_rejection",
]
CONFIG = Path(__file__).with_name("schemathesis.toml")
# Random requests of each operation, and the least number of all requests with those for the edges of parameters.
EXAMPLES, LEAST = 10, 600


@pytest.mark.timeout(600)
def test_no_request_gets_a_5xx_or_an_undocumented_answer(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    command = [str(Path(sys.executable).parent / "st"), "--config-file", str(CONFIG), "run"]
    # A WebSocket is no request.
    options = ["--exclude-path", LIVE, "--checks", ",".join(CHECKS), "--max-examples", str(EXAMPLES)]
    options += ["--seed", "11", "--no-color", "--warnings", "off", "--suppress-health-check", "all"]
    options += ["--request-timeout", "60", "--report", "json", "--report-json-path", str(path)]
    environ = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "tests.contract.schemathesis_hooks",
        "PYTHONPATH": str(ROOT),
        "API_KEY": KEY,
        "MOBILE_TOKEN": MOBILE_TOKEN,
    }
    with running(prepare(tmp_path, EXTENSIONS=EXTENSIONS)) as frontend:
        called = [*command, f"{frontend.address}/openapi.json", *options]
        done = subprocess.run(called, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    report = json.loads(path.read_text(encoding="utf-8"))
    assert report["test_cases"]["generated"] >= LEAST
    # Each was called with a key and in a way that it answers, too.
    accepted = {
        name: sum(phase["accepted"] for phase in rates.values()) for name, rates in report["valid_rates"].items()
    }
    assert len(accepted) == report["operations"]["selected"]
    assert all(accepted.values()), accepted
