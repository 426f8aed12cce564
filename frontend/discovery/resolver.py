"""Resolve names to IP addresses, without a cache: the time to live is ignored."""

from pathlib import Path

import dns.asyncresolver
import dns.exception
import dns.inet
import dns.resolver

from frontend.config.pools import TritonAddress

# The timeout of a query.
_SECONDS = 2.0
# The largest UDP answer, in bytes, that no network fragments; larger ones come over TCP.
_DATAGRAM = 1232
_HOSTS = Path("/etc/hosts")


class Unresolved(Exception):  # noqa: N818 - it is a failure to ask, not an answer
    """No DNS server answered."""


class Resolver:
    """Reads /etc/hosts, then asks ``server`` (address:port) or the servers of /etc/resolv.conf."""

    def __init__(self, server: str = "") -> None:
        try:
            self._resolver = dns.asyncresolver.Resolver(configure=not server)
        except dns.resolver.NoResolverConfiguration:
            # IP addresses need no server, and names fail as unresolved.
            self._resolver = dns.asyncresolver.Resolver(configure=False)
        self._resolver.use_edns(0, payload=_DATAGRAM)
        if server:
            asked = TritonAddress.of(server)
            self._resolver.nameservers, self._resolver.port = [asked.host], asked.port

    async def addresses(self, host: str) -> list[str]:
        """The IP addresses of a host, sorted; empty if it has none. Raises ``Unresolved`` if no server answers.

        IPv6 addresses are used only if there is no IPv4 address, because both are the same server.
        """
        if dns.inet.is_address(host):
            return [host]
        addresses = _of_hosts(host) or await self._ask(host, "A") or await self._ask(host, "AAAA")
        return sorted(addresses)

    async def _ask(self, host: str, kind: str) -> list[str]:
        try:
            answer = await self._resolver.resolve(host, kind, search=True, lifetime=_SECONDS)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return []
        except (dns.exception.DNSException, OSError) as error:
            raise Unresolved(str(error)) from None
        return [record.address for record in answer]


def _of_hosts(host: str) -> list[str]:
    """The addresses in the hosts file; IPv4 only, if it has both."""
    try:
        lines = _HOSTS.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    rows = [line.partition("#")[0].split() for line in lines]
    ips = {row[0] for row in rows if row and host.lower() in map(str.lower, row[1:]) and dns.inet.is_address(row[0])}
    return [ip for ip in ips if ":" not in ip] or list(ips)
