"""The commands ``usage``, ``wallets`` and ``prune``."""

import pytest

from frontend.access import api_key
from frontend.administration.commands.database import with_registry
from frontend.administration.registry import Registry
from frontend.billing.ledger import Charge
from frontend.commands.database import with_database
from frontend.config.settings import Settings
from tests.unit.billing.conftest import write
from tests.unit.commands.conftest import Terminal


def _event(name: str, key_id: str, org: str | None, model: str, amount: int, at: int) -> Charge:
    return Charge(name, name, key_id, org, "speech", model, 7, "million_characters", 5, amount, False, at)


@pytest.fixture
def used(terminal: Terminal) -> str:
    """The prefix of a key of acme with two requests on two days; another key has a third."""
    terminal.type("orgs", "create", "acme")
    prefix = api_key.prefix(terminal.type("keys", "create", "--name", "search", "--org", "acme")[-1])
    settings = Settings(database=terminal.database)

    async def key_id(registry: Registry) -> str:
        return await registry.key_id(prefix)

    key = with_registry(settings, key_id)
    events = [
        _event("a", key, "acme", "tts-1", 1_000_000, 0),
        _event("b", key, "acme", "tts-1-hd", 35, 86_400),
        _event("c", "other", None, "tts-1", 1, 0),
    ]
    with_database(settings, lambda engine: write(engine, *events))
    return prefix


def _rows(lines: list[str]) -> list[list[str]]:
    return [line.split() for line in lines]


@pytest.mark.usefixtures("used")
def test_usage_is_summed_by_operation(terminal: Terminal) -> None:
    assert _rows(terminal.type("usage")) == [
        ["operation", "requests", "audio_seconds", "characters", "tokens", "amount"],
        ["speech", "3", "0", "21", "0", "1.000036"],
    ]


@pytest.mark.usefixtures("used")
def test_usage_can_be_summed_by_day_model_and_key(terminal: Terminal) -> None:
    rows = _rows(terminal.type("usage", "--org", "acme", "--by", "day,model,key"))
    assert [[*row[:3], *row[5:]] for row in rows[1:]] == [
        ["1970-01-01", "tts-1", "search", "1", "0", "7", "0", "1.00"],
        ["1970-01-02", "tts-1-hd", "search", "1", "0", "7", "0", "0.000035"],
    ]


@pytest.mark.usefixtures("used")
def test_keys_with_the_same_name_have_their_ids(terminal: Terminal) -> None:
    head, *rows = _rows(terminal.type("usage", "--by", "key"))
    ids = {row[head.index("key_id")] for row in rows}
    assert len(ids) == 2
    assert ids - {"other"} <= {row[5] for row in _rows(terminal.type("keys", "list"))}


def test_usage_of_a_key_is_found_by_its_prefix(terminal: Terminal, used: str) -> None:
    lines = terminal.type("usage", "--key", used, "--first", "1970-01-02", "--by", "day", "--csv")
    assert lines == ["day,requests,audio_seconds,characters,tokens,amount", "1970-01-02,1,0,7,0,0.000035"]


@pytest.mark.parametrize("words", [["--by", "hour"], ["--by", "day,day"], ["--first", "yesterday"]])
def test_an_invalid_group_or_day_is_refused(terminal: Terminal, words: list[str]) -> None:
    with pytest.raises(SystemExit):
        terminal.type("usage", *words)


def test_a_top_up_prints_the_balance(terminal: Terminal) -> None:
    terminal.type("orgs", "create", "acme")
    terminal.type("wallets", "top-up", "acme", "25.50")
    assert terminal.type("wallets", "top-up", "acme", "0.000001") == ["acme has 25.500001 CHF"]
    assert _rows(terminal.type("wallets", "list")) == [["organisation", "CHF"], ["acme", "25.500001"]]
    assert terminal.type("wallets", "top-up", "nobody", "1", status=2) == ["there is no organisation nobody"]


@pytest.mark.parametrize("amount", ["much", "-1", "0.0000001", "1e5", "\u0665", "1_0"])
def test_an_invalid_amount_is_refused(terminal: Terminal, amount: str) -> None:
    with pytest.raises(SystemExit):
        terminal.type("wallets", "top-up", "acme", amount)


@pytest.mark.parametrize("words", [["top-up", "a\0", "1"], ["top-up", "a", "1", "--reference", "\0"]])
def test_an_invalid_name_is_refused(terminal: Terminal, words: list[str]) -> None:
    with pytest.raises(SystemExit):
        terminal.type("wallets", *words)


@pytest.mark.usefixtures("used")
def test_old_charges_can_be_deleted(terminal: Terminal) -> None:
    assert terminal.type("prune", "--before", "1970-01-02") == ["2 charges deleted; their sums by day stay"]
    assert _rows(terminal.type("usage"))[1:] == [["speech", "3", "0", "21", "0", "1.000036"]]


def test_charges_of_the_last_days_are_not_deleted(terminal: Terminal) -> None:
    (line,) = terminal.type("prune", "--before", "9999-12-31", status=2)
    assert "30 days" in line
