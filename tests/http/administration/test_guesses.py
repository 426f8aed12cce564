"""What wrong admin keys cost."""

import pytest

from tests.conftest import KEY, Client, bearer
from tests.http.calls import ADMIN_KEY, status_of


async def _guess(client: Client, key: str = "wrong", address: str = "203.0.113.7") -> tuple[int, int]:
    """The status of an answer to an admin key, and the seconds after which it says to retry."""
    headers = {**bearer(key), "X-Forwarded-For": address}
    async with client.get("/admin/v1/keys", headers=headers) as response:
        return response.status, int(response.headers.get("Retry-After", 0))


@pytest.mark.settings(admin_key=ADMIN_KEY, trusted_proxies="127.0.0.0/8")
async def test_wrong_admin_keys_are_counted_by_the_network_that_a_trusted_proxy_names(client: Client) -> None:
    assert [await _guess(client, address=f"2001:db8:0:7::{number}") for number in range(13)][-1][0] == 429
    assert (await _guess(client, address="2001:db8:0:8::1"))[0] == 401


@pytest.mark.settings(admin_key=ADMIN_KEY)
async def test_guesses_of_the_admin_key_are_429_and_the_right_one_is_let_in(client: Client) -> None:
    # Without a trusted proxy nobody says which address a guess comes from.
    answers = [await _guess(client, address=f"203.0.113.{number}") for number in range(13)]
    assert [status for status, _ in answers] == [401] * 11 + [429] * 2
    assert {0 < seconds <= 6 for status, seconds in answers if status == 429} == {True}
    assert await _guess(client, ADMIN_KEY) == (200, 0)
    # Wrong API keys are another matter.
    assert await status_of(client, "/v1/models", KEY[:-1]) == 401
