"""Requests made from the OpenAPI document, right ones and wrong ones, against a frontend in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import KEY, ROOT
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
]
# In a form everything is text: a number sent for a text is none that a server could tell.
OF_JSON = [*CHECKS, "negative_data_rejection"]
CONFIG = Path(__file__).with_name("schemathesis.toml")
REPORT = "report.json"
Outcome = subprocess.CompletedProcess[str]

# Which paths, checked for what, with how many examples each, and at least how many requests that makes.
RUNS = [
    ("^/v1/(audio/speech|embeddings|rerank|models)", OF_JSON, 16, 160),
    ("^/v1/audio/transcriptions", CHECKS, 70, 50),
    ("^/api/v1/audio/(synthesize|voices)", OF_JSON, 70, 50),
    ("^/api/v1/audio/transcribe", CHECKS, 70, 50),
]


def _run(address: str, folder: Path, paths: str, checks: list[str], examples: int) -> Outcome:
    folder.mkdir()
    token = KEY if paths.startswith("^/v1") else MOBILE_TOKEN
    command = [str(Path(sys.executable).parent / "st"), "--config-file", str(CONFIG), "run", f"{address}/openapi.json"]
    command += ["--include-path-regex", paths, "--header", f"Authorization: Bearer {token}"]
    command += ["--checks", ",".join(checks), "--max-examples", str(examples), "--seed", "1", "--no-color"]
    command += ["--warnings", "off", "--suppress-health-check", "all", "--request-timeout", "60"]
    command += ["--report", "json", "--report-json-path", str(folder / REPORT)]
    environ = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.contract.schemathesis_hooks", "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Path, Future[Outcome]]]]:
    """Of each run its folder and what comes of it; two are under way at a time."""
    base = tmp_path_factory.mktemp("schemathesis")
    with running(prepare(base)) as frontend, ThreadPoolExecutor(2) as pool:
        folders = {paths: base / str(number) for number, (paths, *_) in enumerate(RUNS)}
        yield {
            paths: (folders[paths], pool.submit(_run, frontend.address, folders[paths], paths, checks, examples))
            for paths, checks, examples, _ in RUNS
        }


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("paths", "least"), [(paths, least) for paths, *_, least in RUNS])
def test_no_request_gets_a_5xx_or_an_undocumented_answer(
    outcomes: dict[str, tuple[Path, Future[Outcome]]], paths: str, least: int
) -> None:
    folder, running_still = outcomes[paths]
    done = running_still.result()
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert json.loads((folder / REPORT).read_text(encoding="utf-8"))["test_cases"]["generated"] >= least
