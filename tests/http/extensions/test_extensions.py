"""Extensions are off unless the settings name them."""

import pytest

from tests.conftest import Client
from tests.http.calls import APART

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {"extensions": "subtitles, realtime"}


async def test_the_list_of_models_names_the_extensions_that_are_on(client: Client) -> None:
    assert (await (await client.get("/v1/models")).json())["extensions"] == ["realtime", "subtitles"]


async def test_the_pages_know_the_extensions_that_are_on(client: Client) -> None:
    assert (await (await client.get("/offer.json")).json())["extensions"] == ["realtime", "subtitles"]


@APART
@pytest.mark.contract_only
@pytest.mark.parametrize("path", ["/v1/models", "/offer.json"])
async def test_without_extensions_none_are_named(client: Client, path: str) -> None:
    assert "extensions" not in await (await client.get(path)).json()
