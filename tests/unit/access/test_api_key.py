import pytest

from frontend.access import api_key
from frontend.access.caller import bearer_token


def test_a_new_key_is_well_formed() -> None:
    assert all(api_key.well_formed(api_key.new_key()) for _ in range(100))


def test_keys_differ_in_their_prefix() -> None:
    assert len({api_key.prefix(api_key.new_key()) for _ in range(1000)}) == 1000


@pytest.mark.parametrize("change", ["", "x", "sk_", "qk_" + "0" * 49, "qk_" + "é" * 49, "qk_" + "0" * 10_000])
def test_anything_else_is_no_key(change: str) -> None:
    assert not api_key.well_formed(change)


def test_the_checksum_catches_a_wrong_character() -> None:
    key = api_key.new_key()
    slipped = key[:10] + ("a" if key[10] != "a" else "b") + key[11:]
    assert not api_key.well_formed(slipped)


def test_the_digest_does_not_contain_the_key() -> None:
    key = api_key.new_key()
    assert len(api_key.digest(key)) == 64
    assert api_key.digest(key) not in key


@pytest.mark.parametrize("headers", [[], [""], ["Basic abc"], ["key"], ["Bearer a", "Bearer a"]])
def test_anything_but_one_bearer_token_is_empty(headers: list[str]) -> None:
    assert bearer_token(headers) == ""


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_read_in_any_case(scheme: str) -> None:
    assert bearer_token([f"{scheme} abc "]) == "abc"
