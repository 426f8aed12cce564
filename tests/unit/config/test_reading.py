"""Settings from the environment, the settings file and files of secrets."""

import codecs
from pathlib import Path

import pytest

from frontend.catalogue.models import Added
from frontend.config.reading import SettingsError, read
from frontend.config.settings import Settings
from tests.unit.config.conftest import File

SECRET = "0123456789abcdef0123456789abcdef"


def test_variables_for_clients_are_no_settings() -> None:
    names = ("URL", "API_KEY", "MOBILE_JWT", "TRITON_HTTP", "TRITON_METRICS", "FACTS", "PRECISION")
    assert Settings.from_env({f"QUARTET_{name}": "x" for name in names}, added=Added()) == Settings()


def test_only_given_settings_have_values(file: File) -> None:
    values, _ = read({**file("threads = 3\n"), "QUARTET_PORT": "1", "HOME": "/"})
    assert {"threads", "port"} <= values.keys()
    assert "text_workers" not in values


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("QUARTET_PORT", "tcp://10.0.0.7:8080"),
        ("QUARTET_PORT_8080_TCP", "tcp://10.0.0.7:8080"),
        ("QUARTET_PORT_8080_TCP_PROTO", "tcp"),
        ("QUARTET_PORT_53_UDP_ADDR", "10.0.0.7"),
        ("QUARTET_SERVICE_HOST", "10.0.0.7"),
        ("QUARTET_SERVICE_PORT_HTTP", "8080"),
        ("QUARTET_FRONTEND_PORT", "tcp://10.0.0.7:8080"),
        ("QUARTET_TRITON_TEXT_SERVICE_PORT", "8001"),
    ],
)
def test_variables_of_kubernetes_services_are_no_settings(name: str, value: str) -> None:
    assert Settings.from_env({name: value}, added=Added()) == Settings()
    assert read({name: value}) == ({}, {})


@pytest.mark.parametrize("name", ["QUARTET_SERVICE", "QUARTET_PORT_TCP", "QUARTET_SERVICE_HOSTS"])
def test_a_variable_that_only_resembles_those_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.from_env({name: "1"})


def _secret(folder: Path, content: bytes) -> str:
    path = folder / "secret"
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize("content", [f"{SECRET}\n".encode(), codecs.BOM_UTF8 + SECRET.encode()])
def test_a_secret_is_read_from_its_file(tmp_path: Path, content: bytes) -> None:
    environ = {"QUARTET_JWT_SECRET_FILE": _secret(tmp_path, content)}
    assert Settings.from_env(environ).jwt_secret == SECRET
    assert read(environ)[0].keys() == {"jwt_secret"}


def test_the_settings_file_may_begin_with_a_byte_order_mark(file: File) -> None:
    assert Settings.from_env(file("\ufeffthreads = 3\n")).threads == 3


def test_a_file_of_a_secret_overrides_the_settings_file(tmp_path: Path, file: File) -> None:
    environ = {**file(f"jwt_secret = '{SECRET}'"), "QUARTET_JWT_SECRET_FILE": _secret(tmp_path, b"x" * 40)}
    assert Settings.from_env(environ).jwt_secret == "x" * 40


@pytest.mark.parametrize("empty", ["QUARTET_JWT_SECRET", "QUARTET_JWT_SECRET_FILE"])
def test_an_empty_variable_of_a_secret_counts_as_absent(tmp_path: Path, empty: str) -> None:
    both = {"QUARTET_JWT_SECRET": "s" * 40, "QUARTET_JWT_SECRET_FILE": _secret(tmp_path, b"f" * 40)}
    assert Settings.from_env(both | {empty: ""}).jwt_secret == ("f" if empty == "QUARTET_JWT_SECRET" else "s") * 40


def test_an_empty_variable_counts_as_absent_and_hides_no_value_of_the_file(file: File) -> None:
    environ = {**file("threads = 3\nvoices = 'amy'\nredis = 'redis://store'\n"), "QUARTET_PROT": ""}
    environ |= dict.fromkeys(("QUARTET_THREADS", "QUARTET_VOICES", "QUARTET_REDIS", "QUARTET_PORT"), "")
    settings = Settings.from_env(environ)
    assert (settings.threads, settings.voices, settings.redis, settings.port) == (3, "amy", "redis://store", 8080)


@pytest.mark.parametrize(
    ("environ", "content", "message"),
    [
        ({"QUARTET_JWT_SECRET_FILE": "{file}"}, b" \n", "QUARTET_JWT_SECRET_FILE: .*is empty"),
        ({"QUARTET_JWT_SECRET_FILE": "{file}"}, b"\xff", "QUARTET_JWT_SECRET_FILE: .*not UTF-8"),
        ({"QUARTET_JWT_SECRET_FILE": "{file}"}, b"short", "QUARTET_JWT_SECRET_FILE: .*32 bytes"),
        ({"QUARTET_ADMIN_KEY_FILE": "/nowhere/key"}, b"", "QUARTET_ADMIN_KEY_FILE: /nowhere/key: No such file"),
        (
            {"QUARTET_JWT_SECRET": SECRET, "QUARTET_JWT_SECRET_FILE": "{file}"},
            SECRET.encode(),
            "QUARTET_JWT_SECRET is set too",
        ),
        ({"QUARTET_PORT_FILE": "/etc/port"}, b"", "QUARTET_PORT_FILE: there is no such setting"),
    ],
    ids=["empty", "no text", "short", "missing", "twice", "no secret"],
)
def test_an_invalid_file_of_a_secret_is_refused(
    tmp_path: Path, environ: dict[str, str], content: bytes, message: str
) -> None:
    file = _secret(tmp_path, content)
    with pytest.raises(SettingsError, match=message):
        Settings.from_env({name: value.format(file=file) for name, value in environ.items()})
