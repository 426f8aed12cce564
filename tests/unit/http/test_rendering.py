import http.client
import io
import json
from typing import Any

import numpy as np
import pytest

from frontend.errors import BadGateway, InvalidRequest
from frontend.http.rendering import error_response, json_response, refusal, refusal_bytes


class _Socket:
    """What ``http.client`` reads an answer from."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> Any:
        return io.BytesIO(self._data)


def test_an_array_is_written_with_the_digits_of_its_type() -> None:
    assert json_response({"a": np.array([0.1], np.float32)}).body == b'{"a":[0.1]}'


def test_an_error_goes_out_with_its_status_and_headers() -> None:
    answer = error_response(InvalidRequest("no", param="a", headers={"X-A": "b"}))
    assert (answer.status, answer.headers["X-A"], answer.content_type) == (400, "b", "application/json")
    assert isinstance(answer.body, bytes)
    assert json.loads(answer.body)["error"]["param"] == "a"


@pytest.mark.parametrize("name", ["X-Request-Id", "Server"])
def test_a_refusal_of_what_is_no_request_carries_what_every_answer_does(name: str) -> None:
    assert refusal(InvalidRequest("no")).headers[name]


def test_a_refusal_in_bytes_is_a_whole_answer() -> None:
    answer = http.client.HTTPResponse(_Socket(refusal_bytes(BadGateway("full", retry_after=5))))  # type: ignore[arg-type]
    answer.begin()
    assert (answer.status, answer.reason, answer.getheader("Retry-After")) == (502, "Bad Gateway", "5")
    assert answer.will_close
    assert json.loads(answer.read())["error"]["message"] == "full"
