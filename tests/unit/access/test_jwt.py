import jwt
import pytest

from frontend.access.jwt import Tokens
from frontend.errors import Unauthorized

TOKENS = Tokens("s" * 32, "phones", "us")


def test_an_issued_token_is_known_by_its_subject() -> None:
    assert TOKENS.identify(TOKENS.issue("phone-1", 60)).name == "phone-1"


def test_an_expired_token_is_refused() -> None:
    with pytest.raises(Unauthorized):
        TOKENS.identify(TOKENS.issue("phone-1", -1))


@pytest.mark.parametrize(
    "other", [Tokens("t" * 32, "phones", "us"), Tokens("s" * 32, "x", "us"), Tokens("s" * 32, "phones", "x")]
)
def test_a_token_of_another_secret_audience_or_issuer_is_refused(other: Tokens) -> None:
    with pytest.raises(Unauthorized):
        TOKENS.identify(other.issue("phone-1", 60))


def test_an_unsigned_token_is_refused() -> None:
    claims = jwt.decode(TOKENS.issue("a", 60), options={"verify_signature": False})
    with pytest.raises(Unauthorized):
        TOKENS.identify(jwt.encode(claims, "", algorithm="none"))


def test_a_token_without_a_subject_is_refused() -> None:
    claims = jwt.decode(TOKENS.issue("a", 60), options={"verify_signature": False})
    del claims["sub"]
    with pytest.raises(Unauthorized):
        TOKENS.identify(jwt.encode(claims, "s" * 32, algorithm="HS256"))
