"""Clients as people install them, each in a process of its own, against the whole product."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.run.stack import Stack
from tests.conftest import ROOT

pytestmark = pytest.mark.triton

CLIENTS = Path(sys.prefix) / "clients"
SENTENCE = "Good morning, Anna. Can you buy some bread today?"


def _run(stack: Stack, *command: str) -> Any:
    # LiteLLM asks its makers for prices as it is imported, and waits for them.
    offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    environ = {**os.environ, **offline, "QUARTET_URL": stack.url, "QUARTET_API_KEY": stack.api_key}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def _python(stack: Stack, script: str) -> Any:
    return _run(stack, str(CLIENTS / "bin" / "python"), str(ROOT / "tests" / "clients" / script))


@pytest.fixture(scope="module")
def node(stack: Stack) -> Any:
    # Node looks for packages beside the script.
    script = shutil.copy(ROOT / "tests" / "clients" / "node" / "client.mjs", CLIENTS / "node")
    return _run(stack, str(CLIENTS / "bin" / "node"), str(script))


def test_the_node_client_speaks_and_is_heard_in_every_format(node: Any) -> None:
    assert node["speech"] == "RIFF"
    assert node["json"] == SENTENCE
    assert node["text"] == f"{SENTENCE}\n"
    assert node["verbose"] == ["en", True, SENTENCE.split()]


def test_the_node_client_reads_vectors_in_base64_and_floats(node: Any) -> None:
    assert node["dimensions"] == [1024, 1024]
    assert node["same"]


def test_the_node_client_lists_the_models(node: Any) -> None:
    assert node["models"] == 6


@pytest.mark.parametrize(
    ("case", "error"),
    [
        ("unknownModel", ["BadRequestError", 400, "invalid_request_error", "model", True]),
        ("wrongKey", ["AuthenticationError", 401, "invalid_api_key", None, True]),
        ("foreignFile", ["APIError", 415, "unsupported_media_type", "file", True]),
    ],
)
def test_the_node_client_makes_our_refusals_its_errors(node: Any, case: str, error: list[Any]) -> None:
    assert node[case] == error


def test_litellm_does_all_four_operations(stack: Stack) -> None:
    assert _python(stack, "litellm_client.py") == {
        "dimensions": [1024, 1024],
        "speech": "RIFF",
        "text": SENTENCE,
        "best": 1,
        "refused": "AuthenticationError",
    }


def test_langchain_embeds_documents_and_queries(stack: Stack) -> None:
    assert _python(stack, "langchain_client.py") == {"documents": 40, "dimensions": 1024, "same": True}


def test_cohere_and_jina_clients_rerank(stack: Stack) -> None:
    answer = _python(stack, "rerank_clients.py")
    assert answer["cohere"] == answer["jina"]
    assert answer["cohere"][0] == 1
    assert answer["scores"][0] == answer["scores"][1]
