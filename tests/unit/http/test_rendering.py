import pytest
from aiohttp import hdrs

from frontend.errors import InvalidRequest
from frontend.http.rendering import error_response, refusal


@pytest.mark.parametrize(
    ("headers", "kept"), [({}, None), ({"Allow": "GET"}, None), ({hdrs.CONNECTION: "close"}, False)]
)
def test_a_refusal_closes_its_connection_only_if_it_says_so(headers: dict[str, str], kept: bool | None) -> None:
    answer = error_response(InvalidRequest("no", headers=headers))
    # The protocol decides where the answer does not.
    assert (answer.keep_alive, answer.headers.get(hdrs.CONNECTION)) == (kept, headers.get(hdrs.CONNECTION))


def test_the_refusal_of_what_is_no_request_closes_its_connection() -> None:
    answer = refusal(InvalidRequest("no"))
    assert (answer.keep_alive, answer.headers[hdrs.CONNECTION]) == (False, "close")
