"""A DNS server on a loopback port, whose names tests change."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

_LARGEST = 512


class DnsServer(asyncio.DatagramProtocol):
    """``names`` has addresses, with a time to live of 0. ``failing`` means SERVFAIL, and ``silent`` no answer."""

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = {}
        self.failing = self.silent = False
        self.asked: list[str] = []
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        query = dns.message.from_wire(data)
        answer = self._answer(query)
        if self._transport is None or self.silent:
            return
        wire = answer.to_wire(max_size=65535)
        if len(wire) > max(_LARGEST, query.payload):
            answer.answer.clear()
            answer.flags |= dns.flags.TC
            wire = answer.to_wire()
        self._transport.sendto(wire, addr)

    async def over_tcp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        query = dns.message.from_wire(await reader.readexactly(int.from_bytes(await reader.readexactly(2), "big")))
        wire = self._answer(query).to_wire(max_size=65535)
        writer.write(len(wire).to_bytes(2, "big") + wire)
        await writer.drain()
        writer.close()

    def _answer(self, query: dns.message.Message) -> dns.message.Message:
        question, answer = query.question[0], dns.message.make_response(query)
        name, kind = question.name.to_text(omit_final_dot=True).lower(), dns.rdatatype.to_text(question.rdtype)
        self.asked.append(f"{name} {kind}")
        if self.failing:
            answer.set_rcode(dns.rcode.SERVFAIL)
        elif name not in self.names:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        elif addresses := [each for each in self.names[name] if (":" in each) == (kind == "AAAA")]:
            answer.answer.append(dns.rrset.from_text(question.name, 0, "IN", kind, *addresses))
        return answer


@asynccontextmanager
async def dns_server() -> AsyncIterator[tuple[DnsServer, str]]:
    """Run a server; yield it with its ``address:port``."""
    loop, server = asyncio.get_running_loop(), DnsServer()
    tcp = await asyncio.start_server(server.over_tcp, "127.0.0.1", 0)
    port = tcp.sockets[0].getsockname()[1]
    udp, _ = await loop.create_datagram_endpoint(lambda: server, ("127.0.0.1", port))
    try:
        yield server, f"127.0.0.1:{port}"
    finally:
        udp.close()
        tcp.close()
