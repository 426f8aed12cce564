"""A request that is sent again is the same one, and what makes it another."""

import pytest

from frontend.config.settings import Settings
from frontend.usage.books import Books
from tests.charges import COST, ORG_KEY, charges, speak
from tests.conftest import Client
from tests.speech import encode, say, transcribe


async def test_a_request_that_is_repeated_is_charged_once(client: Client, settings: Settings) -> None:
    for _ in range(3):
        await speak(client, **{"X-Request-Id": "order-66"})
    assert len(await charges(client, settings)) == 1


async def test_a_charge_pays_for_three_answers_to_its_request(client: Client, settings: Settings) -> None:
    for _ in range(10):
        await speak(client, **{"X-Request-Id": "order-66"})
    rows = await charges(client, settings)
    assert sorted(row["answers"] for row in rows) == [1, 3, 3, 3]
    assert sum(row["amount"] for row in rows) == 4 * COST


async def test_a_wallet_pays_for_what_a_charge_does_not(client: Client, books: Books) -> None:
    await books.top_up("acme", 1_000, None)
    for _ in range(5):
        await speak(client, key=ORG_KEY, **{"X-Request-Id": "order-66"})
    await client.close()
    assert await books.balance("acme") == 1_000 - 2 * COST


async def test_the_same_id_for_another_request_is_charged(client: Client, settings: Settings) -> None:
    for text in ("One.", "Two."):
        await speak(client, text, **{"X-Request-Id": "order-66"})
    assert len(await charges(client, settings)) == 2


@pytest.mark.parametrize(
    ("one", "other", "requests"),
    [
        # Each form has another boundary.
        ({}, {}, 1),
        ({"prompt": "a\nlanguage\nen"}, {"prompt": "a", "language": "en"}, 2),
        ({"prompt": "en"}, {"language": "en"}, 2),
        ({"prompt": ""}, {}, 2),
    ],
)
async def test_forms_that_differ_anywhere_but_in_their_boundary_are_two_requests(
    client: Client, settings: Settings, one: dict[str, str], other: dict[str, str], requests: int
) -> None:
    wav = encode(say("one two three"), "wav")
    for fields in (one, other):
        assert (await transcribe(client, wav, headers={"X-Request-Id": "order-66"}, **fields)).status == 200
    assert len(await charges(client, settings)) == requests
