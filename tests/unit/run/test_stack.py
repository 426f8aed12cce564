"""A second product beside the first has what is its own."""

import signal
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from frontend.administration.commands.database import with_registry
from frontend.administration.registry import Registry
from frontend.catalogue.models import Added, Served
from frontend.catalogue.voices import Voice
from frontend.config.reading import SettingsError
from frontend.config.settings import Settings
from scripts.export_models import stamp
from scripts.export_models.stamp import Stamp
from scripts.local_triton.checks import PreflightError, free_port
from scripts.local_triton.server import TritonFailedError
from scripts.run import stack
from scripts.run.stack import Stack, demo_key, with_defaults


def test_settings_of_the_user_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "quartet.toml"
    file.write_text("threads = 3\n", encoding="utf-8")
    environ = {"QUARTET_CONFIG": str(file), "QUARTET_AUDIO_WORKERS": "5"}
    assert with_defaults(environ, {"audio_workers": "9", "threads": "9", "text_workers": "9"}) == {
        **environ,
        "QUARTET_TEXT_WORKERS": "9",
    }


def test_the_database_is_the_same_in_any_folder() -> None:
    named = "sqlite:///elsewhere/quartet.sqlite3"
    whole = f"sqlite:///{Path.cwd()}/elsewhere/quartet.sqlite3"
    assert Stack(1, {"QUARTET_DATABASE": named}).environment()["QUARTET_DATABASE"] == whole
    assert Stack(1, {}).environment()["QUARTET_DATABASE"] == f"sqlite:///{Path.cwd()}/data/quartet.sqlite3"


def test_a_separate_folder_has_its_own_database_and_addresses(tmp_path: Path) -> None:
    stack = Stack(1, {}, work=tmp_path)
    ports, values = stack.triton.ports, stack.environment()
    assert values["QUARTET_DATABASE"] == f"sqlite:///{tmp_path}/quartet.sqlite3"
    assert Settings.from_env(values).triton == values["QUARTET_TRITON"]
    assert values["QUARTET_TRITON"] == f"127.0.0.1:{ports.grpc}"
    assert values["QUARTET_TRITON_HTTP"] == f"http://127.0.0.1:{ports.http}"
    assert values["QUARTET_TRITON_METRICS"] == f"http://127.0.0.1:{ports.metrics}/metrics"


def test_a_wrong_setting_is_named_before_anything_is_started() -> None:
    with pytest.raises(SettingsError, match="QUARTET_THREADS: must be a valid integer, not 'x'"):
        Stack(1, {"QUARTET_THREADS": "x"})


def test_the_settings_may_name_a_voice_that_is_still_to_be_exported(tmp_path: Path) -> None:
    named = {"QUARTET_VOICES": "eva"}
    with pytest.raises(SettingsError, match="there is no 'eva'"):
        Stack(1, named, tmp_path)
    Stack(1, named, tmp_path, added=Added((Voice("eva", "de", "female"),)))


def test_a_hurried_stop_does_not_wait_for_requests() -> None:
    stack = Stack(1, {})
    # As the frontend takes it while it stops; before it says so it may be another program still.
    command = ["env", "--default-signal=INT", "sh", "-c", "echo ready; exec sleep 60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as frontend:
        assert frontend.stdout is not None
        assert frontend.stdout.readline() == b"ready\n"
        stack._frontend = frontend
        stack.hurry()
        assert frontend.wait(20) == -signal.SIGINT


def _sleeping() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["env", "--default-signal=INT", "sleep", "60"], start_new_session=True)


def test_a_hurried_stop_does_not_wait_for_triton(capfd: pytest.CaptureFixture[str]) -> None:
    stack, frontend = Stack(1, {}), _sleeping()
    stack._frontend, stack._started, stack.triton._process = frontend, True, _sleeping()
    stack.hurry()
    frontend.wait(20)
    began = time.monotonic()
    stack.stop()
    assert time.monotonic() - began < 3
    stack.hurry()
    assert capfd.readouterr().out == "dropping requests in flight; waiting for the frontend and Triton to end\n"


def test_a_hurry_while_triton_ends_kills_it() -> None:
    stack, frontend, server = Stack(1, {}), _sleeping(), _sleeping()
    frontend.kill()
    frontend.wait(20)
    stack._frontend, stack.triton._process = frontend, server
    stack.hurry()
    assert server.wait(20) == -signal.SIGKILL


def _started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unloadable: Collection[str] = (), unexported: Collection[str] = ()
) -> Mapping[str, str]:
    """The environment of the frontend, where some models were not exported and others do not load."""

    def load(models: Sequence[str], _: object, failed: Callable[[str, TritonFailedError], None]) -> None:
        assert not set(unexported) & set(models)
        for model in models:
            if model in unloadable:
                failed(model, TritonFailedError(f"{model} could not load: no such file\nat line 1"))

    found: dict[str, str] = {}
    for model in unexported:
        stamp.write(tmp_path, model, Stamp(failed="damaged"))
    product = Stack(1, {}, tmp_path, tmp_path)
    monkeypatch.setattr(product.triton, "start", lambda: None)
    monkeypatch.setattr(product.triton, "load", load)
    monkeypatch.setattr(stack, "start_child", lambda command, environment, log: found.update(environment))
    product._start_triton()
    product._start_frontend()
    return found


def test_a_model_that_does_not_load_is_one_sentence_and_the_others_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = _started(tmp_path, monkeypatch, unloadable=["m3_reranker", "piper_amy"])
    assert found["QUARTET_MODELS"] == "stt-1,stt-1-hd,tts-1,tts-1-hd,embed-m3"
    assert "amy" not in found["QUARTET_VOICES"].split(",")
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("not served")]
    assert said == [f"not served: {name} could not load: no such file" for name in ("piper_amy", "m3_reranker")]


def test_a_model_that_was_not_exported_is_neither_loaded_nor_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    voices = [voice.triton_model for voice in Served.of().voices]
    found = _started(tmp_path, monkeypatch, unexported=[*voices, "whisper_turbo"])
    assert found["QUARTET_MODELS"] == "stt-1-hd,embed-m3,rerank-v2-m3"


def test_if_no_model_loads_nothing_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TritonFailedError, match="whisper_turbo could not load"):
        _started(tmp_path, monkeypatch, unloadable=Served.of().triton_models)


def _stopping(times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Start a Triton that stops so many times while it loads; what was done to it."""
    product, done = Stack(1, {}, tmp_path, tmp_path), list[str]()

    def load(*_: object) -> None:
        done.append("load")
        if done.count("load") <= times:
            raise TritonFailedError("Triton stopped")

    for name in ("start", "stop"):
        monkeypatch.setattr(product.triton, name, partial(done.append, name))
    monkeypatch.setattr(product.triton, "load", load)
    with suppress(TritonFailedError):
        product._start_triton()
        done.append("ready")
    return done


def test_a_triton_that_stops_while_it_loads_is_started_once_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = ["start", "load", "stop", "start", "load"]
    assert _stopping(1, tmp_path, monkeypatch) == [*again, "ready"]
    assert _stopping(2, tmp_path, monkeypatch) == again


def _settings(folder: Path) -> Settings:
    return Settings(database=f"sqlite:///{folder}/quartet.sqlite3")


def _key(folder: Path, name: str, kept: str = "") -> str:
    return with_registry(_settings(folder), lambda registry: demo_key(registry, name, kept))


def _active(folder: Path) -> list[str]:
    entries = with_registry(_settings(folder), Registry.entries)
    return sorted(entry.name for entry in entries if entry.revoked_at is None)


def test_a_valid_key_stays(tmp_path: Path) -> None:
    key = _key(tmp_path, "make run")
    assert _key(tmp_path, "make run", key) == key
    assert _active(tmp_path) == ["make run"]


def test_a_revoked_key_is_replaced(tmp_path: Path) -> None:
    key = _key(tmp_path, "make run")
    with_registry(_settings(tmp_path), lambda registry: registry.revoke(key))
    assert _key(tmp_path, "make run", key) != key


def test_a_new_key_revokes_earlier_ones_of_the_same_folder(tmp_path: Path) -> None:
    for name in ("make run", "make run", "make run STATE=second"):
        _key(tmp_path, name)
    assert _active(tmp_path) == ["make run", "make run STATE=second"]


def test_a_start_that_fails_ends_no_key(tmp_path: Path) -> None:
    _key(tmp_path, "make run")
    stack = Stack(free_port(), {"QUARTET_DATABASE": _settings(tmp_path).database}, tmp_path, tmp_path / "a b")
    with pytest.raises(PreflightError):
        stack.start()
    assert _active(tmp_path) == ["make run"]


def test_the_secret_of_mobile_tokens_goes_on_unless_another_is_set() -> None:
    kept = {"QUARTET_JWT_SECRET": "k" * 32}
    assert Stack(1, {}, previous=kept).environment()["QUARTET_JWT_SECRET"] == "k" * 32
    assert Stack(1, {"QUARTET_JWT_SECRET": "s" * 32}, previous=kept).jwt_secret == "s" * 32


@pytest.mark.parametrize("name", ["jwt_secret", "triton_secret"])
def test_a_secret_with_a_file_is_not_set_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "secret").write_text("s" * 32)
    environ = {f"QUARTET_{name.upper()}_FILE": str(tmp_path / "secret")}
    made = Stack(1, environ)
    assert getattr(Settings.from_env(environ | made.environment()), name) == "s" * 32
    given: list[Mapping[str, str]] = []
    monkeypatch.setattr(stack, "start_child", lambda command, environment, log: given.append(environment))
    made._start_frontend()
    assert getattr(Settings.from_env(given[0]), name) == "s" * 32


def test_each_start_has_its_own_secret_of_triton_unless_one_is_set() -> None:
    first, second = Stack(1, {}).triton.secret, Stack(1, {}).triton.secret
    assert len(first) == 32
    assert first != second
    assert Stack(1, {"QUARTET_TRITON_SECRET": "mine"}).triton.secret == "mine"
