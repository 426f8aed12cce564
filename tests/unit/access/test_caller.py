import pytest

from frontend.access.caller import bearer_token


@pytest.mark.parametrize(
    "headers", [[], [""], ["Basic abc"], ["key"], ["Bearer a", "Bearer a"], ["Bearer " + "x" * 9000]]
)
def test_anything_but_one_bearer_token_is_empty(headers: list[str]) -> None:
    assert bearer_token(headers) == ""


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_read_in_any_case(scheme: str) -> None:
    assert bearer_token([f"{scheme} abc "]) == "abc"
