"""What the pages show of extensions in Debian's Chromium before a fake Triton."""

import asyncio
import wave
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from frontend.access import api_key
from tests.browser.barriers import barriers
from tests.browser.conftest import press, show
from tests.browser.served import open_with_key, served_with_key
from tests.conftest import settings_in
from tests.fakes import FakeTriton
from tests.speech import encode, say

pytestmark = pytest.mark.asyncio(loop_scope="session")

KEY = api_key.new_key()
# Two windows.
_LONG = np.concatenate(
    [say("this is a part of what was said about many things " * 6), np.zeros(16_000, np.float32)] * 2
)
_FILE = {"name": "long.wav", "mimeType": "audio/wav", "buffer": encode(_LONG, "wav")}


@pytest.fixture(scope="module")
def triton() -> FakeTriton:
    return FakeTriton()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(tab: Page, tmp_path_factory: pytest.TempPathFactory, triton: FakeTriton) -> AsyncIterator[Page]:
    """The playground of an application with every extension, signed in."""
    settings = settings_in(tmp_path_factory.mktemp("extensions"), extensions="all")
    async with served_with_key(settings, KEY, "acme", triton) as url:
        await open_with_key(tab, url, KEY, "/playground")
        await expect(tab.locator("#whose")).not_to_be_empty()
        yield tab


@pytest.fixture
def last(triton: FakeTriton, monkeypatch: pytest.MonkeyPatch) -> Iterator[asyncio.Event]:
    """What every call after the first one waits for."""
    going, before = asyncio.Event(), len(triton.calls)

    async def wait() -> None:
        if len(triton.calls) > before + 1:
            await going.wait()

    monkeypatch.setattr(triton, "wait", wait)
    yield going
    going.set()


def _seconds(path: Path) -> float:
    with wave.open(str(path)) as file:
        return float(file.getnframes() / file.getframerate())


async def test_speech_sounds_while_it_is_spoken_and_is_saved_whole(page: Page, last: asyncio.Event) -> None:
    await page.get_by_label("Text", exact=True).fill("Hello there. How are you? I am well, thanks.")
    spoken = await press(page, "Listen", "Speak")
    # The first text waits for processes that start.
    await expect(spoken.get_by_text("First sound after")).to_be_visible(timeout=60_000)
    await expect(spoken.get_by_role("button", name="Cancel")).to_be_visible()
    last.set()
    await spoken.locator(".result:not([data-old])").wait_for()
    async with page.expect_download() as downloading:
        await page.get_by_role("link", name="Download").click()
    saved = await (await downloading.value).path()
    await page.wait_for_function("spoken.duration > 0")
    assert _seconds(Path(saved)) == pytest.approx(await page.evaluate("spoken.duration"), abs=0.01)


async def test_a_transcript_shows_while_the_rest_is_transcribed(page: Page, last: asyncio.Event) -> None:
    await show(page, "Transcribe")
    await page.locator("#file").set_input_files(_FILE)  # type: ignore[arg-type]
    await page.locator("#answers select").select_option("stream")
    sent = await press(page, "Transcribe")
    await expect(page.locator("#transcript")).to_have_text("hello there")
    await expect(sent.get_by_role("button", name="Cancel")).to_be_visible()
    last.set()
    await expect(page.locator("#transcript")).to_have_text("hello there hello there")


async def test_a_recording_is_translated_into_english(page: Page, triton: FakeTriton) -> None:
    await show(page, "Transcribe")
    await page.locator("#file").set_input_files(_FILE)  # type: ignore[arg-type]
    await page.locator("#answers select").select_option("english")
    await expect(page.get_by_label("Language")).to_be_hidden()
    sent = await press(page, "Transcribe")
    await expect(page.locator("#transcript")).to_contain_text("hello there")
    await expect(sent.locator(".result .facts")).to_contain_text("English")
    assert triton.calls[-1][1]["translate"].tolist() == [[True]]


async def test_what_is_dictated_is_written_as_it_is_said(page: Page) -> None:
    dictated = await press(page, "Transcribe", "Dictate")
    await expect(dictated.get_by_role("log")).to_contain_text("hello there")
    await dictated.get_by_role("button", name="Stop", exact=True).click()
    await expect(page.locator("#recording")).to_contain_text("s of speech were transcribed.")
    await expect(dictated.get_by_role("alert")).to_have_count(0)


async def test_what_extensions_add_has_no_barriers(page: Page) -> None:
    await page.evaluate("sounding.hidden = false")
    assert await barriers(page) == []
    await page.goto(f"{page.url.split('/playground')[0]}/")
    await expect(page.locator("#extensions")).to_contain_text("realtime")
