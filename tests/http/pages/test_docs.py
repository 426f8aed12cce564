import asyncio
import dataclasses
import re
import time
from urllib.error import HTTPError

import pytest

from frontend.catalogue.aliases import Aliases
from frontend.catalogue.endpoints import LIMITS
from frontend.catalogue.languages import LANGUAGES
from frontend.catalogue.models import PRICES
from frontend.config.settings import Settings
from frontend.errors import ApiError, BadGateway
from frontend.pages.docs import guide, rendered
from frontend.pages.openapi import document
from tests.charges import ORG_KEY, Books
from tests.conftest import ROOT, Client, running
from tests.fakes import FakeTriton
from tests.http.calls import logged

_BODIES = {
    path: item["post"]["requestBody"]["content"]
    for path, item in document(Settings())["paths"].items()
    if path.startswith("/v1/") and "post" in item
}

PROGRAMS = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE | re.DOTALL)


def _section(text: str, path: str) -> str:
    """The part that begins with a call."""
    found = re.search(rf"^`POST {path}`.*?(?=^## )", text, re.MULTILINE | re.DOTALL)
    assert found, path
    return found[0]


@pytest.mark.parametrize("path", _BODIES)
def test_the_guide_lists_every_parameter_and_no_other(path: str) -> None:
    (content,) = _BODIES[path].values()
    listed = re.findall(r"^\| `([^`]+)` \|", _section(guide(Settings()), path), re.MULTILINE)
    assert sorted(listed) == sorted(content["schema"]["properties"])


def test_the_guide_has_the_bounds_and_defaults_of_parameters_and_those_of_extensions_that_are_on() -> None:
    off, on = (guide(Settings(extensions=names)) for names in ("", "transcript_streaming,client_parameters"))
    for line in ("| `temperature` | `0` | 0 to 1. |", "| `prompt` | none | Text", "| `file` | required | WAV"):
        assert (line in off, line in on) == (True, True)
    for line in ("| `stream` | `false` | Send the text in parts", "| `top_k` | none | As top_n. |"):
        assert (line in off, line in on) == (False, True)


def test_the_guide_describes_the_extensions_of_speech_that_are_on() -> None:
    off, on = (guide(Settings(extensions=names)) for names in ("", "speech_streaming,speech_formats"))
    for line in ("### Speech while it is spoken", "### More formats", "`flac` or `pcm`; `wav` is the default"):
        assert (line in off, line in on) == (False, True)


def test_the_guide_lists_every_language() -> None:
    listed = re.search(r"^```text\n(af .*?)^```", guide(Settings()), re.MULTILINE | re.DOTALL)
    assert listed is not None
    assert set(listed[1].split()) == LANGUAGES


def test_the_guide_lists_every_error() -> None:
    def kinds(kind: type[ApiError]) -> set[tuple[str, str]]:
        return {(str(kind.status), kind.type)}.union(*map(kinds, kind.__subclasses__()))

    listed = re.findall(r"^\| (\d{3}) \| `(\w+)` \|", guide(Settings()), re.MULTILINE)
    assert set(listed) == kinds(ApiError)


def test_the_guide_has_the_limits_and_prices_of_the_settings() -> None:
    text = guide(Settings(limits={**LIMITS, "speech": 7}))
    assert "| `POST /v1/audio/speech` | 7 |" in text
    assert "| `tts-1-hd` | text to speech, the same as tts-1 | 5.00 CHF a million characters |" in text


def test_the_guide_leaves_out_what_is_not_served() -> None:
    text = guide(Settings(models="embed-m3"))
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert ("Embeddings" in headings, "Rerank" in headings, "Text to speech" in headings) == (True, False, False)
    assert ("thorsten |" in text, "{{" in text, "<!--" in text) == (False, False, False)


def test_markup_in_the_guide_stays_text_and_each_section_is_linked() -> None:
    contents, text = rendered("# Title\n\n## <b>One</b> & `two`\n\n<script>\n\n```bash\ncurl <x>\n```\n")
    assert contents == '<ul><li><a href="#b-one-b-two">&lt;b&gt;One&lt;/b&gt; &amp; <code>two</code></a></li></ul>'
    assert '<h2 id="b-one-b-two">' in text
    assert ("<script>" in text, '<pre><code class="language-bash">curl &lt;x&gt;' in text) == (False, True)


async def test_the_page_shows_the_guide(client: Client, settings: Settings) -> None:
    async with client.get("/docs", headers={"Authorization": ""}) as response:
        text = await response.text()
    _, shown = rendered(guide(settings))
    assert shown in text
    assert '<a href="#what-differs-from-openai">What differs from OpenAI</a>' in text


def test_the_guide_lists_the_aliases() -> None:
    aliases = Aliases({"whisper-1": "stt-1"}, {"alloy": "amy"}, ("user",), "mp3")
    text = guide(Settings(aliases=aliases))
    lines = ("| `whisper-1` | is `stt-1` |", "| `alloy` | is `amy` |", "ignored here: `user`", "`mp3` is the default")
    assert [line for line in lines if line not in text] == []


@pytest.mark.parametrize(("balance", "statuses"), [(0, [429]), (1, [502, 502])])
async def test_the_sample_for_retries_waits_for_a_server_and_not_for_a_payment(
    settings: Settings,
    triton: FakeTriton,
    books: Books,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    balance: int,
    statuses: list[int],
) -> None:
    caplog.set_level("INFO")
    (sample,) = (program for program in PROGRAMS if "urllib" in program)
    await books.top_up("acme", 10**6)
    dear = dataclasses.replace(PRICES["embed-m3"], micro_chf=10**12 if not balance else 1)
    triton.failure = BadGateway("away")
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    async with running(dataclasses.replace(settings, prices={**PRICES, "embed-m3": dear}), triton) as client:
        monkeypatch.setenv("QUARTET_URL", str(client.make_url("")).rstrip("/"))
        monkeypatch.setenv("QUARTET_API_KEY", ORG_KEY)
        with pytest.raises(HTTPError):
            await asyncio.to_thread(exec, sample.replace("tries: int = 6", "tries: int = 2"), {})
    assert [line["status"] for line in logged(caplog)] == statuses
