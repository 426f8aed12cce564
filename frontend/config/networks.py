"""Networks, and the caller behind a chain of proxies."""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

# Some proxies add the caller's port.
_WITH_PORT = re.compile(r"\[(?P<six>[^\]]*)\](?::\d+)?|(?P<four>[\d.]+):\d+")


class Networks:
    """The networks of a comma-separated setting. Raises ``ValueError`` for anything else."""

    def __init__(self, text: str) -> None:
        self._networks: list[IPv4Network | IPv6Network] = [
            ip_network(name.strip()) for name in text.split(",") if name.strip()
        ]

    def has(self, address: str) -> bool:
        """Whether an address is in one of the networks."""
        parsed = _parsed(address)
        return parsed is not None and any(parsed in network for network in self._networks)

    def caller(self, peer: str, forwarded: Sequence[str]) -> str:
        """The address of the caller. ``forwarded`` are the lines of ``X-Forwarded-For``.

        Each proxy appends the address that called it. Entries are read from the last one, as long as these networks
        added them. A caller may have forged the earlier ones.
        """
        address, entries = peer, ",".join(forwarded).split(",")
        while entries and self.has(address) and (before := _parsed(entries.pop())) is not None:
            address = str(before)
        return address


def network_of(address: str) -> str:
    """The key under which a caller is counted: an IPv4 address, or the /64 network that an IPv6 caller has."""
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
