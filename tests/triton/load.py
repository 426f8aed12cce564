"""A little of everything that callers do, right and wrong."""

import asyncio

import aiohttp

_TEXT = "Good morning Anna, can you buy some bread today?"


async def work(address: str, key: str, rounds: int, callers: int = 4) -> None:
    """Every operation, and refusals, ``rounds`` times by each caller; ``address`` is with its /v1."""
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as session:
        wav = await _ask(session, f"{address}/audio/speech", json={"input": _TEXT, "voice": "amy"})
        for _ in range(rounds):
            await asyncio.gather(*(_round(session, address, wav) for _ in range(callers)))


async def _round(session: aiohttp.ClientSession, address: str, wav: bytes) -> None:
    form = aiohttp.FormData({"response_format": "json"})
    form.add_field("file", wav, filename="a.wav")
    texts = [_TEXT] * 8
    await asyncio.gather(
        _ask(session, f"{address}/audio/speech", json={"input": _TEXT, "voice": "paola", "response_format": "mp3"}),
        _ask(session, f"{address}/audio/transcriptions", data=form),
        _ask(session, f"{address}/embeddings", json={"input": texts}),
        _ask(session, f"{address}/rerank", json={"query": _TEXT, "documents": texts}),
        _ask(session, f"{address}/audio/speech", json={"input": "x" * 5001, "voice": "amy"}),
        _ask(session, f"{address}/models", headers={"Authorization": "Bearer wrong"}),
    )


async def _ask(session: aiohttp.ClientSession, url: str, **request: object) -> bytes:
    call = session.post if set(request) & {"json", "data"} else session.get
    async with call(url, **request) as answer:  # type: ignore[arg-type]
        return await answer.read()
