"""The command ``report``: what is in it, and that no secret is."""

import dataclasses
from pathlib import Path

import pytest

from frontend.catalogue.version import VERSION
from frontend.config.fields import Fields
from tests.conftest import ROOT
from tests.unit.commands.conftest import Terminal

SECRETS = [item.name for item in dataclasses.fields(Fields) if item.metadata["secret"]]
VALUE = 'x7"Zq-9\\vLkw2@Rt/5uYb8:Nm3%40cPd6sJh'
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwaG9uZSJ9.c2lnbmF0dXJl"


@pytest.fixture(autouse=True)
def _good(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QUARTET_USAGE_FOLDER", str(tmp_path / "usage"))
    monkeypatch.setenv("QUARTET_TRITON", "127.0.0.1:9")
    monkeypatch.chdir(tmp_path)


def _report(terminal: Terminal, *words: str) -> str:
    return "\n".join(terminal.type("report", "--output", "-", *words))


def _part(report: str, name: str) -> str:
    return report.partition(f"## {name}\n\n")[2].partition("\n\n## ")[0]


def test_the_report_is_one_file_with_versions_machine_settings_models_and_services(
    new_terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("QUARTET_MODEL_REPOSITORY", str(ROOT / "model_repository"))
    (line,) = new_terminal.type("report")
    assert line.startswith("quartet-report.txt is written; ")
    report = (tmp_path / "quartet-report.txt").read_text(encoding="utf-8")
    assert f"Quartet {VERSION}\nPython 3." in _part(report, "Versions")
    assert [line.partition(": ")[0] for line in _part(report, "Machine").splitlines()][:2] == [
        "processor",
        "processors",
    ]
    assert "m3_embedder " in _part(report, "Models")
    assert "triton 127.0.0.1:9: nobody answers" in _part(report, "Services")
    assert "aiohttp " in report
    assert "GPU: " in report


def test_a_setting_is_shown_with_its_source(
    new_terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "q.toml").write_text("threads = 3\n[floors.m3_embedder]\nacme = 1\n", encoding="utf-8")
    monkeypatch.setenv("QUARTET_CONFIG", str(tmp_path / "q.toml"))
    monkeypatch.setenv("QUARTET_TOKEN_BUDGET", "9000")
    rows = [line.split(maxsplit=1) for line in _part(_report(new_terminal), "Settings").splitlines()]
    shown = {name: rest.replace("  ", " ").split() for name, rest in rows}
    assert shown["token_budget"] == ["9000", "QUARTET_TOKEN_BUDGET"]
    assert shown["threads"] == ["3", "QUARTET_CONFIG"]
    assert shown["floors"][:2] == ['{"m3_embedder":', '{"acme":']
    assert "port" not in shown


@pytest.mark.parametrize(("prefix", "from_file"), [("", False), ("postgresql://user:", True)])
@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_is_shown_wherever_it_stands(
    new_terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, from_file: bool, prefix: str
) -> None:
    value, variable = f"{prefix}{VALUE}@127.0.0.1:9/x" if prefix else VALUE, f"QUARTET_{name.upper()}"
    file = tmp_path / "file"
    file.write_text(value, encoding="utf-8")
    monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(f"{variable}_FILE" if from_file else variable, str(file) if from_file else value)
    log = tmp_path / "a.log"
    log.write_text(f'{{"level":"ERROR","message":"cannot use {value!r}"}}\n', encoding="utf-8")
    report = _report(new_terminal, "--log", str(log))
    assert name in report
    assert "[hidden]" in _part(report, f"Last errors and warnings of {log}")
    for part in ("Zq-9", "vLkw2", "Rt/5uYb8", "cPd6sJh"):
        assert part not in report


def test_a_password_in_an_address_is_not_shown_alone_either(
    new_terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("QUARTET_REDIS", "redis://:pa%40ssw0rd@127.0.0.1:9/0?password=s3cond")
    log = tmp_path / "a.log"
    log.write_text("2026-11-28T05:00:00+0000 ERROR wrong pa@ssw0rd or s3cond\n", encoding="utf-8")
    report = _report(new_terminal, "--log", str(log))
    assert [each for each in ("pa@ss", "ssw0rd", "s3cond") if each in report] == []
    assert "redis " in report
    assert "redis://[hidden]" in report


@pytest.mark.parametrize("scheme", ["postgres", "postgresql+asyncpg"])
def test_a_password_of_an_address_of_another_form_is_not_shown_either(
    new_terminal: Terminal, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("QUARTET_DATABASE", f"{scheme}://quartet:s3condlife@127.0.0.1:9/quartet")
    shown = _errors_of(new_terminal, ["2026-11-28T05:00:00+0000 ERROR s3condlife is wrong"])
    assert shown == ["2026-11-28T05:00:00+0000 ERROR [hidden] is wrong"]


@pytest.mark.parametrize("from_file", [False, True])
@pytest.mark.parametrize("fault", ["CONFIG", "TRITON_SECRET_FILE"])
def test_if_settings_cannot_be_read_no_secret_is_shown(
    new_terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str, from_file: bool
) -> None:
    """The log is of a time at which they could."""
    (tmp_path / "q.toml").write_text("threads = = 3", encoding="utf-8")
    monkeypatch.setenv(f"QUARTET_{fault}", str(tmp_path / "q.toml" if fault == "CONFIG" else "/nowhere"))
    (tmp_path / "key").write_text("Zq9vLkw2" * 4 + "\n", encoding="utf-8")
    variable, value = ("ADMIN_KEY_FILE", str(tmp_path / "key")) if from_file else ("ADMIN_KEY", "Zq9vLkw2" * 4)
    monkeypatch.setenv(f"QUARTET_{variable}", value)
    shown = _errors_of(new_terminal, [f"2026-11-28T05:00:00+0000 ERROR key={'Zq9vLkw2' * 4}"])
    assert shown == ["2026-11-28T05:00:00+0000 ERROR key=[hidden]"]


def test_a_line_that_is_cut_has_no_part_of_a_secret(new_terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUARTET_ADMIN_KEY", "Zq9vLkw2" * 4)
    (first, second) = _errors_of(
        new_terminal,
        [
            f"E1128 05:00:00 {'x' * 1965} {'Zq9vLkw2' * 4} {'x' * 9000}",
            f"E1128 05:00:00 {'x' * 1955} https://bob:Kp4sWd7c@chat.example/v1 {'x' * 9000}",
        ],
    )
    assert "Zq9" not in first
    assert "Kp4s" not in second
    assert (len(first), len(second)) == (2000, 2000)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CHAT_UPSTREAM", "https://bob:Zq9vLkw2@chat.example/v1"),
        ("JWT_JWKS", "https://keys.example/jwks?token=Zq9vLkw2"),
        ("TRITON", "bob:Zq9vLkw2@127.0.0.1:9"),
        ("CORS_ORIGINS", "https://bob:Zq9vLkw2@app.example"),
        ("JWT_SECRT", "Zq9vLkw2Zq9vLkw2Zq9vLkw2Zq9vLkw2"),
        ("API_KEY", "Zq9vLkw2"),
        ("ADMIN_KEY", "Zq9vLkw2"),
        ("JWT_SECRET_FILE", "/nowhere"),
    ],
)
def test_bad_and_misplaced_settings_are_reported_without_what_may_be_secret(
    new_terminal: Terminal, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"QUARTET_{name}", value)
    report = _report(new_terminal)
    assert "Zq9vLkw2" not in report
    assert "## Settings" in report
    assert f"Quartet {VERSION}" in report


def test_a_bad_setting_is_named_and_the_others_are_shown(
    new_terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "q.toml").write_text('[pools.a]\naddress = "a:1"\npassword = "Zq9vLkw2"\n', encoding="utf-8")
    monkeypatch.setenv("QUARTET_CONFIG", str(tmp_path / "q.toml"))
    monkeypatch.setenv("QUARTET_THREADS", "many")
    report = _part(_report(new_terminal), "Settings, which are bad")
    assert "QUARTET_THREADS: must be a valid integer, not 'many'" in report
    assert "pools.a.password: there is no such setting" in report
    assert "127.0.0.1:9" in report
    assert "Zq9vLkw2" not in report


def test_the_last_errors_of_a_log_are_those_of_the_frontend_of_triton_and_of_python(
    new_terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        '{"time":"t","level":"INFO","message":"served"}',
        f'{{"time":"t","level":"ERROR","message":"model away {JWT}"}}',
        "2026-11-28T05:00:00+0000 WARNING Redis is away",
        "2026-11-28T05:00:00+0000 INFO good",
        "E1128 05:00:00.123 7 server.cc:1] no such file",
        "I1128 05:00:00.123 7 server.cc:1] fine",
        "Traceback (most recent call last):",
        '  File "x.py", line 1',
        "ValueError: bad",
        "a line of nobody",
    ]
    shown = _errors_of(new_terminal, lines)
    assert shown == [lines[1].replace(JWT, "[hidden]"), lines[2], lines[4], *lines[6:9]]


def test_only_the_last_errors_of_a_long_log_are_shown_and_long_lines_are_cut(new_terminal: Terminal) -> None:
    shown = _errors_of(new_terminal, [f"E1128 05:00:00 {number} {'x' * 9000}" for number in range(500)])
    assert (len(shown), len(shown[0]), shown[-1].split()[2]) == (40, 2000, "499")


def test_a_log_that_cannot_be_read_does_not_keep_the_rest(new_terminal: Terminal) -> None:
    report = _report(new_terminal, "--log", "/nowhere.log")
    assert _part(report, "Last errors and warnings of /nowhere.log").startswith("FileNotFoundError: ")
    assert "## Versions" in report


def test_a_report_that_cannot_be_written_is_one_line(new_terminal: Terminal) -> None:
    assert new_terminal.type("report", "--output", "/nowhere/report", status=2) == [
        "--output: /nowhere/report: No such file or directory"
    ]


def _errors_of(terminal: Terminal, lines: list[str]) -> list[str]:
    log = Path("some.log")
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return _part(_report(terminal, "--log", str(log)), f"Last errors and warnings of {log}").splitlines()
