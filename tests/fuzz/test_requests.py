"""Random requests and files over HTTP, to a frontend and through the proxy, and what they have found."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import psutil
import pytest

from tests.faults.cases_http import EMBED
from tests.frontends import Frontend, running
from tests.fuzz.messages import Message, file_upload, request
from tests.fuzz.sending import (
    MOST_MS,
    Report,
    answers_in,
    busy,
    exchange,
    fault_in,
    killed,
    message_of,
    send_all,
    surroundings,
)
from tests.proxy import caddy, proxy
from tests.raw import Answer, head, post
from tests.refusals import fault_of
from tests.tools import needed

pytestmark = pytest.mark.alone
_CHUNKED = "Transfer-Encoding: chunked"


@dataclass(frozen=True)
class Place:
    """A frontend, and the port of the proxy in front of it."""

    frontend: Frontend
    proxied: int


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder, program = tmp_path_factory.mktemp("fuzz"), needed(caddy(), "Caddy")
    with (
        running(surroundings(folder), "--watch") as frontend,
        proxy(folder, program, [f"127.0.0.1:{frontend.port}"]) as port,
    ):
        yield Place(frontend, port)


def _assert_fine(place: Place, report: Report) -> None:
    assert report.found == []
    assert report.longest_ms <= MOST_MS
    assert report.statuses["200"]
    assert report.statuses["400"]
    assert psutil.pid_exists(place.frontend.process.pid)


def test_random_files_are_transcribed_or_refused(place: Place) -> None:
    _assert_fine(place, asyncio.run(send_all(place.frontend, place.frontend.port, file_upload, range(25))))


def test_random_requests_are_answered_within_the_contract(place: Place) -> None:
    _assert_fine(place, asyncio.run(send_all(place.frontend, place.frontend.port, request, range(60))))


def test_random_requests_are_answered_within_the_contract_behind_the_proxy(place: Place) -> None:
    _assert_fine(place, asyncio.run(send_all(place.frontend, place.proxied, request, range(300, 340))))


def test_nothing_of_them_stays_in_use_and_no_process_has_died(place: Place) -> None:
    assert asyncio.run(busy(place.frontend.port)) == []
    assert asyncio.run(killed(place.frontend.port)) == {}


def _ask(port: int, data: bytes) -> Answer:
    (answer,) = answers_in(asyncio.run(exchange(port, Message([data]))))
    return answer


def _own(data: bytes) -> bytes:
    """The request, to the proxy's own name."""
    return data.replace(b"Host: x\r\n", b"Host: 127.0.0.1\r\nConnection: close\r\n")


@pytest.mark.parametrize(
    "body",
    [
        b"5\r\n{}\r\n0\r\n\r\n",
        b"xy\r\n{}\r\n0\r\n\r\n",
        b"\r\n",
        b"f" * 17 + b"\r\n{}\r\n",
        b'e\r\n{"input": "a"}0\r\n\r\n',
        b'e\r\n{"input": "a"}\r\n0\r\nno trailer\r\n\r\n',
        b'e\n{"input": "a"}\n0\n\n',
        b'e\r \n{"input": "a"}\r\n0\r\n\r\n',
    ],
)
def test_a_body_that_is_not_in_whole_chunks_is_400_behind_the_proxy_too(place: Place, body: bytes) -> None:
    for port in (place.frontend.port, place.proxied):
        answer = _ask(port, _own(head("POST", EMBED, _CHUNKED) + body))
        assert (answer.status, fault_of(answer)) == (400, "")


def test_a_body_in_whole_chunks_is_read_behind_the_proxy(place: Place) -> None:
    data = head("POST", EMBED, _CHUNKED) + b'e;a=b\r\n{"input": "a"}\r\n0\r\n\r\n'
    assert _ask(place.proxied, _own(data)).status == 200


def test_a_body_of_connect_reaches_nobody_else_behind_the_proxy(place: Place) -> None:
    within = head("GET", "/v1/models/stt-1")
    body = _own(head("CONNECT", EMBED, f"Content-Length: {len(within)}")) + within

    async def attack() -> list[list[Answer]]:
        good = Message([_own(post(EMBED, b'{"input": "a"}'))])
        wrong = Message([body])
        messages = [message for _ in range(20) for message in (wrong, good, good)]
        return [
            answers_in(each) for each in await asyncio.gather(*(exchange(place.proxied, each) for each in messages))
        ]

    answers = asyncio.run(attack())
    assert all(len(each) <= 1 for each in answers)
    assert all(answer.status == 200 and b"embedding" in answer.body for each in answers[1::3] for answer in each)


@pytest.mark.parametrize("path", ["/metrics", "/health/ready", "/admin/v1/keys", "/keys"])
def test_a_path_that_the_proxy_hides_is_refused_like_one_that_does_not_exist(place: Place, path: str) -> None:
    hidden, unknown = (_ask(place.proxied, _own(head("GET", name))) for name in (path, "/nothing"))
    assert (hidden.status, hidden.error, fault_of(hidden)) == (404, unknown.error, "")


def test_a_body_that_the_proxy_refuses_is_413_in_the_form_of_the_contract(place: Place) -> None:
    data = _own(head("POST", EMBED, "Content-Length: 40000000"))
    answer = _ask(place.proxied, data)
    assert (answer.status, fault_of(answer)) == (413, "")


def test_a_fault_would_be_found() -> None:
    good = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    told = good.replace(b"200 OK", b"400 Bad Request")
    message = Message([b""], ["a value"], most=1)
    report = Report()

    def found(received: bytes) -> bool:
        return bool(fault_in(message, received, proxied=False, counted=report.statuses))

    assert not found(good)
    assert not found(b"")
    assert all(found(each) for each in (told, good + good, good[:-1], b"nonsense", good.replace(b"200", b"500")))
    assert report.statuses["200"] == 3


def test_a_message_is_the_same_for_a_seed() -> None:
    for make in (request, file_upload):
        assert message_of(make, 7).pieces == message_of(make, 7).pieces
        assert message_of(make, 7).pieces != message_of(make, 8).pieces


def test_a_whole_request_passes(place: Place) -> None:
    for port in (place.frontend.port, place.proxied):
        assert _ask(port, _own(post(EMBED, b'{"input": "a"}'))).status == 200
