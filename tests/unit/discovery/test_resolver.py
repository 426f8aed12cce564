"""The addresses of names, from a real DNS server."""

from collections.abc import AsyncIterator
from pathlib import Path

import dns.name
import pytest

from frontend.discovery import resolver as module
from frontend.discovery.resolver import Resolver, Unresolved
from tests.names import DnsServer, dns_server


@pytest.fixture
async def served() -> AsyncIterator[tuple[DnsServer, Resolver]]:
    async with dns_server() as (server, address):
        yield server, Resolver(address)


async def test_a_name_has_its_current_addresses(served: tuple[DnsServer, Resolver]) -> None:
    server, resolver = served
    server.names["text.pool"] = ["10.0.0.2", "10.0.0.1"]
    assert await resolver.addresses("text.pool") == ["10.0.0.1", "10.0.0.2"]
    server.names["text.pool"] = ["10.0.0.3"]
    assert await resolver.addresses("text.pool") == ["10.0.0.3"]


async def test_ipv6_is_used_only_without_ipv4(served: tuple[DnsServer, Resolver]) -> None:
    server, resolver = served
    server.names = {"both.pool": ["fd00::1", "10.0.0.1"], "six.pool": ["fd00::1"]}
    assert await resolver.addresses("both.pool") == ["10.0.0.1"]
    assert await resolver.addresses("six.pool") == ["fd00::1"]


@pytest.mark.parametrize("names", [{}, {"text.pool": []}], ids=["no such name", "no address"])
async def test_a_name_without_an_address_is_empty(
    served: tuple[DnsServer, Resolver], names: dict[str, list[str]]
) -> None:
    server, resolver = served
    server.names = names
    assert await resolver.addresses("text.pool") == []


@pytest.mark.parametrize("fault", ["failing", "silent"])
async def test_a_server_that_fails_or_is_silent_raises(
    served: tuple[DnsServer, Resolver], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SECONDS", 0.3)
    server, resolver = served
    setattr(server, fault, True)
    with pytest.raises(Unresolved):
        await resolver.addresses("text.pool")


async def test_an_answer_that_is_larger_than_a_datagram_is_complete(served: tuple[DnsServer, Resolver]) -> None:
    server, resolver = served
    server.names["text.pool"] = [f"10.0.1.{number}" for number in range(100)]
    assert len(await resolver.addresses("text.pool")) == 100


async def test_the_search_list_is_followed(served: tuple[DnsServer, Resolver]) -> None:
    server, resolver = served
    resolver._resolver.search = [dns.name.from_text("ns.svc.cluster.local")]
    server.names["text.ns.svc.cluster.local"] = ["10.0.0.1"]
    assert await resolver.addresses("text") == ["10.0.0.1"]


@pytest.mark.parametrize("number", ["10.0.0.1", "fd00::1"])
async def test_an_ip_address_is_not_resolved(served: tuple[DnsServer, Resolver], number: str) -> None:
    server, resolver = served
    assert await resolver.addresses(number) == [number]
    assert not server.asked


async def test_the_hosts_file_is_read_first(
    served: tuple[DnsServer, Resolver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, resolver = served
    (tmp_path / "hosts").write_text("::1 localhost\n127.0.0.1 localhost Me # here\n10.0.0.9 other\n", encoding="utf-8")
    monkeypatch.setattr(module, "_HOSTS", tmp_path / "hosts")
    assert [await resolver.addresses(name) for name in ("localhost", "me")] == [["127.0.0.1"], ["127.0.0.1"]]
    assert not server.asked
