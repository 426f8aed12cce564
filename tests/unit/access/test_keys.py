import pytest

from frontend.access.keys import FixedKey, bearer_token
from frontend.errors import Unauthorized


@pytest.mark.parametrize("header", [None, "", "Basic abc", "key"])
def test_a_header_without_a_bearer_token_is_refused(header: str | None) -> None:
    with pytest.raises(Unauthorized):
        bearer_token(header)


def test_the_scheme_is_read_in_any_case() -> None:
    assert bearer_token("bearer abc") == "abc"


@pytest.mark.parametrize("token", ["", "wrong", "right ", "ключ"])
def test_a_wrong_key_is_refused(token: str) -> None:
    with pytest.raises(Unauthorized):
        FixedKey("right").identify(token)


def test_an_empty_key_lets_nobody_in() -> None:
    with pytest.raises(Unauthorized):
        FixedKey("").identify("")
