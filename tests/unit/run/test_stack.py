"""A second product beside the first has what is its own."""

import signal
import subprocess
from pathlib import Path

from frontend.access.registry import Registry
from frontend.commands.database import with_registry
from frontend.config.settings import Settings
from scripts.run.stack import Stack, new_key, with_defaults


def test_what_was_set_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "quartet.toml"
    file.write_text("threads = 3\n", encoding="utf-8")
    environ = {"QUARTET_CONFIG": str(file), "QUARTET_AUDIO_WORKERS": "5"}
    assert with_defaults(environ, {"audio_workers": "9", "threads": "9", "text_workers": "9"}) == {
        **environ,
        "QUARTET_TEXT_WORKERS": "9",
    }


def test_a_database_that_was_named_is_used_in_any_folder(tmp_path: Path) -> None:
    named = "sqlite:////elsewhere/quartet.sqlite3"
    assert Stack(1, {"QUARTET_DATABASE": named}, work=tmp_path).environment()["QUARTET_DATABASE"] == named


def test_a_folder_of_its_own_has_a_database_of_its_own_and_tritons_addresses(tmp_path: Path) -> None:
    stack = Stack(1, {}, work=tmp_path)
    ports, values = stack.triton.ports, stack.environment()
    assert values["QUARTET_DATABASE"] == f"sqlite:///{tmp_path}/quartet.sqlite3"
    assert Settings.from_env(values).triton == values["QUARTET_TRITON"]
    assert values["QUARTET_TRITON"] == f"127.0.0.1:{ports.grpc}"
    assert values["QUARTET_TRITON_HTTP"] == f"http://127.0.0.1:{ports.http}"
    assert values["QUARTET_TRITON_METRICS"] == f"http://127.0.0.1:{ports.metrics}/metrics"


def test_whoever_hurries_does_not_wait_for_requests() -> None:
    stack = Stack(1, {})
    # As the frontend takes it while it stops; before it says so it may be another program still.
    command = ["env", "--default-signal=INT", "sh", "-c", "echo ready; exec sleep 60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as frontend:
        assert frontend.stdout is not None
        assert frontend.stdout.readline() == b"ready\n"
        stack._frontend = frontend
        stack.hurry()
        assert frontend.wait(20) == -signal.SIGINT


def test_a_new_key_ends_that_of_the_run_before_in_the_same_folder(tmp_path: Path) -> None:
    settings = Settings(database=f"sqlite:///{tmp_path}/quartet.sqlite3")
    for name in ("make run", "make run", "make run STATE=second"):
        with_registry(settings, lambda registry, name=name: new_key(registry, name))  # type: ignore[misc]
    entries = with_registry(settings, Registry.entries)
    assert sorted(entry.name for entry in entries if entry.revoked_at is None) == ["make run", "make run STATE=second"]
