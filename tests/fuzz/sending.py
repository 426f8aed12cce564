"""Sends messages to a frontend, and looks at what comes back and at the event loop."""

import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tests.frontends import Frontend, prepare
from tests.fuzz.messages import Message
from tests.raw import Answer, connection
from tests.refusals import fault_of

MOST_MS = 20.0
_AT_ONCE, _BATCH, _TRIES = 24, 200, 4
# The longest wait for a first answer, which is longer than all of the frontend's; and for one more behind an answer.
_PATIENCE, _QUIET = 60.0, 1.0
# What the proxy answers itself, in its own form: to what is no HTTP, and to paths that it keeps to itself.
_OF_PROXY = (200, 400, 404, 405, 413, 417, 431, 501, 505)
_HEAD = re.compile(rb"HTTP/1\.[01] (\d{3})[^\r\n]*\r\n")
_IDLE = re.compile(r"^quartet_(?:in_flight\{.*\}|queue_waiting\{.*\}|held_bytes) (\S+)$", re.MULTILINE)
_KILLED = re.compile(r"^quartet_workers_killed_total\{(.*)\} (\S+)$", re.MULTILINE)
Makes = Callable[[random.Random], Message]


class NoAnswerError(Exception):
    """What came back is no HTTP, or ends within an answer."""


@dataclass
class Report:
    """What was sent and what came back; ``found`` has the seed and the fault of each finding.

    ``longest_ms`` is the longest time for which the event loop was held, or that a file took to decode.
    """

    sent: int = 0
    seconds: float = 0.0
    longest_ms: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)
    found: list[tuple[int, str]] = field(default_factory=list)

    def __str__(self) -> str:
        statuses = ", ".join(f"{status} {count}" for status, count in sorted(self.statuses.items()))
        most = f"at most {self.longest_ms:.1f} ms"
        return f"{self.sent} in {self.seconds:.0f} s: {statuses}; {most}; {len(self.found)} found"


def surroundings(folder: Path) -> dict[str, str]:
    """The environment of a frontend that waits seconds for what does not come, with all kinds of audio."""
    own = {"BODY_SECONDS": 3, "HEADER_SECONDS": 5, "UNPAID_SECONDS": 1_000_000, "WRONG_KEYS_A_MINUTE": 0}
    return prepare(folder, EXTENSIONS="more_audio", **own)


def message_of(make: Makes, seed: int) -> Message:
    """The message of a seed, always the same."""
    return make(random.Random(f"{make.__name__} {seed}"))


def answers_in(data: bytes) -> list[Answer]:
    """The answers in these bytes. Raises ``NoAnswerError``."""
    found: list[Answer] = []
    while data:
        head, end, rest = data.partition(b"\r\n\r\n")
        if not end or not (first := _HEAD.match(data)):
            raise NoAnswerError(data[:80])
        lines = head.decode("latin-1").split("\r\n")[1:]
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines if ": " in line)}
        status = int(first[1])
        if status == 100:
            data = rest
            continue
        if headers.get("transfer-encoding") == "chunked":
            body, data = _chunks(rest)
        elif "content-length" in headers:
            size = int(headers["content-length"])
            body, data = rest[:size], rest[size:]
            if len(body) < size:
                raise NoAnswerError(f"{len(body)} of {size} bytes")
        else:
            body, data = rest, b""
        found.append(Answer(status, headers, body))
    return found


def _chunks(data: bytes) -> tuple[bytes, bytes]:
    body = b""
    while True:
        size, end, data = data.partition(b"\r\n")
        count = int(size, 16) if end else 0
        if not end or len(data) < count + 2:
            raise NoAnswerError("a chunk is cut")
        body, data = body + data[:count], data[count + 2 :]
        if not count:
            return body, data


async def exchange(port: int, message: Message) -> bytes:
    """Send a message, and return what comes until the connection ends or nothing comes behind an answer."""
    received = b""
    async with connection(port) as (reader, writer):
        with suppress(ConnectionError):
            for piece in message.pieces:
                writer.write(piece)
                if len(message.pieces) > 1:
                    await asyncio.sleep(0)
            while more := await _more(reader, _QUIET if _is_whole(received) else _PATIENCE):
                received += more
    return received


async def _more(reader: asyncio.StreamReader, seconds: float) -> bytes:
    """What comes next; empty if the connection ends or nothing comes in time."""
    try:
        return await asyncio.wait_for(reader.read(2**20), seconds)
    except TimeoutError:
        return b""


def _is_whole(received: bytes) -> bool:
    """Whether whole answers have come, so that nothing else need come."""
    try:
        return bool(answers_in(received))
    except NoAnswerError:
        return False


def fault_in(message: Message, received: bytes, *, proxied: bool, counted: Counter[str]) -> str:
    """What is wrong with the answers to a message; empty if nothing is."""
    try:
        answers = answers_in(received)
    except NoAnswerError as error:
        return f"no HTTP comes back: {error}"
    counted.update([str(answer.status) for answer in answers] or ["none"])
    statuses = [answer.status for answer in answers]
    if len(answers) > message.most:
        return f"{len(answers)} answers to {message.most} requests"
    if not message.wrong and statuses != message.statuses:
        return f"{statuses} to good requests, {[answer.body[:99] for answer in answers]}"
    for answer in answers:
        if proxied and "x-request-id" not in answer.headers and answer.status in _OF_PROXY:
            continue
        if answer.status == 404 and answer.headers.get("content-type", "").startswith("text/html"):
            # A page for browsers, which ask for one.
            continue
        if answer.status == 502 or (answer.status not in (200, 204, 304) and fault_of(answer)):
            return f"{answer.status}: {fault_of(answer)} {answer.body[:200]!r}"
    return ""


async def send_all(frontend: Frontend, port: int, make: Makes, seeds: Iterable[int], until: float = 1e12) -> Report:
    """Send the messages of these seeds in batches, up to ``until`` (monotonic seconds)."""
    report, left, began = Report(), iter(seeds), time.monotonic()
    frontend.blocked_ms()
    while time.monotonic() < until and (batch := list(islice(left, _BATCH))):
        await _send(frontend, port, make, batch, report)
        held = frontend.blocked_ms()
        if held > MOST_MS:
            held = await _look_again(frontend, port, make, batch, report)
        report.longest_ms = max(report.longest_ms, held)
    report.seconds = time.monotonic() - began
    return report


async def _send(frontend: Frontend, port: int, make: Makes, seeds: Sequence[int], report: Report) -> None:
    waiting = list(reversed(seeds))

    async def one_by_one() -> None:
        while waiting:
            seed = waiting.pop()
            message = message_of(make, seed)
            received = await exchange(port, message)
            fault = fault_in(message, received, proxied=port != frontend.port, counted=report.statuses)
            report.sent += 1
            if fault:
                report.found.append((seed, f"{', '.join(message.wrong)}: {fault}"))

    await asyncio.gather(*(one_by_one() for _ in range(_AT_ONCE)))


async def _look_again(frontend: Frontend, port: int, make: Makes, seeds: Sequence[int], report: Report) -> float:
    """The least that these messages hold the event loop: a busy machine holds it too, but not each time.

    If they do hold it, it looks for the one that does.
    """
    held = float("inf")
    for _ in range(_TRIES):
        await _send(frontend, port, make, seeds, Report())
        held = min(held, frontend.blocked_ms())
        if held <= MOST_MS:
            return held
    for half in (seeds[: len(seeds) // 2], seeds[len(seeds) // 2 :]):
        if len(seeds) > 1 and await _look_again(frontend, port, make, half, report) > MOST_MS:
            return held
    report.found.append((seeds[0], f"the event loop is held for {held:.1f} ms by {len(seeds)} messages from here"))
    return held


async def busy(port: int) -> list[str]:
    """What is in use although nobody asks for anything: slots, waiting calls, memory."""
    found: list[str] = []
    for _ in range(100):
        text = await _metrics(port)
        found = [line[0] for line in _IDLE.finditer(text) if float(line[1])]
        if not found:
            break
        await asyncio.sleep(0.1)
    return found


async def killed(port: int) -> dict[str, float]:
    """Processes for tasks that ended before their time, by pool and reason."""
    return {name: float(count) for name, count in _KILLED.findall(await _metrics(port)) if float(count)}


async def _metrics(port: int) -> str:
    answer = answers_in(
        await exchange(port, Message([b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"]))
    )
    return answer[0].body.decode()
