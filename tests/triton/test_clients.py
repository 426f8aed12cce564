"""Unmodified clients, each in a separate process."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from scripts.run.stack import Stack
from tests.conftest import ROOT

pytestmark = pytest.mark.triton

_TOKENS = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
CLIENTS = Path(sys.prefix) / "clients"
SENTENCE = "Good morning, Anna. Can you buy some bread today?"


def _said(stack: Stack, folder: Path, *command: str) -> str:
    # LiteLLM asks its makers for prices as it is imported, and waits for them.
    environ = {**os.environ, **stack.environment(), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _result(stack: Stack, *command: str) -> Any:
    """What a client prints last."""
    return json.loads(_said(stack, ROOT, *command).splitlines()[-1])


def _python(stack: Stack, script: str) -> Any:
    return _result(stack, str(CLIENTS / "bin" / "python"), str(ROOT / "tests" / "clients" / script))


@pytest.fixture(scope="module")
def node(stack: Stack) -> Any:
    # Node looks for packages in the folder of the script.
    script = shutil.copy(ROOT / "tests" / "clients" / "node" / "client.mjs", CLIENTS / "node")
    return _result(stack, str(CLIENTS / "bin" / "node"), str(script))


@pytest.mark.parametrize(
    ("case", "answer"),
    [
        ("speech", "RIFF"),
        ("json", SENTENCE),
        ("text", f"{SENTENCE}\n"),
        ("verbose", ["en", True, SENTENCE.split()]),
        ("dimensions", [1024, 1024]),
        ("same", True),
        ("models", 6),
        ("unknownModel", ["BadRequestError", 400, "invalid_request_error", "model", True]),
        ("wrongKey", ["AuthenticationError", 401, "invalid_api_key", None, True]),
        ("foreignFile", ["APIError", 415, "unsupported_media_type", "file", True]),
    ],
)
def test_the_node_client_reads_every_answer_and_makes_our_refusals_its_errors(
    node: Any, case: str, answer: Any
) -> None:
    assert node[case] == answer


def test_litellm_does_all_four_operations(stack: Stack) -> None:
    assert _python(stack, "litellm_client.py") == {
        "dimensions": [1024, 1024],
        "speech": "RIFF",
        "text": SENTENCE,
        "best": [1, 1],
        "refused": "AuthenticationError",
    }


def test_langchain_embeds_documents_and_queries(stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # tiktoken would download the tokens, and names the file by the SHA-1 of its address.
    name = hashlib.sha1(_TOKENS.encode(), usedforsecurity=False).hexdigest()
    (tmp_path / name).write_bytes((files("tiktoken_ext") / "data" / "cl100k_base.tiktoken").read_bytes())
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert _python(stack, "langchain_client.py") == {"documents": 40, "dimensions": 1024, "same": True}


def test_cohere_and_jina_clients_rerank(stack: Stack) -> None:
    answer = _python(stack, "rerank_clients.py")
    assert answer["cohere"] == answer["cohere, version 2"] == answer["jina"]
    assert answer["cohere"][0] == 1
    assert answer["scores"][0] == answer["scores"][1]
