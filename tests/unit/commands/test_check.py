"""The command ``check``, with good and bad settings."""

import shutil
from pathlib import Path

import pytest

from frontend.config.settings import Settings
from scripts.export_models import stamp
from scripts.export_models.stamp import Stamp
from tests.conftest import ROOT
from tests.databases import PostgresServer
from tests.redis import RedisServer
from tests.unit.commands.conftest import Terminal


@pytest.fixture(autouse=True)
def _good(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QUARTET_MODEL_REPOSITORY", str(ROOT / "model_repository"))
    monkeypatch.setenv("QUARTET_USAGE_FOLDER", str(tmp_path / "usage"))


@pytest.fixture
def terminal(new_terminal: Terminal) -> Terminal:
    return new_terminal


def test_good_settings_are_reported_and_nothing_is_created(terminal: Terminal, tmp_path: Path) -> None:
    line, *models = terminal.type("check")
    assert line.startswith("the settings are good; served: stt-1, ")
    assert [model.split()[0] for model in models] == list(Settings.from_env({}).served.triton_models)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("QUARTET_PORT", "99999", "QUARTET_PORT: must be less than or equal to 65535, not '99999'"),
        ("QUARTET_PROT", "1", "QUARTET_PROT: there is no such setting"),
        ("QUARTET_JWT_SECRET_FILE", "/nowhere", "QUARTET_JWT_SECRET_FILE: /nowhere: No such file or directory"),
        ("QUARTET_READY_MODELS", "whisper", "QUARTET_READY_MODELS: there is no model 'whisper'; "),
        ("QUARTET_DATABASE", "mysql://x", "QUARTET_DATABASE: must begin with sqlite:/// or postgresql://"),
        ("QUARTET_JWT_JWKS", "http://keys", "QUARTET_JWT_JWKS: an address must begin with https://"),
        ("QUARTET_JWT_JWKS", "/nowhere.json", "QUARTET_JWT_JWKS: /nowhere.json: /nowhere.json: No such file"),
        ("QUARTET_JWT_JWKS", __file__, f"QUARTET_JWT_JWKS: {__file__}: JSONDecodeError: "),
        ("QUARTET_MODEL_REPOSITORY", "/nowhere", "QUARTET_MODEL_REPOSITORY: /nowhere: there is no such folder"),
        ("QUARTET_USAGE_FOLDER", f"{__file__}/usage", f"QUARTET_USAGE_FOLDER: {__file__} is no folder"),
    ],
)
def test_a_bad_setting_is_one_line(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    (line,) = terminal.type("check", status=2)
    assert line.startswith(said)


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ("[floors.m3_reranker]\nacme = 1", "floors.m3_reranker: is not served; "),
        ("[pools.a]\naddress = 'a:1'\nmodels = ['m3_reranker']", "pools.a: 'm3_reranker' is not served; "),
        ("[pools.a]\naddress = 'a:1'\nconcurrency = { m3_reranker = 2 }", "pools.a: 'm3_reranker' is not served; "),
        ("[pools.a]\naddress = 'a:1'\nmodels = ['piper_ryan']", "pools.a: 'piper_ryan' is not served; "),
        ("[pools.a]\naddress = 'a:1'\nmodels = ['piper_ryan']", "pools: none has 'm3_embedder', which is served"),
    ],
)
def test_a_table_that_does_not_match_the_served_models_is_reported(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, table: str, line: str
) -> None:
    (tmp_path / "quartet.toml").write_text(table, encoding="utf-8")
    monkeypatch.setenv("QUARTET_CONFIG", str(tmp_path / "quartet.toml"))
    monkeypatch.setenv("QUARTET_MODELS", "embed-m3")
    assert any(printed.startswith(line) for printed in terminal.type("check", status=2))


def test_an_export_that_does_not_match_the_catalogue_is_reported(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "m3_embedder" / "1"
    shutil.copytree(ROOT / "model_repository" / "m3_embedder" / "1", folder, ignore=shutil.ignore_patterns("*.onnx*"))
    monkeypatch.setenv("QUARTET_MODEL_REPOSITORY", str(tmp_path))
    monkeypatch.setenv("QUARTET_MODELS", "embed-m3,rerank-v2-m3")
    (folder / "quartet.json").write_text('{"max_tokens": 512}', encoding="utf-8")
    short, missing = terminal.type("check", status=2)
    assert short == "m3_embedder takes 512 tokens of a text, and the catalogue has 8192: export it again"
    assert missing.startswith("QUARTET_MODEL_REPOSITORY: m3_reranker is not exported: ")


@pytest.mark.parametrize(("extensions", "status"), [("", 0), ("translations", 2)])
def test_only_translations_need_their_input(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, extensions: str, status: int
) -> None:
    name = "whisper_large_v3"
    folder = tmp_path / name / "1" / "whisper"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "model_repository" / name / "1" / "whisper" / "quartet.json", folder)
    (tmp_path / name / "config.pbtxt").write_text('input [ { name: "audio" } ]', encoding="utf-8")
    monkeypatch.setenv("QUARTET_MODEL_REPOSITORY", str(tmp_path))
    monkeypatch.setenv("QUARTET_MODELS", "stt-1-hd")
    monkeypatch.setenv("QUARTET_EXTENSIONS", extensions)
    first, *_ = terminal.type("check", status=status)
    assert first.startswith("QUARTET_EXTENSIONS: translations: ") == bool(status)


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A repository with only the embedder, and a setting that serves only that."""
    folder = tmp_path / "m3_embedder" / "1"
    folder.mkdir(parents=True)
    for name in ("quartet.json", "tokenizer.json"):
        shutil.copy(ROOT / "model_repository" / "m3_embedder" / "1" / name, folder)
    monkeypatch.setenv("QUARTET_MODEL_REPOSITORY", str(tmp_path))
    monkeypatch.setenv("QUARTET_MODELS", "embed-m3")
    return tmp_path


def test_each_skipped_precision_is_a_line_with_its_reason(terminal: Terminal, embedder: Path) -> None:
    skipped = ["int8: 1 - cosine is 0.3, over 0.001", "bf16: no such layer"]
    stamp.write(embedder, "m3_embedder", Stamp(way="fp32", skipped=skipped))
    _, *lines = terminal.type("check")
    assert lines == ["m3_embedder  fp32", *(f"  skipped {each}" for each in skipped)]


def test_a_repository_without_stamps_has_no_precision(terminal: Terminal, embedder: Path) -> None:
    assert terminal.type("check")[1:] == ["m3_embedder  exported in a way that is not known"]


def test_a_failed_export_is_reported_with_the_reason(terminal: Terminal, embedder: Path) -> None:
    stamp.write(embedder, "m3_embedder", Stamp(failed="the file is damaged"))
    (line,) = terminal.type("check", status=2)
    assert line == "QUARTET_MODEL_REPOSITORY: m3_embedder could not be exported: the file is damaged"


@pytest.mark.parametrize(
    ("made", "reason"), [(Stamp(failed="/e5 does not exist"), "/e5 does not exist"), (None, "export it")]
)
def test_an_added_model_that_is_not_exported_is_reported(
    terminal: Terminal, embedder: Path, monkeypatch: pytest.MonkeyPatch, made: Stamp | None, reason: str
) -> None:
    (embedder / "added_embed-e5" / "1").mkdir(parents=True)
    if made:
        stamp.write(embedder, "added_embed-e5", made)
    table = '[models.embed-e5]\noperation = "embeddings"\ncheckpoint = "/e5"'
    (embedder / "quartet.toml").write_text(table, encoding="utf-8")
    monkeypatch.setenv("QUARTET_CONFIG", str(embedder / "quartet.toml"))
    (line,) = terminal.type("check", status=2)
    assert line == f"models.embed-e5: is not exported, so it is not served: {reason}"


def test_no_service_is_called_without_reach(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUARTET_REDIS", "redis://127.0.0.1:9")
    assert not [line for line in terminal.type("check") if "redis" in line]


def test_each_unreachable_service_is_a_line(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUARTET_REDIS", "redis://127.0.0.1:9")
    monkeypatch.setenv("QUARTET_DATABASE", "postgresql://user:hidden@127.0.0.1:9/quartet")
    monkeypatch.setenv("QUARTET_TRITON", "127.0.0.1:9,127.0.0.1:19")
    monkeypatch.setenv("QUARTET_JWT_JWKS", "https://127.0.0.1:9/keys")
    monkeypatch.setenv("QUARTET_CHAT_UPSTREAM", "http://127.0.0.1:9/v1")
    lines = terminal.type("check", "--reach", status=2)
    assert [line.partition(": ")[0] for line in lines] == [
        "database",
        "redis",
        "triton 127.0.0.1:9",
        "triton 127.0.0.1:19",
        "https://127.0.0.1:9/keys",
        "http://127.0.0.1:9/v1",
    ]
    assert "hidden" not in "".join(lines)
    assert lines[2].endswith(": nobody answers")


def test_a_database_and_a_redis_that_answer_are_good(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, empty_database: str, redis_server: RedisServer
) -> None:
    monkeypatch.setenv("QUARTET_DATABASE", empty_database)
    monkeypatch.setenv("QUARTET_REDIS", redis_server.url)
    monkeypatch.setenv("QUARTET_TRITON", "127.0.0.1:9")
    assert [line.partition(":")[0] for line in terminal.type("check", "--reach", status=2)] == ["triton 127.0.0.1"]


def test_a_postgres_with_too_few_connections_is_reported(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, postgres: PostgresServer
) -> None:
    monkeypatch.setenv("QUARTET_DATABASE", postgres.new_database())
    monkeypatch.setenv("QUARTET_DATABASE_CONNECTIONS", "400")
    assert terminal.type("check", "--reach", status=2)[0].endswith("and the 1 workers may want 800")
