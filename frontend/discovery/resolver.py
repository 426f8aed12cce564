"""Names to addresses, as they are at this moment: no answer is kept, whatever its time to live."""

from pathlib import Path

import dns.asyncresolver
import dns.exception
import dns.inet
import dns.resolver

from frontend.config.pools import Place

_SECONDS = 2.0
# What passes every network in one piece; what is larger comes over TCP.
_DATAGRAM = 1232
_HOSTS = Path("/etc/hosts")


class Unresolved(Exception):  # noqa: N818 - it is a failure to ask, not an answer
    """Nobody could say which addresses a name has."""


class Resolver:
    """Asks ``server`` (address:port), or the servers of /etc/resolv.conf with its search list, after /etc/hosts."""

    def __init__(self, server: str = "") -> None:
        try:
            self._resolver = dns.asyncresolver.Resolver(configure=not server)
        except dns.resolver.NoResolverConfiguration:
            # Numbers need none, and names are told to be unknown.
            self._resolver = dns.asyncresolver.Resolver(configure=False)
        self._resolver.use_edns(0, payload=_DATAGRAM)
        if server:
            asked = Place.of(server)
            self._resolver.nameservers, self._resolver.port = [asked.host], asked.port

    async def addresses(self, host: str) -> list[str]:
        """The addresses of a host, none where the name has none; ``Unresolved`` where nobody could say.

        Version 6 counts only where there is no version 4: both lead to the same server.
        """
        if dns.inet.is_address(host):
            return [host]
        found = _of_hosts(host) or await self._ask(host, "A") or await self._ask(host, "AAAA")
        return sorted(found)

    async def _ask(self, host: str, kind: str) -> list[str]:
        try:
            answer = await self._resolver.resolve(host, kind, search=True, lifetime=_SECONDS)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return []
        except (dns.exception.DNSException, OSError) as error:
            raise Unresolved(str(error)) from None
        return [record.address for record in answer]


def _of_hosts(host: str) -> list[str]:
    """What the hosts file says, version 4 alone where it has both."""
    try:
        lines = _HOSTS.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    rows = [line.partition("#")[0].split() for line in lines]
    found = {row[0] for row in rows if row and host.lower() in map(str.lower, row[1:]) and dns.inet.is_address(row[0])}
    return [address for address in found if ":" not in address] or list(found)
