"""The pictures of the docs, taken from the running product: python -m tests.browser.pictures

Each has a digest of its page's sources, by which a test notices that a page has changed since.
"""

import asyncio
import hashlib
import tempfile
import time
import zlib
from pathlib import Path

from playwright.async_api import Page, ViewportSize, async_playwright

from client.recordings import recordings
from frontend.access import api_key
from frontend.administration.registry import Registry
from frontend.administration.usage.outcomes import UNTIMED
from frontend.administration.usage.queries import UsageQueries
from frontend.billing.ledger import Charge
from frontend.catalogue.endpoints import LIMITS
from frontend.catalogue.models import MODELS
from frontend.database.tables import REQUEST_OUTCOMES
from scripts.local_triton.checks import free_port
from scripts.run.stack import Stack
from tests import tools
from tests.browser.conftest import press, show
from tests.browser.dashboard.ledger import opened
from tests.browser.served import database_of, served
from tests.conftest import ROOT, product_settings, settings_in
from tests.speech import encode
from tests.unit.billing.conftest import write

PICTURES = ROOT / "docs" / "pictures"
# Pages, each with a picture of its name.
PAGES = ("playground", "dashboard")
_STATIC = ROOT / "frontend" / "pages" / "static"
_DAYS, _DAY_SECONDS = 30, 86_400
# Milliseconds until an answer.
_PATIENCE = 60_000


def digest(page: str) -> str:
    """Of the files of a page and of those that all pages share."""
    files = sorted(path for folder in (page, "shared") for path in (_STATIC / folder).rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def digest_in(picture: bytes) -> str:
    """The digest that ``with_digest`` wrote; empty if there is none."""
    _, found, after = picture.partition(b"tEXtSource\0")
    return after[:64].decode("ascii") if found else ""


def with_digest(picture: bytes, text: str) -> bytes:
    """A PNG with a chunk of text before its end (PNG specification, 11.3.4.3)."""
    chunk = b"tEXtSource\0" + text.encode("ascii")
    whole = (len(chunk) - 4).to_bytes(4) + chunk + zlib.crc32(chunk).to_bytes(4)
    # The last chunk has 12 bytes.
    return picture[:-12] + whole + picture[-12:]


async def _take(page: Page, name: str) -> None:
    picture = with_digest(await page.screenshot(full_page=True), digest(name))
    await asyncio.to_thread((PICTURES / f"{name}.png").write_bytes, picture)


async def _playground(page: Page, stack: Stack) -> None:
    """A person's recording, transcribed, with the word that plays."""
    await page.goto(f"{stack.url}/playground")
    await page.get_by_label("API key").fill(stack.api_key)
    await page.keyboard.press("Enter")
    await show(page, "Transcribe")
    spoken = encode(recordings("en")[2].samples(), "wav")
    await page.locator("#file").set_input_files({"name": "voicemail.wav", "mimeType": "audio/wav", "buffer": spoken})
    # The first answer of a model takes longer.
    for _ in range(2):
        panel = await press(page, "Transcribe")
        await panel.locator(".result:not([data-old])").wait_for(timeout=_PATIENCE)
    await page.locator(".word").nth(9).click()
    await page.locator(".word.now").wait_for()
    await page.evaluate("played.pause()")
    await _take(page, "playground")


def _charges(key_id: str, now: int) -> list[Charge]:
    """A month of a help desk: little at weekends, and more each week."""
    charges = []
    for day in range(_DAYS):
        share = (0.3 if day % 7 in (0, 6) else 1.0) * (1 - day / 60)
        for number, model in enumerate(MODELS.values()):
            amount = round(share * 900_000 / (number + 1))
            names = {"operation": model.operation, "model": model.id, "unit": "unit", "org": "Acme", "key_id": key_id}
            charge = Charge(
                id=f"{day} {number}", request_id="", quantity=amount // 10, price=1, amount=amount, prepaid=True,
                at=now - day * _DAY_SECONDS, **names,
            )  # fmt: skip
            charges.append(charge)
    return charges


async def _dashboard(page: Page, folder: Path) -> None:
    settings, now = settings_in(folder), int(time.time())
    async with database_of(settings) as engine:
        registry = Registry(engine)
        await registry.create_org("Acme", None)
        key = await registry.create("help desk", "pro", "Acme", dict.fromkeys(LIMITS, 120), None)
        (caller,) = (await registry.find([api_key.digest(key)])).values()
        await UsageQueries(engine).top_up("Acme", 60_000_000, None)
        await write(engine, *_charges(caller.id, now))
        rows = [("answered", 4_180, 18), ("answered", 260, 24), ("refused", 31, UNTIMED), ("hung_up", 12, UNTIMED)]
        named = {
            "org": "Acme",
            "key_id": caller.id,
            "day": time.strftime("%Y-%m-%d", time.gmtime(now)),
            "operation": "transcriptions",
        }
        async with engine.begin() as connection:
            for outcome, requests, time_class in rows:
                values = named | {"outcome": outcome, "time_class": time_class, "requests": requests}
                await connection.execute(REQUEST_OUTCOMES.insert().values(**values))
    async with served(settings) as address:
        await _take(await opened(page, f"{address}/dashboard", key), "dashboard")


async def _take_all(stack: Stack, folder: Path) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=tools.browser(), args=["--no-sandbox"])
        size = ViewportSize(width=1120, height=800)
        await _playground(await browser.new_page(viewport=size), stack)
        await _dashboard(await browser.new_page(viewport=size), folder)
        await browser.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stack = Stack(free_port(), product_settings(folder))
        try:
            stack.start()
            asyncio.run(_take_all(stack, folder))
        finally:
            stack.stop()


if __name__ == "__main__":
    main()
