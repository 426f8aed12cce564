"""The playground in Debian's Chromium before the whole product: it shows what the API answers."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from client.recordings import words
from frontend.catalogue.models import MODELS
from frontend.catalogue.prices import to_chf
from scripts.run.stack import Stack
from tests.browser.barriers import barriers
from tests.browser.conftest import SPOKEN, Seen, press, show
from tests.speech import encode

pytestmark = [pytest.mark.triton, pytest.mark.asyncio(loop_scope="session")]

ANSWER_MS = 60_000
# Quotes, a backslash, markup and what shells read.
BAD_NAME = """it's <b>"$HOME" \\ `ls`.wav"""
# Drops files, by pairs of a name and a size in MiB.
_DROP = """(names) => {
  const dataTransfer = new DataTransfer();
  for (let place = 0; place < names.length; place += 2) {
    dataTransfer.items.add(new File([new Uint8Array(names[place + 1] * 2 ** 20)], names[place], { type: "audio/wav" }));
  }
  document.getElementById("drop").dispatchEvent(new DragEvent("drop", { dataTransfer, cancelable: true }));
}"""
TEXTS = ["How do I reset my password?", 'It\'s a <b>cat</b> "on" the \\ mat.', "A kitten is lying on the rug."]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(stack: Stack, tab: Page) -> AsyncIterator[Page]:
    """Signed in with a key that may do everything."""
    await tab.goto(f"{stack.url}/playground")
    await tab.get_by_label("API key").fill(stack.api_key)
    await tab.keyboard.press("Enter")
    await expect(tab.locator("#whose")).not_to_be_empty()
    # So slowly that a word is seen to be lit before the next one is.
    await tab.evaluate("played.defaultPlaybackRate = played.playbackRate = 1 / 16")
    yield tab


@pytest.fixture(scope="module")
def client(stack: Stack) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{stack.url}/v1", api_key=stack.api_key, max_retries=0)


async def _try(page: Page, tab: str, button: str = "") -> Locator:
    """Send what stands in a panel; the panel, with its result."""
    sent = await press(page, tab, button)
    await sent.locator(".result:not([data-old])").wait_for(timeout=ANSWER_MS)
    return sent


async def _listed(panel: Locator, place: str) -> dict[str, str]:
    """A list of names and values."""
    names, values = [await panel.locator(f"{place} {tag}").all_inner_texts() for tag in ("dt", "dd")]
    return dict(zip(names, values, strict=True))


def _first_bytes(path: Path) -> bytes:
    return path.read_bytes()[:2]


def _content(path: Path) -> str:
    return path.read_text(encoding="utf-8")


async def _chosen(page: Page, name: str = BAD_NAME) -> None:
    await show(page, "Transcribe")
    file = {"name": name, "mimeType": "audio/wav", "buffer": encode(SPOKEN.samples(), "wav")}
    await page.locator("#file").set_input_files(file)  # type: ignore[arg-type]


async def test_a_voice_is_heard(page: Page) -> None:
    text = "Grüezi 🎈, kannst du heute Brot kaufen?"
    await page.get_by_label("thorsten").check()
    await page.get_by_label("Text", exact=True).fill(text)
    result = await _try(page, "Listen", "Speak")
    loudest, seconds = await page.evaluate(
        """async () => {
          const bytes = await window.files.at(-1).arrayBuffer();
          const heard = await new OfflineAudioContext(1, 1, 22050).decodeAudioData(bytes);
          return [heard.getChannelData(0).reduce((most, value) => Math.max(most, Math.abs(value)), 0), heard.duration];
        }"""
    )
    assert loudest > 0.1
    assert seconds > 1
    playing = "() => new Promise((done) => (spoken.ontimeupdate = () => spoken.currentTime && done(spoken.duration)))"
    assert await page.evaluate(playing) == pytest.approx(seconds, abs=0.01)
    facts = await _listed(result, ".result .facts")
    price = f"{to_chf(MODELS['tts-1'].price.micro_chf)} CHF a million characters"
    assert (facts["Characters"], facts["Price"]) == (str(len(text)), price)


async def test_the_speech_is_saved_as_a_file(page: Page) -> None:
    await page.get_by_label("Format").select_option("mp3")
    await _try(page, "Listen", "Speak")
    async with page.expect_download() as downloading:
        await page.get_by_role("link", name="Download").click()
    download = await downloading.value
    assert download.suggested_filename == "speech.mp3"
    assert _first_bytes(Path(await download.path())) in (b"\xff\xfb", b"\xff\xf3", b"ID")


async def test_a_click_on_a_word_plays_it_and_it_lights_up(page: Page) -> None:
    await _chosen(page)
    assert await page.locator("#chosen").inner_text() == BAD_NAME
    result = await _try(page, "Transcribe")
    assert words(" ".join(await page.locator("#transcript p").all_inner_texts())) == words(SPOKEN.text)
    last = page.locator(".word").last
    await last.click()
    await expect(last).to_contain_class("now")
    assert await page.evaluate("played.currentTime") >= float(await last.get_attribute("data-start") or "inf")
    await page.locator(".time").first.click()
    await expect(page.locator(".word").first).to_contain_class("now")
    await page.evaluate("played.pause()")
    facts = await _listed(result, ".result .facts")
    assert facts["Language"] == "English"
    assert {"Length", "Time taken", "Real-time factor", "Price"} <= facts.keys()


async def test_words_are_reached_by_the_keyboard(page: Page) -> None:
    await page.locator(".word").first.focus()
    await page.keyboard.press("ArrowRight")
    assert await page.evaluate("document.activeElement.textContent") == "number"
    await page.keyboard.press("Enter")
    await expect(page.locator(".word").nth(1)).to_contain_class("now")
    await page.evaluate("played.pause()")


async def test_a_recording_of_the_microphone_is_transcribed(page: Page) -> None:
    await press(page, "Transcribe", "Record")
    await page.get_by_role("button", name="Stop (4 s)").click(timeout=ANSWER_MS)
    # The picture of a recording whose length the browser had to find.
    await page.locator("#wave").wait_for(timeout=ANSWER_MS)
    # It is sent as it ends.
    await expect(page.locator("#recording")).to_have_text("Recorded.", timeout=ANSWER_MS)
    await page.locator("#transcriptions .result:not([data-old])").wait_for(timeout=ANSWER_MS)
    heard = words(await page.locator("#transcript").inner_text())
    # A machine that is busy drops some of what a browser records.
    assert len(set(heard) & set(words(SPOKEN.text))) >= 4
    await page.locator(".word").nth(2).click()
    await expect(page.locator(".word.now")).not_to_have_count(0)
    assert await page.evaluate("Number.isFinite(played.duration)")


async def test_the_matrix_shows_the_similarity_of_the_apis_vectors(page: Page, client: openai.OpenAI) -> None:
    await show(page, "Compare")
    await page.get_by_label("Texts, one on each line").fill("\n".join([*TEXTS, "", "  "]))
    await _try(page, "Compare")
    answer = await asyncio.to_thread(client.embeddings.create, model="embed-m3", input=TEXTS)
    vectors = np.array([item.embedding for item in answer.data])
    cells = await page.locator("#matrix td").all()
    shown = np.array([float(await cell.get_attribute("title") or "nan") for cell in cells])
    assert np.abs(shown.reshape(3, 3) - vectors @ vectors.T).max() < 2e-6


async def test_bars_are_in_the_order_of_the_apis_scores(page: Page, client: openai.OpenAI) -> None:
    await show(page, "Rank")
    await page.get_by_label("Query").fill(TEXTS[2])
    await page.get_by_label("Documents, one on each line").fill("\n".join(TEXTS))
    await _try(page, "Rank")
    body = {"query": TEXTS[2], "documents": TEXTS}
    answer: Any = await asyncio.to_thread(client.post, "/rerank", body=body, cast_to=object)
    bars = await page.locator("#bars li").all()
    shown = [(await bar.get_attribute("data-index"), await bar.locator(".score").inner_text()) for bar in bars]
    assert shown == [(str(each["index"]), f"{each['relevance_score']:.4f}") for each in answer["results"]]
    widths = [
        await bar.locator(".drawn").evaluate("bar => Number(bar.style.getPropertyValue('--score'))") for bar in bars
    ]
    assert widths == [each["relevance_score"] for each in answer["results"]]


async def test_the_headers_and_the_body_of_an_answer_are_shown(page: Page) -> None:
    result = await _try(page, "Rank")
    headers = await _listed(result, ".headers")
    assert len(headers["x-request-id"]) == 32
    assert int(headers["x-ratelimit-remaining"]) < int(headers["x-ratelimit-limit"])
    assert (await result.get_by_label("The answer's body").inner_text()).startswith('{\n  "')


async def test_a_refusal_is_shown_as_the_api_sent_it(page: Page) -> None:
    await _try(page, "Rank")
    await page.get_by_label("Query").fill("")
    refused = await press(page, "Rank")
    await expect(refused.get_by_role("alert")).to_contain_text("400: ")
    body = json.loads(await refused.get_by_label("The answer's body").inner_text())
    assert (body["error"]["param"], body["error"]["type"]) == ("query", "invalid_request_error")
    # The answer before stays.
    assert await refused.locator(".result").is_visible()
    await page.get_by_label("Query").fill(TEXTS[2])


async def test_more_than_a_request_may_have_is_not_sent(page: Page, seen: Seen) -> None:
    await show(page, "Rank")
    await page.get_by_label("Documents, one on each line").fill("a\n" * 33)
    asked = len(seen.asked)
    refused = await press(page, "Rank")
    await expect(refused.get_by_role("alert")).to_have_text("This is more than one request may have.")
    assert len(seen.asked) == asked


async def test_a_file_that_is_too_large_is_not_sent(page: Page) -> None:
    await page.evaluate(_DROP, ["large.wav", 26])
    refused = await press(page, "Transcribe")
    await expect(refused.get_by_role("alert")).to_have_text("The file has 26.0 MiB, and 25 MiB are taken.")


async def test_speech_is_passed_on_and_transcribed(page: Page) -> None:
    await show(page, "Listen")
    await page.get_by_label("Text", exact=True).fill("Good morning, Anna.")
    await page.get_by_label("ryan").check()
    await _try(page, "Listen", "Speak")
    await page.get_by_role("button", name="Transcribe it").click()
    await expect(page.locator("#transcript")).to_contain_text("morning", timeout=ANSWER_MS)


async def test_a_transcript_is_saved_in_every_format(page: Page) -> None:
    await _chosen(page, "call.wav")
    await _try(page, "Transcribe")
    begins = {"TXT": "The number", "JSON": "{\n"}
    for kind, begin in begins.items():
        async with page.expect_download() as downloading:
            await page.get_by_role("button", name=f"Download as {kind}").click()
        download = await downloading.value
        assert download.suggested_filename == f"call.{kind.lower()}"
        content = _content(Path(await download.path()))
        assert (content.startswith(begin), "service" in content) == (True, True), kind


async def test_the_language_of_an_example_stays(page: Page) -> None:
    await show(page, "Rank")
    await page.locator("#rerank-Python-tab").click()
    await show(page, "Compare")
    await expect(page.locator("#embeddings-Python")).to_be_visible()
    await page.locator("#embeddings-curl-tab").click()


_RUNS = {
    "curl": ["bash", "-c"],
    "Python": [sys.executable, "-c"],
    "JavaScript": [str(Path(sys.prefix) / "clients" / "bin" / "node"), "--input-type=module", "-e"],
}


@pytest.mark.parametrize("language", _RUNS)
async def test_the_shown_request_gives_the_same_answer(page: Page, stack: Stack, tmp_path: Path, language: str) -> None:
    await _chosen(page)
    await show(page, "Rank")
    await page.get_by_label("Documents, one on each line").fill("\n".join(TEXTS))
    shown = [await page.locator(f"#{panel}-{language}").text_content() for panel in ("transcriptions", "rerank")]
    (tmp_path / BAD_NAME).write_bytes(encode(SPOKEN.samples(), "wav"))
    environ = {**os.environ, "QUARTET_API_KEY": stack.api_key}
    # Both declare names that JavaScript allows once in a block.
    first, second = [str(text) for text in shown]
    command = [*_RUNS[language], f"{first}\n{{\n{second}\n}}" if language == "JavaScript" else f"{first}\n{second}"]
    done = await asyncio.to_thread(
        subprocess.run, command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert "not in service" in done.stdout, done.stderr
    assert "relevance_score" in done.stdout, done.stderr


async def test_the_playground_has_no_barriers(page: Page) -> None:
    await _try(page, "Rank")
    await _try(page, "Transcribe")
    await page.evaluate("document.querySelectorAll('.panel').forEach((panel) => { panel.hidden = false; })")
    assert await page.locator(".result:visible").count() == 4
    assert await barriers(page) == []


async def test_the_key_stays_in_the_tab(page: Page, stack: Stack, seen: Seen) -> None:
    assert [url for url in [*seen.asked, page.url] if stack.api_key in url] == []
    assert await page.evaluate("localStorage.length") == 0
    await page.get_by_role("button", name="Sign out").click()
    assert await page.evaluate("sessionStorage.getItem('quartet-key')") is None


async def test_a_wrong_key_is_reported_at_its_field_whichever_request_finds_it(page: Page) -> None:
    await page.get_by_label("API key").fill("qk_wrong")
    await page.keyboard.press("Enter")
    message = page.locator("#message")
    await expect(message).to_contain_text("401: ")
    found = await message.inner_text()
    assert await page.evaluate("sessionStorage.getItem('quartet-key')") is None
    await page.evaluate("sessionStorage.setItem('quartet-key', 'qk_wrong')")
    await press(page, "Rank")
    await expect(message).to_have_text(found)
    await expect(page.get_by_label("API key")).to_be_focused()


async def test_a_page_that_cannot_read_what_is_served_says_so(page: Page, stack: Stack) -> None:
    await page.route("**/offer.json", lambda route: route.abort())
    await page.goto("about:blank")
    await page.goto(f"{stack.url}/playground")
    await expect(page.locator("#message")).to_have_text(
        "What is served here cannot be read. Load the page again in a moment."
    )
