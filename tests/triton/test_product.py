"""The whole product, called with the official OpenAI client: a real Triton answers with the demo models."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jiwer
import numpy as np
import openai
import pytest
from numpy.typing import NDArray

from client.recordings import recordings, words
from frontend.catalogue.voices import VOICES
from scripts.benchmark.common.sentences import sentences
from scripts.benchmark.product.triton_counts import between, settled
from scripts.run.stack import Stack
from tests.speech import SAMPLE_RATE, decoded, encode

pytestmark = pytest.mark.triton

# Measured: 0.03 with one beam, 0.015 with five.
WORD_ERROR = 0.06
SENTENCE = recordings("en")[2]
ABBREVIATED = {
    "en": ["Dr. Smith met Mr. Brown at 5 p.m. in St. Louis.", "J. K. Rowling wrote it for the U.S. Army."],
    "de": ["Am 3. Oktober kommt Dr. Weber mit Hr. Maier.", "J. S. Bach fuhr ca. 20 km zum 2. Haus in St. Gallen."],
    "fr": ["M. Dupont et Mme. Martin arrivent avec le Dr. Petit.", "Les nouvelles d'aujourd'hui de M. Le Grand."],
    "it": ["Il dott. Rossi e il sig. Bianchi arrivano.", "La sig.ra Verdi e il prof. G. B. Neri abitano al n. 5."],
}


def _heard(client: openai.OpenAI, audio: NDArray[np.float32], kind: str = "wav") -> Any:
    file = ("upload", encode(audio, kind))
    return client.audio.transcriptions.create(model="stt-1", file=file, response_format="verbose_json")


def _word_error(said: list[str], heard: list[str]) -> float:
    spoken, written = ([" ".join(words(text)) or "-" for text in texts] for texts in (said, heard))
    return float(jiwer.wer(spoken, written))


# Both Italian voices are Kokoro's.
@pytest.mark.parametrize("voice", [voice for voice in VOICES if voice != "riccardo"])
def test_a_voice_is_loud_and_does_not_pause_at_abbreviations(client: openai.OpenAI, voice: str) -> None:
    for text in ABBREVIATED[VOICES[voice].language]:
        audio = client.audio.speech.create(model="tts-1", voice=voice, input=text, response_format="wav")
        samples = decoded(audio.content)
        assert 1 < len(samples) / SAMPLE_RATE < 15
        assert np.abs(samples.astype(np.int32)).max() > 3_000
        assert _longest_pause(samples) <= 0.25


def _longest_pause(samples: NDArray[np.int16]) -> float:
    """Seconds between two frames of 10 ms that are louder than a fiftieth of the loudest ones."""
    frames = samples[: len(samples) // 160 * 160].reshape(-1, 160).astype(np.float64)
    loudness = np.sqrt((frames**2).mean(axis=1))
    loud = np.flatnonzero(loudness > 0.02 * np.sort(loudness)[-10])
    return float(np.diff(loud).max() - 1) / 100


def test_words_have_times(client: openai.OpenAI) -> None:
    answer = client.audio.transcriptions.create(
        model="stt-1",
        file=("a", encode(SENTENCE.samples(), "wav")),
        response_format="verbose_json",
        timestamp_granularities=["word"],
    )
    assert answer.words is not None
    assert [word.word.strip() for word in answer.words] == SENTENCE.text.split()
    clocks = [time for word in answer.words for time in (word.start, word.end)]
    assert clocks == sorted(clocks)


def test_a_prompt_helps_with_a_word(client: openai.OpenAI) -> None:
    said = next(each for each in recordings("es") if "buzón" in each.text)
    answer = client.audio.transcriptions.create(
        model="stt-1", file=("a", encode(said.samples(), "wav")), language="es", prompt="buzón de voz"
    )
    assert "buzón" in answer.text


def test_a_long_recording_comes_back_complete_in_order_and_on_time(client: openai.OpenAI) -> None:
    """Several windows of many sentences."""
    pieces: list[NDArray[np.float32]] = []
    spans: list[tuple[float, float, str]] = []
    clock = 0.0
    for said in recordings("en"):
        audio = said.samples()
        loud = np.flatnonzero(np.abs(audio) > 1e-2)
        spans.append((clock + loud[0] / SAMPLE_RATE, clock + loud[-1] / SAMPLE_RATE, said.text))
        pieces += [audio, np.zeros(SAMPLE_RATE, np.float32)]
        clock += len(audio) / SAMPLE_RATE + 1
    answer = _heard(client, np.concatenate(pieces), kind="mp3")
    assert _word_error([" ".join(text for _, _, text in spans)], [answer.text]) <= WORD_ERROR
    starts = [segment.start for segment in answer.segments]
    assert starts == sorted(starts)
    assert [segment.id for segment in answer.segments] == list(range(len(starts)))
    late = [s for s in spans if not any(abs(g.start - s[0]) < 0.5 for g in answer.segments)]
    open_ended = [s for s in spans if not any(abs(g.end - s[1]) < 0.5 for g in answer.segments)]
    assert len(late) + len(open_ended) <= 1


def test_a_long_text_is_spoken_whole(client: openai.OpenAI) -> None:
    text = " ".join(said for _, said in sentences("en"))[:600]
    audio = client.audio.speech.create(model="tts-1", voice="ryan", input=text, response_format="mp3")
    assert len(decoded(audio.content, 3600)) / 16_000 > 30


@pytest.mark.parametrize("query", ["How do I reset my password?", "Comment choisir un nouveau mot de passe ?"])
def test_rerank_puts_the_answer_first(client: openai.OpenAI, query: str) -> None:
    """Also for a question in another language."""
    documents = [
        "Hold the reset button of the router for ten seconds to restore its settings.",
        "If you forgot your login secret, choose a new one under account settings.",
    ]
    body = {"query": query, "documents": documents}
    answer = client.post("/rerank", cast_to=dict[str, Any], body=body)
    assert [result["index"] for result in answer["results"]] == [1, 0]


def test_a_translation_is_nearer_than_other_texts(client: openai.OpenAI) -> None:
    texts = ["Domani pioverà tutto il giorno.", "It will rain all day tomorrow.", "Tomorrow I buy a new bicycle."]
    answer = client.embeddings.create(model="embed-m3", input=texts)
    asked, right, wrong = (np.array(each.embedding) for each in answer.data)
    assert asked @ right > asked @ wrong + 0.2


@pytest.mark.parametrize("text", ["Grüezi, wie gaht's? 👍", "Straße " * 500, "東京は大きい。", " "])
def test_any_text_is_embedded(client: openai.OpenAI, text: str) -> None:
    answer = client.embeddings.create(model="embed-m3", input=text)
    assert np.linalg.norm(answer.data[0].embedding) == pytest.approx(1, abs=1e-4)
    assert answer.usage.prompt_tokens <= 8192


def test_callers_share_executions_and_their_vectors_do_not_change(client: openai.OpenAI, stack: Stack) -> None:
    triton = f"http://127.0.0.1:{stack.triton.ports.http}"
    rng = np.random.default_rng(3)
    vocabulary = [word for _, text in sentences("en") for word in words(text)]
    calls = [
        [" ".join(rng.choice(vocabulary, int(rng.integers(2, 120)))) for _ in range(int(rng.integers(1, 6)))]
        for _ in range(32)
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
