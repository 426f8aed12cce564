import pytest

from frontend.config.networks import Networks
from frontend.http.connection_limit import ConnectionLimit


@pytest.mark.parametrize(
    ("per_address", "addresses", "admitted"),
    [
        (4, "aaaaab", [True] * 4 + [False, True]),
        (4, "aaaabbb", [True] * 6 + [False]),
        (0, "aaaaaaa", [True] * 6 + [False]),
    ],
    ids=["of an address", "of all", "of an address without its own limit"],
)
def test_connections_beyond_a_limit_are_refused(per_address: int, addresses: str, admitted: list[bool]) -> None:
    limit = ConnectionLimit(6, per_address)
    assert [limit.enter(address) for address in addresses] == admitted


def test_a_connection_that_ends_makes_room_for_one() -> None:
    limit = ConnectionLimit(6, 1)
    for _ in range(10):
        assert limit.enter("a")
        assert not limit.enter("a")
        limit.leave("a")


def test_a_trusted_proxy_has_no_limit_of_its_own() -> None:
    limit = ConnectionLimit(6, 2, Networks("10.0.0.0/8"))
    assert [limit.enter("10.0.0.1") for _ in range(7)] == [True] * 6 + [False]


def test_addresses_of_one_ipv6_network_share_a_limit() -> None:
    limit = ConnectionLimit(6, 2)
    assert [limit.enter(f"2001:db8::{number}") for number in range(3)] == [True, True, False]
    limit.leave("2001:db8::1")
    assert limit.enter("2001:db8::3")


def test_connections_of_a_trusted_proxy_do_not_count_for_its_network() -> None:
    limit = ConnectionLimit(6, 2, Networks("2001:db8::1/128"))
    assert [limit.enter(f"2001:db8::{number}") for number in (1, 1, 2)] == [True] * 3
