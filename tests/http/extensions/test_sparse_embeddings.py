"""Embeddings with the weights of tokens: which outputs a request may ask for, and what it gets."""

import asyncio
import base64
import dataclasses
import io
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest
import pytest_asyncio
from openapi_spec_validator import OpenAPIV31SpecValidator

from client.verify.questions import Questions
from frontend.config.settings import Settings
from frontend.extensions.sparse.vectors import sparse_vector
from frontend.pages.openapi import document
from frontend.text.tokens import TextTokenizer
from tests.charges import charges
from tests.conftest import KEY, ROOT, Client, running, settings_in
from tests.examples import samples
from tests.fakes import FakeTriton
from tests.http.calls import APART, refusal
from tests.http.calls import EMBED as PATH

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOTH, SPECIAL = ["dense", "sparse"], [0, 1, 2, 3]
ON = Settings(extensions="sparse_embeddings")


def _repository(folder: Path) -> Path:
    """The exported models, whose embedder says that it weighs tokens."""
    for model in (ROOT / "model_repository").iterdir():
        (folder / model.name).symlink_to(model)
    own = folder / "m3_embedder"
    own.unlink()
    (own / "1").mkdir(parents=True)
    for path in (ROOT / "model_repository" / "m3_embedder" / "1").iterdir():
        (own / "1" / path.name).symlink_to(path)
    settings = json.loads((own / "1" / "quartet.json").read_text(encoding="utf-8"))
    (own / "1" / "quartet.json").unlink()
    (own / "1" / "quartet.json").write_text(json.dumps({**settings, "unweighted_tokens": SPECIAL}), encoding="utf-8")
    return folder


def _settings(database: Path, folder: Path, repository: Path) -> Settings:
    shutil.copy(database, folder / "quartet.sqlite3")
    own = settings_in(folder, extensions="sparse_embeddings")
    return dataclasses.replace(own, model_repository=_repository(repository))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(database: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Client, FakeTriton]]:
    folders = tmp_path_factory.mktemp("sparse"), tmp_path_factory.mktemp("repository")
    triton = FakeTriton()
    async with running(_settings(database, *folders), triton) as connected:
        yield connected, triton


async def _post(client: Client, **body: Any) -> Any:
    return await (await client.post(PATH, json=body)).json()


def _expected(text: str) -> dict[str, list[Any]]:
    """By the weights of the fake."""
    (ids,) = TextTokenizer(ROOT / "model_repository" / "m3_embedder" / "1").texts([text])
    indices, values = sparse_vector(ids, (ids % 4 / 4).astype(np.float32), SPECIAL)
    return {"indices": indices.tolist(), "values": values.tolist()}


TEXTS = ["the lake is cold, the lake is deep", "word " * 300, "a"]


async def test_verify_reads_the_weights_of_each_text(client: Client) -> None:
    async with Questions(str(client.make_url("/v1")), KEY) as api:
        found = await api.weigh(TEXTS)
    wanted = [_expected(text) for text in TEXTS]
    assert found == [dict(zip(each["indices"], each["values"], strict=True)) for each in wanted]


async def test_each_text_has_its_vector_and_its_weights(client: Client) -> None:
    plain = await _post(client, input=TEXTS)
    answer = await _post(client, input=TEXTS, outputs=BOTH)
    assert [row["sparse"] for row in answer["data"]] == [_expected(text) for text in TEXTS]
    assert len(answer["data"][0]["sparse"]["indices"]) > 3
    assert [{name: row[name] for name in row if name != "sparse"} for row in answer["data"]] == plain["data"]
    assert answer["usage"] == plain["usage"]


async def test_sparse_alone_has_no_vector(client: Client) -> None:
    answer = await _post(client, input="the lake", outputs=["sparse"])
    assert answer["data"] == [{"object": "embedding", "index": 0, "sparse": _expected("the lake")}]


@pytest.mark.parametrize("given", [{}, {"outputs": None}, {"outputs": ""}, {"outputs": ["dense"]}])
async def test_without_sparse_nothing_is_weighed(client: Client, triton: FakeTriton, given: Any) -> None:
    asked: list[str] = []

    def look(arrays: Any) -> Any:
        asked.extend(arrays)
        return arrays

    triton.spoil = look
    answer = await _post(client, input="a", **given)
    assert list(answer["data"][0]) == ["object", "index", "embedding"]
    assert asked == ["embedding"]


async def test_repeats_and_order_do_not_matter(client: Client) -> None:
    wanted = await _post(client, input="a b", outputs=BOTH)
    assert await _post(client, input="a b", outputs=["sparse", "dense", "sparse"]) == wanted


async def test_with_base64_the_weights_stay_numbers(client: Client) -> None:
    plain = (await _post(client, input="a b", outputs=BOTH))["data"][0]
    packed = (await _post(client, input="a b", outputs=BOTH, encoding_format="base64"))["data"][0]
    assert np.frombuffer(base64.b64decode(packed["embedding"]), "<f4").tolist() == plain["embedding"]
    assert packed["sparse"] == plain["sparse"]


@pytest.mark.parametrize(
    "wrong",
    [
        "sparse",
        {},
        {"sparse": True},
        5,
        True,
        [],
        ["colbert"],
        ["sparse", "colbert"],
        ["Sparse"],
        [1],
        [None],
        [["sparse"]],
    ],
)
async def test_other_outputs_are_refused_by_name(client: Client, triton: FakeTriton, wrong: Any) -> None:
    assert await refusal(await client.post(PATH, json={"input": "a", "outputs": wrong})) == (400, "outputs")
    assert triton.calls == []


async def test_32_texts_of_8192_tokens_hold_no_event_loop(client: Client) -> None:
    """The tests' own watch fails them otherwise. Each token is another one, so that no answer is larger."""
    words = " ".join(str(number) for number in range(9000))
    body = json.dumps({"input": [words] * 32, "outputs": BOTH}).encode()
    answer = await client.post(PATH, data=io.BytesIO(body))
    rows = (await answer.json())["data"]
    assert [row["sparse"] for row in rows] == [_expected(words)] * 32


@pytest.mark.parametrize("outputs", [BOTH, ["sparse"]])
async def test_openais_client_asks_for_it(client: Client, outputs: list[str]) -> None:
    async with openai.AsyncOpenAI(base_url=str(client.make_url("/v1")), api_key=KEY) as caller:
        vectors = await caller.embeddings.create(model="embed-m3", input="the lake", extra_body={"outputs": outputs})
    (item,) = vectors.model_dump()["data"]
    assert item["sparse"] == _expected("the lake")
    assert len(item["embedding"] or ()) == (1024 if "dense" in outputs else 0)


# Qdrant's client as far as the example needs it, with the forms that it checks.
_QDRANT = """
from dataclasses import dataclass

@dataclass
class SparseVector:
    indices: list
    values: list
    def __post_init__(self):
        assert all(type(each) is int for each in self.indices) and all(type(each) is float for each in self.values)
        assert len(set(self.indices)) == len(self.indices) == len(self.values)

@dataclass
class PointStruct:
    id: int
    vector: dict
    def __post_init__(self):
        assert len(self.vector["dense"]) == 1024 and isinstance(self.vector["sparse"], SparseVector)

class Distance:
    COSINE = "Cosine"

@dataclass
class Prefetch:
    query: object
    using: str
    limit: int

class Fusion:
    RRF = "rrf"

@dataclass
class FusionQuery:
    fusion: str

VectorParams = SparseVectorParams = lambda **given: given

class QdrantClient:
    def __init__(self, where):
        self.points = []
    def create_collection(self, name, vectors, sparse_vectors):
        pass
    def upsert(self, name, points):
        self.points += points
    def query_points(self, name, query, prefetch):
        assert query.fusion == "rrf" and [each.using for each in prefetch] == ["dense", "sparse"]
        asked = dict(zip(prefetch[1].query.indices, prefetch[1].query.values))
        def dense(point):
            return sum(one * other for one, other in zip(prefetch[0].query, point.vector["dense"], strict=True))
        def sparse(point):
            of = point.vector["sparse"]
            return sum(asked.get(index, 0) * value for index, value in zip(of.indices, of.values))
        places = [sorted(self.points, key=score, reverse=True) for score in (dense, sparse)]
        self.points.sort(key=lambda point: sum(1 / (2 + each.index(point)) for each in places), reverse=True)
        return self
"""


async def test_the_example_of_the_docs_stores_and_finds_in_qdrant(client: Client, tmp_path: Path) -> None:
    (program,) = [each.text for each in samples(ROOT / "docs" / "extensions.md") if "qdrant" in each.text]
    (tmp_path / "qdrant_client").mkdir()
    (tmp_path / "qdrant_client" / "__init__.py").write_text("from .models import QdrantClient", encoding="utf-8")
    (tmp_path / "qdrant_client" / "models.py").write_text(_QDRANT, encoding="utf-8")
    environ = {"QUARTET_URL": str(client.make_url("")).rstrip("/"), "QUARTET_API_KEY": KEY, "PYTHONPATH": str(tmp_path)}
    run = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, env=os.environ | environ, stdout=asyncio.subprocess.PIPE
    )
    assert (await run.communicate())[0] == b"0\n"


@pytest.mark.parametrize("shape", [(1, 2), (1, 4), (3,)])
async def test_weights_of_a_wrong_shape_are_a_bad_gateway(client: Client, triton: FakeTriton, shape: Any) -> None:
    triton.spoil = lambda arrays: {**arrays, "token_weights": np.zeros(shape, np.float32)}
    answer = await client.post(PATH, json={"input": "a", "outputs": BOTH})
    assert (answer.status, (await answer.json())["error"]["type"]) == (502, "bad_gateway")


@APART
async def test_the_price_is_that_of_the_tokens(database: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folders = tmp_path_factory.mktemp("sparse"), tmp_path_factory.mktemp("repository")
    settings = _settings(database, *folders)
    async with running(settings, FakeTriton()) as client:
        tokens = [
            (await _post(client, input="a b", **more))["usage"]["total_tokens"] for more in ({}, {"outputs": BOTH})
        ]
        assert [row["quantity"] for row in await charges(client, settings)] == tokens == [4, 4]


@APART
@pytest.mark.settings(extensions="sparse_embeddings")
async def test_a_model_without_weights_says_so_and_charges_nothing(client: Client, settings: Settings) -> None:
    answer = await client.post(PATH, json={"input": "a", "outputs": BOTH})
    assert await refusal(answer) == (400, "outputs")
    assert "embed-m3 has no sparse weights" in (await answer.json())["error"]["message"]
    assert list((await _post(client, input="a", outputs=["dense"]))["data"][0]) == ["object", "index", "embedding"]
    assert len(await charges(client, settings)) == 1


@APART
@pytest.mark.contract_only
@pytest.mark.parametrize("value", [["sparse"], ["dense"], 5])
async def test_without_the_extension_the_parameter_is_unknown(client: Client, value: Any) -> None:
    answer = await client.post(PATH, json={"input": "a", "outputs": value})
    assert (await answer.json())["error"] == {
        "message": "unknown parameter: outputs",
        "type": "invalid_request_error",
        "param": "outputs",
        "code": None,
    }


async def test_the_document_describes_it_only_with_the_extension() -> None:
    whole = document(ON)
    OpenAPIV31SpecValidator(whole).validate()
    on, off = (each["components"]["schemas"]["Embedding"] for each in (whole, document(Settings())))
    assert (on["required"], "sparse" in on["properties"]) == (["object", "index"], True)
    assert (off["required"], "sparse" in off["properties"]) == (["object", "index", "embedding"], False)
