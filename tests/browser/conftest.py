"""One Chromium for all files and one tab for all tests of a file: starting them takes longer than most tests."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
import pytest_asyncio
import soundfile
from playwright.async_api import Browser, Locator, Page, async_playwright, expect

from client.recordings import SAMPLE_RATE, recordings
from tests import tools
from tests.tools import needed

# Milliseconds that an expectation may take: other tests use the processors too.
expect.set_options(timeout=15_000)
# "The number you have dialed is not in service."
SPOKEN = recordings("en")[2]


@dataclass
class Seen:
    """What a tab did: the addresses that it asked for, and what went wrong in it."""

    asked: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def origins(self) -> set[str]:
        """The servers that were asked; a page also asks for addresses that it makes of its files."""
        return {urlsplit(url).netloc for url in self.asked if not url.startswith(("blob:", "about:"))}

    def watch(self, page: Page) -> None:
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        # Chromium's own line about an answer that is no 200.
        page.on("console", lambda line: self.faults.append(line.text) if _is_fault(line.type, line.text) else None)


def _is_fault(kind: str, text: str) -> bool:
    return kind in ("error", "warning") and "Failed to load resource" not in text


@pytest.fixture(scope="session")
def microphone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that Chromium hears when it asks for a microphone: a person, and a rest."""
    path = tmp_path_factory.mktemp("microphone") / "microphone.wav"
    heard = np.concatenate([SPOKEN.samples(), np.zeros(2 * SAMPLE_RATE, np.float32)])
    soundfile.write(path, heard, SAMPLE_RATE, subtype="PCM_16")
    return path


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(microphone: Path) -> AsyncIterator[Browser]:
    path = needed(tools.browser(), "Chromium or Chrome, nor Playwright's")
    fake = ["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"]
    async with async_playwright() as playwright:
        # Chromium's own sandbox does not start for root.
        args = ["--no-sandbox", *fake, f"--use-file-for-fake-audio-capture={microphone}"]
        started = await playwright.chromium.launch(executable_path=path, args=args)
        yield started
        await started.close()


@pytest.fixture(scope="module")
def seen() -> Seen:
    return Seen()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def tab(browser: Browser, seen: Seen) -> AsyncIterator[Page]:
    """A tab for the tests of a file, watched from its first request on."""
    page = await browser.new_page()
    # The files that the page makes addresses of: its policy lets it play them, and not fetch them.
    await page.add_init_script(
        "window.files = []; const make = URL.createObjectURL;"
        "URL.createObjectURL = (file) => { window.files.push(file); return make(file); };"
    )
    seen.watch(page)
    yield page
    assert await page.context.cookies() == []
    await page.context.close()


@pytest.fixture(autouse=True)
def _no_fault_and_no_other_server(seen: Seen) -> Iterator[None]:
    """No page has an error while a test uses it, or asks another server than its own."""
    yield
    found, seen.faults = seen.faults, []
    assert found == []
    assert len(seen.origins) <= 1, seen.origins


def panel(page: Page, name: str) -> Locator:
    """A panel of the playground."""
    return page.get_by_role("tabpanel", name=name, exact=True)


async def show(page: Page, name: str) -> Locator:
    """Choose a tab; its panel."""
    await page.get_by_role("tab", name=name, exact=True).click()
    return panel(page, name)


async def press(page: Page, name: str, button: str = "") -> Locator:
    """Press the button of a panel, which has the name of the panel unless it is given; the panel."""
    shown = await show(page, name)
    await shown.get_by_role("button", name=button or name, exact=True).click()
    return shown
