"""POST /embed and /similarity, /v2/rerank and /rerank."""

from typing import Any

from aiohttp import web

from frontend.extensions.dialects import embeddings, rerank
from frontend.observe.logs import request_id
from frontend.operations.embeddings.handler import answer as answer_vectors
from frontend.operations.rerank.handler import answer as answer_ranking
from frontend.operations.rerank.protocol import RerankRequest


async def embed(request: web.Request) -> web.StreamResponse:
    return await answer_vectors(request, embeddings.parse_embed, embeddings.render_embed)


async def compare(request: web.Request) -> web.StreamResponse:
    return await answer_vectors(request, embeddings.parse_similarity, embeddings.render_similarity, compares=True)


async def rerank_cohere(request: web.Request) -> web.StreamResponse:
    def renders(ranking: list[tuple[int, float]], tokens: int, parsed: RerankRequest) -> Any:
        return rerank.render_cohere(ranking, tokens, parsed, request_id.get())

    return await answer_ranking(request, rerank.parse_cohere, renders)


async def rerank_plain(request: web.Request) -> web.StreamResponse:
    return await answer_ranking(request, rerank.parse_plain, rerank.render_plain)


EMBEDDINGS = [web.post("/embed", embed), web.post("/similarity", compare)]
RERANK = [web.post("/v2/rerank", rerank_cohere), web.post("/rerank", rerank_plain)]
