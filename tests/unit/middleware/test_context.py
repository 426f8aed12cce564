import pytest

from frontend.access.caller import Caller
from frontend.middleware.context import context_of

_OWNERS = {"org:acme", "key:4f", "org:None"}


@pytest.mark.parametrize(
    ("caller", "owner"),
    [
        (Caller("1", "search", org="acme"), "org:acme"),
        (Caller("4f", "search", org="acme"), "key:4f"),
        (Caller("1", "acme"), None),
        (Caller("1", "org:acme"), None),
        (Caller("acme", "key:4f", org="zenith"), None),
        (Caller("1", "search"), None),
        (Caller("4f", "search", tier="bulk", org="acme"), None),
    ],
)
async def test_a_floor_is_found_by_what_a_caller_is_not_by_a_name_it_bears(caller: Caller, owner: str | None) -> None:
    assert context_of(caller, _OWNERS, 1).owner == owner


async def test_a_turn_ends_at_its_deadline() -> None:
    assert context_of(Caller("1", "a"), (), 5).deadline - context_of(Caller("1", "a"), (), 1).deadline == pytest.approx(
        4, abs=0.5
    )


@pytest.mark.parametrize(("tier", "place"), [("company", 1), ("pro", 2), ("free", 3), ("bulk", 4)])
async def test_a_company_goes_before_pro_and_pro_before_free_and_bulk_comes_last(tier: str, place: int) -> None:
    assert context_of(Caller("1", "a", tier=tier), (), 1).priority == place
