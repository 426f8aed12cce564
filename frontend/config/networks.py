"""Networks, and who of a chain of proxies is the caller."""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

# Some proxies tell the caller's port too.
_WITH_PORT = re.compile(r"\[(?P<six>[^\]]*)\](?::\d+)?|(?P<four>[\d.]+):\d+")


class Networks:
    """Those that a setting names, with commas between; ``ValueError`` where one is none."""

    def __init__(self, text: str) -> None:
        self._networks: list[IPv4Network | IPv6Network] = [
            ip_network(name.strip()) for name in text.split(",") if name.strip()
        ]

    def has(self, address: str) -> bool:
        """Whether an address is within one of them."""
        parsed = _parsed(address)
        return parsed is not None and any(parsed in network for network in self._networks)

    def caller(self, peer: str, told: Sequence[str]) -> str:
        """The address of whoever calls, where ``told`` are the lines of ``X-Forwarded-For``.

        Each proxy adds the address that it was called from, so the last words count as long as one of these networks
        says them: what comes before is the caller's own.
        """
        address, words = peer, ",".join(told).split(",")
        while words and self.has(address) and (said := _parsed(words.pop())) is not None:
            address = str(said)
        return address


def network_of(address: str) -> str:
    """What a caller is counted by: its address, or its /64, of which an IPv6 caller has every address."""
    parsed = _parsed(address)
    if isinstance(parsed, IPv6Address):
        return str(IPv6Network((int(parsed) >> 64 << 64, 64)))
    return address if parsed is None else str(parsed)


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    text = text.strip()
    if match := _WITH_PORT.fullmatch(text):
        text = match["six"] or match["four"]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
