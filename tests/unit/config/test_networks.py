import pytest

from frontend.config.networks import Networks, network_of

PROXIES = Networks("10.0.0.0/8, 2001:db8::/32")


@pytest.mark.parametrize(
    ("peer", "forwarded", "caller"),
    [
        ("10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", ["203.0.113.7, 10.2.0.1"], "203.0.113.7"),
        ("10.0.0.1", ["203.0.113.7", "10.2.0.1"], "203.0.113.7"),
        ("10.0.0.1", ["198.51.100.1, 203.0.113.7"], "203.0.113.7"),
        ("2001:db8::1", ["2001:db9::7"], "2001:db9::7"),
        ("::ffff:10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", ["203.0.113.7:4711"], "203.0.113.7"),
        ("10.0.0.1", ["[2001:db9::7]:4711"], "2001:db9::7"),
        ("10.0.0.1", ["203.0.113.7, somebody"], "10.0.0.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["10.0.0.2, 10.0.0.3"], "10.0.0.2"),
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
        ("", ["198.51.100.1"], ""),
    ],
)
def test_the_caller_is_the_address_before_the_trusted_proxies(peer: str, forwarded: list[str], caller: str) -> None:
    assert PROXIES.caller(peer, forwarded) == caller


def test_without_trusted_proxies_the_header_has_no_effect() -> None:
    assert Networks("").caller("10.0.0.1", ["203.0.113.7"]) == "10.0.0.1"


@pytest.mark.parametrize("text", ["proxy", "10.0.0.1/8", "10.0.0.0/40", "10.0.0.0/8 10.1.0.0/16"])
def test_an_invalid_network_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"10\.|proxy"):
        Networks(text)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("2001:db8:0:7::1", "2001:db8:0:7::/64"),
        ("2001:db8:0:7:ffff:ffff:ffff:ffff", "2001:db8:0:7::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("", ""),
    ],
)
def test_a_caller_with_ipv6_is_counted_by_its_network(address: str, network: str) -> None:
    assert network_of(address) == network
