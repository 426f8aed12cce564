"""Weights of tokens through a real Triton, of a small random checkpoint with M3's layout."""

import asyncio
import dataclasses
import shutil
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import torch
from aiohttp.test_utils import TestClient
from transformers import AutoTokenizer, XLMRobertaModel
from tritonclient.grpc import InferenceServerClient

from frontend.app import create_app
from frontend.catalogue.models import Added
from scripts.export_models import text, text_checks
from scripts.export_models.checkpoints import PROMISES
from scripts.export_models.progress import SILENT
from scripts.local_triton.server import LocalTriton
from tests import lookalikes
from tests.conftest import KEY, ROOT, Client, ProductServer, bearer, settings_in
from tests.http.calls import EMBED as PATH

pytestmark = [pytest.mark.triton, pytest.mark.asyncio(loop_scope="module")]

MODEL, BOTH = "m3_embedder", ["dense", "sparse"]
TEXTS = ["the lake is cold in april", "a", "im april ist der see kalt. " * 40, "abc " * 900]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint") / "m3"
    lookalikes.text_model(folder, reranker=False)
    torch.manual_seed(3)
    torch.save(torch.nn.Linear(64, 1).half().state_dict(), folder / "sparse_linear.pt")
    return folder


@pytest.fixture(scope="module")
def repository(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    repository = tmp_path_factory.mktemp("repository")
    target = repository / MODEL / "1"
    target.mkdir(parents=True)
    for path in (ROOT / "model_repository" / MODEL / "1").glob("*.py"):
        (target / path.name).symlink_to(path.resolve())
    (repository / MODEL / "config.pbtxt").symlink_to(ROOT / "model_repository" / MODEL / "config.pbtxt")
    with pytest.MonkeyPatch.context() as patched:
        # What the checks compare is not the point here.
        patched.setattr(text_checks, "_LENGTHS", (3, 60))
        text.export(text.load(PROMISES[MODEL], checkpoint), checkpoint, target, "fp32", SILENT)
    return repository


@pytest.fixture(scope="module")
def server(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalTriton]:
    triton = LocalTriton(repository, tmp_path_factory.mktemp("triton"))
    triton.start()
    triton.load([MODEL])
    yield triton
    triton.stop(at_once=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(
    server: LocalTriton, repository: Path, database: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Client]:
    folder = tmp_path_factory.mktemp("frontend")
    shutil.copy(database, folder / "quartet.sqlite3")
    own = settings_in(folder, extensions="sparse_embeddings", models="embed-m3", added=Added())
    own = dataclasses.replace(
        own, model_repository=repository, triton=f"127.0.0.1:{server.ports.grpc}", triton_secret=server.secret
    )
    async with TestClient(ProductServer(create_app(own), own), headers=bearer(KEY)) as connected:
        yield connected


async def _embed(client: Client, texts: list[str], outputs: list[str]) -> Any:
    answer = await client.post(PATH, json={"input": texts, "outputs": outputs})
    assert answer.status == 200, await answer.text()
    return (await answer.json())["data"]


def _of_flag_embedding(checkpoint: Path, given: str) -> dict[int, float]:
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model, layer = XLMRobertaModel.from_pretrained(checkpoint).eval(), torch.nn.Linear(64, 1)
    layer.load_state_dict(torch.load(checkpoint / "sparse_linear.pt", weights_only=True))
    unused = {tokenizer.cls_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id}
    ids = tokenizer(given, return_tensors="pt").input_ids
    with torch.inference_mode():
        weights = torch.relu(layer(model(input_ids=ids).last_hidden_state))[0, :, 0].tolist()
    result: dict[int, float] = defaultdict(float)
    for weight, index in zip(weights, ids[0].tolist(), strict=True):
        if index not in unused and weight > 0 and weight > result[index]:
            result[index] = weight
    return dict(result)


async def test_the_weights_are_flag_embeddings(client: Client, checkpoint: Path) -> None:
    for given, row in zip(TEXTS, await _embed(client, TEXTS, BOTH), strict=True):
        wanted = _of_flag_embedding(checkpoint, given)
        found = dict(zip(row["sparse"]["indices"], row["sparse"]["values"], strict=True))
        # A weight that is nearly nothing may be nothing on one side.
        for index in wanted.keys() | found.keys():
            assert abs(wanted.get(index, 0) - found.get(index, 0)) < 1e-5
        assert len(found) > 0 or not wanted


async def test_requests_with_and_without_weights_share_batches_and_get_the_same_as_alone(
    client: Client, server: LocalTriton
) -> None:
    alone = [(await _embed(client, [given], BOTH))[0] for given in TEXTS]
    with InferenceServerClient(f"127.0.0.1:{server.ports.grpc}") as triton:
        before = triton.get_inference_statistics(MODEL).model_stats[0]
        asked = [(at % len(TEXTS), at % 3 != 0) for at in range(96)]
        calls = [_embed(client, [TEXTS[at]], BOTH if weighed else ["dense"]) for at, weighed in asked]
        answers = await asyncio.gather(*calls)
        after = triton.get_inference_statistics(MODEL).model_stats[0]
    for (at, weighed), (row,) in zip(asked, answers, strict=True):
        assert row["embedding"] == alone[at]["embedding"]
        assert row.get("sparse") == (alone[at]["sparse"] if weighed else None)
    # The frontend's calls to see whether the model lives count too.
    assert after.inference_count - before.inference_count >= len(asked)
    assert after.execution_count - before.execution_count < len(asked)


async def test_long_texts_of_one_request_are_weighed_in_several_calls(client: Client) -> None:
    # A text of 8,192 tokens fills a call.
    rows = await _embed(client, ["a", "abc " * 9000, "the lake"], ["sparse"])
    assert [list(row) for row in rows] == [["object", "index", "sparse"]] * 3
    (alone,) = await _embed(client, ["the lake"], ["sparse"])
    assert rows[2]["sparse"] == alone["sparse"] != rows[1]["sparse"]
