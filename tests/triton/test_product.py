"""The whole product, called with the official OpenAI client: a real Triton answers with the demo models."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jiwer
import numpy as np
import openai
import pytest
from numpy.typing import NDArray

from scripts.benchmark.product.triton_counts import between, settled
from scripts.export_models.demo.sentences import sentences, words
from scripts.run.stack import Stack
from tests.speech import CONTAINERS, decoded, encode, say

pytestmark = pytest.mark.triton

VOICES = {"paola": "it", "riccardo": "it", "amy": "en", "ryan": "en", "thorsten": "de", "siwis": "fr"}
UNSEEN_SEED = 4_000_000
PER_VOICE = 15
WORD_ERROR = 0.05
RIGHT_LANGUAGE = 0.98


def test_what_the_voices_say_is_understood(client: openai.OpenAI) -> None:
    said, heard, languages = [], [], []
    for voice, language in VOICES.items():
        for text in sentences(language, UNSEEN_SEED, PER_VOICE):
            audio = client.audio.speech.create(model="tts-1", voice=voice, input=text, response_format="wav")
            answer = client.audio.transcriptions.create(
                model="stt-1", file=("a.wav", audio.content), response_format="verbose_json"
            )
            said.append(" ".join(words(text)))
            heard.append(" ".join(words(answer.text)) or "-")
            languages.append(answer.language == language)
    assert jiwer.wer(said, heard) <= WORD_ERROR
    assert np.mean(languages) >= RIGHT_LANGUAGE


@pytest.mark.parametrize("kind", CONTAINERS)
def test_speech_is_understood_in_every_container(client: openai.OpenAI, kind: str) -> None:
    text = "The meeting was moved from Monday to Friday."
    file = encode(say(text), kind)
    heard = client.audio.transcriptions.create(model="stt-1", file=("upload", file), response_format="text")
    assert words(str(heard)) == words(text)


def test_the_hd_model_answers_too(client: openai.OpenAI) -> None:
    text = "I will cook dinner tonight."
    answer = client.audio.transcriptions.create(model="stt-1-hd", file=("a", encode(say(text), "flac")))
    assert words(answer.text) == words(text)


def test_words_have_times(client: openai.OpenAI) -> None:
    text = "I will cook dinner tonight."
    answer = client.audio.transcriptions.create(
        model="stt-1",
        file=("a", encode(say(text), "wav")),
        response_format="verbose_json",
        timestamp_granularities=["word"],
    )
    assert answer.words is not None
    assert [word.word.strip() for word in answer.words] == text.split()
    clocks = [time for word in answer.words for time in (word.start, word.end)]
    assert clocks == sorted(clocks)


def test_a_long_recording_comes_back_complete_in_order_and_on_time(client: openai.OpenAI) -> None:
    """Two minutes made of many sentences."""
    pieces: list[NDArray[np.float32]] = []
    spans: list[tuple[float, float, str]] = []
    clock = 0.0
    for text in sentences("en", UNSEEN_SEED + 1, 1000):
        audio = say(text)
        loud = np.flatnonzero(np.abs(audio) > 1e-3)
        spans.append((clock + loud[0] / 16_000, clock + loud[-1] / 16_000, text))
        pieces += [audio, np.zeros(8_000, np.float32)]
        clock += len(audio) / 16_000 + 0.5
        if clock > 120:
            break
    answer = client.audio.transcriptions.create(
        model="stt-1", file=("long", encode(np.concatenate(pieces), "mp3")), response_format="verbose_json"
    )
    assert answer.segments is not None
    assert jiwer.wer(" ".join(words(" ".join(s[2] for s in spans))), " ".join(words(answer.text))) <= WORD_ERROR
    starts = [segment.start for segment in answer.segments]
    assert starts == sorted(starts)
    assert [segment.id for segment in answer.segments] == list(range(len(starts)))
    late = [s for s in spans if not any(abs(g.start - s[0]) < 0.5 for g in answer.segments)]
    open_ended = [s for s in spans if not any(abs(g.end - s[1]) < 0.5 for g in answer.segments)]
    assert len(late) + len(open_ended) <= 0.02 * len(spans)


@pytest.mark.parametrize("response_format", ["wav", "mp3"])
def test_a_long_text_is_spoken_whole(client: openai.OpenAI, response_format: Any) -> None:
    text = " ".join(sentences("de", UNSEEN_SEED + 2, 90))[:5000]
    audio = client.audio.speech.create(model="tts-1", voice="thorsten", input=text, response_format=response_format)
    assert len(decoded(audio.content, 3600)) / 16_000 > 150


def test_rerank_puts_the_answer_first(client: openai.OpenAI) -> None:
    documents = [
        "Hold the reset button of the router for ten seconds to restore its settings.",
        "If you forgot your login secret, choose a new one under account settings.",
    ]
    body = {"query": "How do I reset my password?", "documents": documents}
    answer = client.post("/rerank", cast_to=dict[str, Any], body=body)
    assert [result["index"] for result in answer["results"]] == [1, 0]


@pytest.mark.parametrize("text", ["Grüezi, wie gaht's? 👍", "Straße " * 500, "東京は大きい。", " "])
def test_any_text_is_embedded(client: openai.OpenAI, text: str) -> None:
    answer = client.embeddings.create(model="embed-m3", input=text)
    assert np.linalg.norm(answer.data[0].embedding) == pytest.approx(1, abs=1e-4)
    assert answer.usage.prompt_tokens <= 8192


def test_callers_share_executions_and_their_vectors_do_not_change(client: openai.OpenAI, stack: Stack) -> None:
    triton = f"http://127.0.0.1:{stack.triton.ports.http}"
    rng = np.random.default_rng(3)
    vocabulary = [word for text in sentences("en", UNSEEN_SEED, 200) for word in words(text)]
    calls = [
        [" ".join(rng.choice(vocabulary, int(rng.integers(2, 120)))) for _ in range(int(rng.integers(1, 6)))]
        for _ in range(64)
    ]

    def embed(texts: list[str]) -> NDArray[np.float64]:
        return np.array([row.embedding for row in client.embeddings.create(model="embed-m3", input=texts).data])

    alone = [embed(texts) for texts in calls]
    before = asyncio.run(settled(triton))
    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(embed, calls))
    counted = between(before, asyncio.run(settled(triton)))["m3_embedder"]
    assert max(np.abs(a - b).max() for a, b in zip(alone, together, strict=True)) < 1e-5
    # Where the machine is slow, a call may be cut into pieces, each a request to Triton.
    assert counted["requests"] >= len(calls)
    assert counted["executions"] < counted["requests"]


async def test_the_async_client_is_answered_side_by_side(stack: Stack) -> None:
    async with openai.AsyncOpenAI(base_url=f"{stack.url}/v1", api_key=stack.api_key) as client:
        speech = client.audio.speech.create(model="tts-1", voice="siwis", input="Bonjour.", response_format="mp3")
        vectors = client.embeddings.create(model="embed-m3", input=["a", "b"])
        audio, embedded = await asyncio.gather(speech, vectors)
    assert len(audio.content) > 1000
    assert len(embedded.data) == 2


def test_a_wrong_key_is_an_authentication_error(stack: Stack) -> None:
    with (
        openai.OpenAI(base_url=f"{stack.url}/v1", api_key="wrong") as client,
        pytest.raises(openai.AuthenticationError),
    ):
        client.embeddings.create(model="embed-m3", input="a")
