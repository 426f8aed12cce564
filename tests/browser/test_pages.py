"""The pages in Debian's Chromium before a fake Triton: who can use them, what markup does, what is told of trouble."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from frontend.access import api_key
from frontend.access.registry import Registry
from frontend.config.settings import Settings
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from tests.browser.barriers import barriers
from tests.browser.conftest import Seen
from tests.browser.served import open_with_key, served
from tests.conftest import ROOT
from tests.fakes import FakeTriton, add_key

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = api_key.new_key()
# Each of them would say so.
MARKUP = "<img src=x onerror='window.hurt = 1'><script>window.hurt = 1;\"><b>"

_FILE = {"name": f"{MARKUP}.wav", "mimeType": "audio/wav", "buffer": b"RIFF"}


class SlowTriton(FakeTriton):
    """Answers when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.held = asyncio.Event()
        self.held.set()
        self.wait = self.held.wait


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def triton() -> SlowTriton:
    return SlowTriton()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(tmp_path_factory: pytest.TempPathFactory, triton: SlowTriton) -> AsyncIterator[str]:
    """The address of the application, with ``KEY`` of an organisation called as markup."""
    folder = tmp_path_factory.mktemp("pages")
    settings = Settings(
        model_repository=ROOT / "model_repository",
        database=f"sqlite:///{folder}/quartet.sqlite3",
        usage_folder=folder / "usage",
        audio_workers=1,
    )
    engine = open_engine(settings.database)
    await migrate(engine)
    registry = Registry(engine)
    await registry.create_org("<b onclick=hurt()>acme", None)
    await add_key(registry, KEY, org="<b onclick=hurt()>acme")
    await engine.dispose()
    async with served(settings, triton) as address:
        yield address


@pytest_asyncio.fixture(loop_scope="module")
async def page(tab: Page, url: str) -> Page:
    """The playground, signed in."""
    await open_with_key(tab, url, KEY, "/playground")
    await expect(tab.locator("#whose")).not_to_be_empty()
    return tab


async def _send(page: Page, name: str) -> None:
    await page.get_by_role("tab", name=name, exact=True).click()
    panel = page.get_by_role("tabpanel", name=name, exact=True)
    await panel.get_by_role("button", name=name, exact=True).click()
    await panel.locator(".result").wait_for()


async def test_markup_stays_text_wherever_it_is_put(page: Page) -> None:
    for field in ("#said", "#prompt", "#texts", "#query", "#documents"):
        await page.locator(field).evaluate("(field, text) => { field.value = text; }", f"{MARKUP}\n{MARKUP} 2")
        await page.locator(field).dispatch_event("input")
    await page.locator("#file").set_input_files(_FILE)  # type: ignore[arg-type]
    for name in ("Compare", "Rank"):
        await _send(page, name)
    assert MARKUP in await page.locator("#bars .document").first.inner_text()
    assert MARKUP in await page.locator("#matrix th span").first.inner_text()
    assert MARKUP in (await page.locator("#chosen").text_content() or "")
    assert MARKUP in (await page.locator("#speech-JavaScript").text_content() or "").replace('\\"', '"')
    assert "<b onclick=hurt()>acme" in await page.locator("#whose").inner_text()
    assert await page.locator("main :is(img, script, b)").count() == 0
    assert await page.evaluate("window.hurt") is None


@pytest.mark.parametrize("path", ["/", "/dashboard", "/docs"])
async def test_nothing_keeps_people_from_using_a_page(page: Page, url: str, path: str) -> None:
    await page.goto(f"{url}{path}")
    await page.locator({"/": "td[data-state]", "/dashboard": "#limits tr", "/docs": ".copied"}[path]).first.wait_for()
    assert await barriers(page) == []


async def test_a_command_of_the_guide_is_copied_with_the_address_of_this_server(page: Page, url: str) -> None:
    await page.goto(f"{url}/docs")
    await page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; }")
    await page.locator(".copied").filter(has_text="/v1/models").first.get_by_role("button").click()
    copied = str(await page.evaluate("window.copied"))
    assert copied.startswith(f"curl -s {url}/v1/models \\\n")


async def _drop(page: Page, *names: str) -> None:
    await page.evaluate(
        """(names) => {
          const dataTransfer = new DataTransfer();
          for (const name of names) dataTransfer.items.add(new File(["RIFF"], name, { type: "audio/wav" }));
          if (!names.length) dataTransfer.setData("text/plain", "no file");
          document.getElementById("drop").dispatchEvent(new DragEvent("drop", { dataTransfer, cancelable: true }));
        }""",
        list(names),
    )


async def test_a_file_that_is_dropped_is_chosen_and_a_text_is_not(page: Page) -> None:
    await page.get_by_role("tab", name="Transcribe", exact=True).click()
    await _drop(page, "dropped.wav", "other.wav")
    await expect(page.locator("#chosen")).to_have_text("dropped.wav")
    await _drop(page)
    await expect(page.locator("#chosen")).to_have_text("dropped.wav")


async def test_what_takes_long_is_told_of_and_cancelled(page: Page, triton: SlowTriton) -> None:
    triton.held.clear()
    await page.get_by_role("tab", name="Compare", exact=True).click()
    panel = page.get_by_role("tabpanel", name="Compare", exact=True)
    await panel.get_by_role("button", name="Compare", exact=True).click()
    await expect(panel.get_by_role("progressbar")).to_be_visible()
    await expect(panel.get_by_text("working, 1 s")).to_be_visible()
    await panel.get_by_role("button", name="Cancel").click()
    await expect(panel.get_by_role("alert")).to_have_text("Cancelled.")
    triton.held.set()
    await _send(page, "Compare")
    await expect(panel.get_by_role("alert")).to_have_count(0)


async def test_what_is_lacking_is_told_and_nothing_is_sent(page: Page, seen: Seen) -> None:
    await page.get_by_role("tab", name="Transcribe", exact=True).click()
    panel = page.get_by_role("tabpanel", name="Transcribe", exact=True)
    send = panel.get_by_role("button", name="Transcribe", exact=True)
    await send.click()
    await expect(panel.get_by_role("alert")).to_have_text("Record something, or choose a file first.")
    await page.get_by_role("button", name="Forget the key").click()
    await send.click()
    await expect(page.locator("#message")).to_have_text("An API key is needed.")
    await expect(page.get_by_label("API key")).to_be_focused()
    assert not [url for url in seen.asked if url.endswith("/transcriptions")]


async def test_a_wrong_key_is_told_and_forgotten(page: Page) -> None:
    await page.get_by_role("button", name="Forget the key").click()
    await page.get_by_label("API key").fill("qk_wrong")
    await page.keyboard.press("Enter")
    await expect(page.locator("#message")).to_have_text("401: the API key is missing, invalid or revoked.")
    assert await page.evaluate("sessionStorage.length") == 0


async def test_the_start_page_says_which_model_is_away(tab: Page, url: str, triton: SlowTriton) -> None:
    await tab.goto(f"{url}/")
    await expect(tab.locator("#state")).to_have_text("Ready: every model answers")
    row = tab.get_by_role("row", name="embed-m3")
    await expect(row).to_contain_text("ready")
    await tab.route("**/health/ready", lambda route: route.fulfill(status=503, json=_AWAY))
    await tab.goto(f"{url}/")
    await expect(tab.locator("#state")).to_have_text("Not ready: required models are not ready")
    await expect(row).to_contain_text("away: no Triton answers for it")
    await expect(tab.get_by_role("row", name="tts-1-hd")).to_contain_text("(piper_amy)")
    # Where health has a port of its own.
    await tab.route("**/health/ready", lambda route: route.fulfill(status=404, json={}))
    await tab.goto(f"{url}/")
    await expect(row).to_be_visible()
    await expect(tab.get_by_role("columnheader", name="State")).to_have_count(0)
    await tab.unroute_all()


_OTHERS = ("paola", "riccardo", "ryan", "thorsten", "siwis")
_AWAY = {
    "status": "not ready",
    "reason": "required models are not ready",
    "models": {"m3_embedder": "away", "piper_amy": "loading", **{f"piper_{name}": "ready" for name in _OTHERS}},
}


@pytest.mark.parametrize("path", ["/", "/playground"])
async def test_what_the_demos_models_can_do_is_told_of_them_alone(tab: Page, url: str, path: str) -> None:
    await tab.goto(f"{url}{path}")
    await expect(tab.locator("#bounds")).to_contain_text("Whisper base understands people in 99 languages")
    offer = await (await tab.request.get(f"{url}/offer.json")).json()
    await tab.route("**/offer.json", lambda route: route.fulfill(json={**offer, "robots": []}))
    await tab.goto(f"{url}{path}")
    await expect(tab.locator("#voices")).to_contain_text("amy")
    assert await tab.locator("#bounds").inner_text() == ""
    await tab.unroute_all()


async def test_the_start_page_says_how_each_model_was_exported_and_what_was_skipped(tab: Page, url: str) -> None:
    offer = await (await tab.request.get(f"{url}/offer.json")).json()
    await tab.goto(f"{url}/")
    await expect(tab.get_by_role("row", name="tts-1-hd")).to_contain_text("rewritten")
    await expect(tab.locator("#skipped")).to_be_hidden()
    offer["exports"]["piper_amy"] = {"way": "original", "skipped": ["rewritten: 3 of 9 convolutions"]}
    offer["exports"]["m3_embedder"] = {"way": "fp32", "skipped": ["int8: 0.3, over 0.2", f"bf16: {MARKUP}"]}
    offer["exports"]["m3_reranker"] = {"way": "", "skipped": []}
    await tab.route("**/offer.json", lambda route: route.fulfill(json=offer))
    await tab.goto(f"{url}/")
    await expect(tab.get_by_role("row", name="tts-1-hd").get_by_role("cell").last).to_have_text("rewritten, original")
    await expect(tab.get_by_role("row", name="rerank-v2-m3")).to_contain_text("not known")
    await expect(tab.locator("#skipped li")).to_have_text(
        [
            "piper_amy is exported as original. Skipped rewritten: 3 of 9 convolutions",
            f"m3_embedder is exported as fp32. Skipped int8: 0.3, over 0.2; skipped bf16: {MARKUP}",
        ]
    )
    await tab.unroute_all()


async def test_the_first_voice_is_a_natural_one(tab: Page, url: str) -> None:
    await tab.goto(f"{url}/playground")
    await expect(tab.get_by_label("ryan")).to_be_checked()


async def test_what_is_put_into_a_client_is_this_address(tab: Page, url: str) -> None:
    await tab.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=url)
    await tab.goto(f"{url}/")
    await tab.get_by_role("button", name="Copy the base URL").click()
    await expect(tab.get_by_role("button", name="Copy the base URL")).to_have_text("Copied")
    assert await tab.evaluate("navigator.clipboard.readText()") == f"{url}/v1"
    await tab.get_by_role("tab", name="Python").click()
    await tab.get_by_role("button", name="Copy the request").click()
    await expect(tab.get_by_role("button", name="Copy the request")).to_have_text("Copied")
    assert f'base_url="{url}/v1"' in await tab.evaluate("navigator.clipboard.readText()")


async def test_no_page_asks_another_server_or_sets_a_cookie(tab: Page, url: str, seen: Seen) -> None:
    assert [asked for asked in seen.asked if not asked.startswith((f"{url}/", "blob:"))] == []
    assert await tab.context.cookies() == []
