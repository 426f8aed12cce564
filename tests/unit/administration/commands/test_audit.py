"""The command ``audit``."""

import time

import pytest

from frontend.access import api_key
from tests.unit.commands.conftest import Terminal


def _actions(lines: list[str]) -> list[str]:
    return [next(word for word in line.split() if "." in word) for line in lines[1:]]


def test_every_change_is_in_the_log_without_keys(terminal: Terminal) -> None:
    terminal.type("orgs", "create", "acme")
    terminal.type("orgs", "change", "acme", "--limit", "5")
    key = terminal.type("keys", "create", "--org", "acme")[-1]
    terminal.type("keys", "change", key, "--tier", "pro")
    terminal.type("keys", "rotate", key)
    terminal.type("keys", "revoke", key)
    for _ in range(2):
        terminal.type("wallets", "top-up", "acme", "25.50", "--reference", "invoice")
    lines = terminal.type("audit")
    wanted = ["wallet.top_up", "key.revoke", "key.rotate", "key.change", "key.create", "org.change", "org.create"]
    assert _actions(lines) == wanted
    assert {"command line" in line for line in lines[1:]} == {True}
    assert key not in " ".join(lines)
    assert '"amount": "25.50", "reference": "invoice"' in lines[1]


def test_the_log_can_be_filtered(terminal: Terminal) -> None:
    for name in ("acme", "zenith"):
        terminal.type("orgs", "create", name)
    prefix = api_key.prefix(terminal.type("keys", "create")[-1])
    assert len(terminal.type("audit", "--limit", "2")) == 3
    assert _actions(terminal.type("audit", "--target", prefix)) == ["key.create"]
    assert len(terminal.type("audit", "--action", "org.create")) == 3
    assert len(terminal.type("audit", "--actor", "admin key")) == 1
    tomorrow = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 2 * 86_400))
    assert len(terminal.type("audit", "--since", tomorrow)) == 1


@pytest.mark.parametrize("words", [("--limit", "0"), ("--since", "yesterday"), ("--actor", "nobody")])
def test_an_invalid_filter_is_refused(terminal: Terminal, words: tuple[str, str]) -> None:
    with pytest.raises(SystemExit):
        terminal.type("audit", *words)
