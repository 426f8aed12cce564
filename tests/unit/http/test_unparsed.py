import pytest

from frontend.http.unparsed import stand_in


def test_a_method_of_any_name_stands_for_a_request_without_its_headers() -> None:
    request = stand_in(b"BREW /v1/models?x=1#y HTTP/1.1\r\nHost: x\r\nX-Request-Id: \t r-1\r\nAuthorization: a\r\n\r\n")
    assert request is not None
    assert (request.method, request.url.path, request.url.query_string) == ("BREW", "/v1/models", "x=1")
    assert dict(request.headers) == {"X-Request-Id": "r-1"}
    assert request.should_close


def test_a_token_that_is_too_long_is_left_out() -> None:
    request = stand_in(b"POST /v1/models HTTP/1.1\r\nAuthorization: Bearer " + b"k" * 9_000)
    assert request is not None
    assert (request.method, dict(request.headers)) == ("POST", {})


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\x16\x03\x01\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nX-A: " + b"b" * 9_000,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"BR(EW / HTTP/1.1\r\n\r\n",
        b"A" * 65 + b" / HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_refused_for_another_reason_has_no_stand_in(head: bytes) -> None:
    assert stand_in(head) is None
