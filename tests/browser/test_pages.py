"""The pages in Debian's Chromium before a fake Triton: accessibility, markup, progress and errors."""

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, Route, expect

from frontend.access import api_key
from tests.browser.barriers import barriers
from tests.browser.conftest import Seen, panel, press, show
from tests.browser.served import open_with_key, served_with_key
from tests.conftest import settings_in
from tests.fakes import FakeTriton

pytestmark = pytest.mark.asyncio(loop_scope="session")

KEY = api_key.new_key()
# Each of them would set ``window.hurt``.
MARKUP = "<img src=x onerror='window.hurt = 1'><script>window.hurt = 1;\"><b>"

_FILE = {"name": f"{MARKUP}.wav", "mimeType": "audio/wav", "buffer": b"RIFF"}


@pytest.fixture(scope="module")
def triton() -> FakeTriton:
    return FakeTriton()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def url(tmp_path_factory: pytest.TempPathFactory, triton: FakeTriton) -> AsyncIterator[str]:
    """The address of the application, with ``KEY`` of an organisation called as markup."""
    folder = tmp_path_factory.mktemp("pages")
    async with served_with_key(settings_in(folder), KEY, "<b onclick=hurt()>acme", triton) as address:
        yield address


@pytest_asyncio.fixture(loop_scope="session")
async def page(tab: Page, url: str) -> Page:
    """The playground, signed in."""
    await open_with_key(tab, url, KEY, "/playground")
    await expect(tab.locator("#whose")).not_to_be_empty()
    return tab


async def _send(page: Page, name: str) -> None:
    await (await press(page, name)).locator(".result").wait_for()


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
async def test_a_page_has_no_barriers(page: Page, url: str, path: str) -> None:
    await page.goto(f"{url}{path}")
    await page.locator({"/": "td[data-state]", "/dashboard": "#limits tr", "/docs": ".copied"}[path]).first.wait_for()
    assert await barriers(page) == []


async def test_a_command_of_the_guide_is_copied_with_the_address_of_this_server(page: Page, url: str) -> None:
    await page.goto(f"{url}/docs")
    await page.evaluate("navigator.clipboard.writeText = (text) => { window.copied = text; }")
    await page.locator(".copied").filter(has_text="/v1/models").first.get_by_role("button").click()
    copied = str(await page.evaluate("window.copied"))
    assert copied.startswith(f"curl -s {url}/v1/models \\\n")


async def test_on_a_phone_the_guide_begins_with_its_words(tab: Page, url: str) -> None:
    await tab.set_viewport_size({"width": 390, "height": 800})
    await tab.goto(f"{url}/docs")
    await expect(tab.get_by_role("heading", name="Get a key")).to_be_in_viewport()
    await expect(tab.get_by_role("link", name="Get a key")).to_be_hidden()
    await tab.set_viewport_size({"width": 1200, "height": 800})


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
    await show(page, "Transcribe")
    await _drop(page, "dropped.wav", "other.wav")
    await expect(page.locator("#chosen")).to_have_text("dropped.wav")
    assert await page.evaluate("document.getElementById('file').files[0].name") == "dropped.wav"
    alert = panel(page, "Transcribe").get_by_role("alert")
    await expect(alert).to_have_text("One recording at a time: dropped.wav was taken, and 1 more was not.")
    await _drop(page)
    await expect(page.locator("#chosen")).to_have_text("dropped.wav")


async def test_a_long_request_shows_its_progress_and_can_be_cancelled(
    page: Page, triton: FakeTriton, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as held:
        held.setattr(triton, "wait", asyncio.Event().wait)
        sent = await press(page, "Compare")
        await expect(sent.get_by_role("progressbar")).to_be_visible()
        await expect(sent.get_by_text("working, 1 s")).to_be_visible()
        await sent.get_by_role("button", name="Cancel").click()
        await expect(sent.get_by_role("alert")).to_have_text("Cancelled.")
    await _send(page, "Compare")
    await expect(sent.get_by_role("alert")).to_have_count(0)


async def test_a_vector_is_shown_by_its_first_numbers_and_no_documents_cannot_be_sent(page: Page) -> None:
    sent = await press(page, "Compare")
    await expect(sent.get_by_label("The answer's body")).to_contain_text("[0, 0, 0, ... and 1,021 more]")
    ranked = await show(page, "Rank")
    await page.get_by_label("Documents, one on each line").fill(" \n")
    await expect(ranked.get_by_role("button", name="Rank", exact=True)).to_be_disabled()


async def test_a_request_without_a_file_or_a_key_is_not_sent(page: Page, seen: Seen) -> None:
    sent = await press(page, "Transcribe")
    await expect(sent.get_by_role("alert")).to_have_text("Record something, or choose a file first.")
    await page.get_by_role("button", name="Sign out").click()
    await press(page, "Transcribe")
    await expect(page.locator("#message")).to_have_text("An API key is needed.")
    await expect(page.get_by_label("API key")).to_be_focused()
    assert not [url for url in seen.asked if url.endswith("/transcriptions")]


async def test_the_start_page_says_which_model_is_away(tab: Page, url: str) -> None:
    await tab.goto(f"{url}/")
    await expect(tab.locator("#state")).to_have_text("Ready: every model answers")
    row = tab.get_by_role("row", name="embed-m3")
    await expect(row).to_contain_text("ready")
    await tab.route("**/health/ready", lambda route: route.fulfill(status=503, json=_AWAY))
    await tab.goto(f"{url}/")
    await expect(tab.locator("#state")).to_have_text("Not ready: required models are not ready")
    await expect(row).to_contain_text("away: no Triton answers for it")
    await expect(tab.get_by_role("row", name="tts-1-hd")).to_contain_text("(kokoro)")
    # As if health were on the admin port.
    await tab.route("**/health/ready", lambda route: route.fulfill(status=404, json={}))
    await tab.goto(f"{url}/")
    await expect(row).to_be_visible()
    await expect(tab.get_by_role("columnheader", name="State")).to_have_count(0)
    await tab.unroute_all()


@pytest.mark.parametrize("status", [None, 502])
@pytest.mark.parametrize(
    ("path", "place"), [("/", "#state"), ("/playground", "#message"), ("/docs/reference", "#message")]
)
async def test_a_page_whose_data_fails_to_load_says_so(
    tab: Page, url: str, path: str, place: str, status: int | None
) -> None:
    async def fail(route: Route) -> None:
        await (route.abort() if status is None else route.fulfill(status=status, json={"error": {"message": "away"}}))

    for data in ("**/offer.json", "**/openapi.json"):
        await tab.route(data, fail)
    await tab.goto(f"{url}{path}")
    await expect(tab.locator(place)).to_contain_text("Load the page again in a moment.")
    await tab.unroute_all()


_AWAY = {
    "status": "not ready",
    "reason": "required models are not ready",
    "models": {"m3_embedder": "away", "kokoro": "loading", "piper_ryan": "ready"},
}


async def test_the_start_page_says_how_each_model_was_exported_and_what_was_skipped(tab: Page, url: str) -> None:
    offer = await (await tab.request.get(f"{url}/offer.json")).json()
    await tab.goto(f"{url}/")
    await expect(tab.locator("#exports")).to_contain_text("kokoro: ")
    await expect(tab.locator("#exports")).to_be_hidden()
    offer["exports"]["piper_ryan"] = {"way": "original", "skipped": ["rewritten: 3 of 9 convolutions"]}
    offer["exports"]["m3_embedder"] = {"way": "fp32", "skipped": ["int8: 0.3, over 0.2", f"bf16: {MARKUP}"]}
    offer["exports"]["m3_reranker"] = {"way": "", "skipped": []}
    await tab.route("**/offer.json", lambda route: route.fulfill(json=offer))
    await tab.goto(f"{url}/")
    shown = await tab.locator("#exports li:visible").all_inner_texts()
    assert {
        "piper_ryan: original; skipped rewritten: 3 of 9 convolutions",
        f"m3_embedder: fp32; skipped int8: 0.3, over 0.2; skipped bf16: {MARKUP}",
        "m3_reranker: not known",
    } <= set(shown)
    await tab.unroute_all()


@pytest.mark.parametrize(
    ("locale", "voice", "begins"),
    [("it-CH", "paola", "Buongiorno"), ("de-CH", "thorsten", "Kannst"), ("ja-JP", "amy", "Good morning")],
)
async def test_the_first_voice_and_its_sentence_are_of_the_readers_language(
    tab: Page, url: str, locale: str, voice: str, begins: str
) -> None:
    assert tab.context.browser is not None
    reader = await tab.context.browser.new_context(locale=locale)
    page = await reader.new_page()
    await page.goto(f"{url}/playground")
    await expect(page.get_by_label(voice)).to_be_checked()
    await expect(page.locator("#said")).to_have_value(re.compile(f"^{begins}"))
    await reader.close()


async def test_the_copied_base_url_and_request_have_this_address(tab: Page, url: str) -> None:
    await tab.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=url)
    await tab.goto(f"{url}/")
    await tab.get_by_role("button", name="Copy the base URL").click()
    await expect(tab.get_by_role("button", name="Copy the base URL")).to_have_text("Copied")
    assert await tab.evaluate("navigator.clipboard.readText()") == f"{url}/v1"
    await tab.get_by_role("tab", name="Python").click()
    await tab.get_by_role("button", name="Copy the request").click()
    await expect(tab.get_by_role("button", name="Copy the request")).to_have_text("Copied")
    assert f'base_url="{url}/v1"' in await tab.evaluate("navigator.clipboard.readText()")
