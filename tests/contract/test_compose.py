"""What an operator writes into .env is what compose runs with, and no documented command overwrites it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from frontend.config.settings import Settings
from tests.compose import services, variables
from tests.conftest import ROOT
from tests.prometheus import OBSERVABILITY, binary

PASSWORD = {"POSTGRES_PASSWORD": "hidden"}
# Where commands are written for people.
TEXTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docker/*.md"), *ROOT.glob("compose*.yaml")]


def _frontend(**environ: str) -> Settings:
    given = PASSWORD | environ
    values = variables(services(given)["frontend"], given)
    # The files that the container mounts.
    values |= {"QUARTET_CONFIG": str(ROOT / "docker" / "quartet.toml"), "QUARTET_TRITON_SECRET_FILE": ""}
    return Settings.from_env({name: value for name, value in values.items() if name.startswith("QUARTET_")})


def test_without_more_the_stores_and_tritons_are_those_of_the_file() -> None:
    settings = _frontend()
    found = (settings.database, settings.redis, settings.triton)
    assert found == ("postgresql://quartet:hidden@postgres/quartet", "redis://redis:6379/0", "triton:8001")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("QUARTET_DATABASE", "postgresql://me:mine@db.example/quartet"),
        ("QUARTET_REDIS", "rediss://cache.example:6380/1"),
        ("QUARTET_TRITON", "gpu-1:8001,gpu-2:8001"),
        ("QUARTET_JWT_SECRET", "s" * 32),
        ("QUARTET_AUDIO_WORKERS", "7"),
        ("QUARTET_EXTENSIONS", "subtitles"),
    ],
)
def test_a_setting_of_the_environment_wins_and_an_empty_one_is_absent(name: str, value: str) -> None:
    field = name.removeprefix("QUARTET_").lower()
    assert str(getattr(_frontend(**{name: value}), field)) == value
    assert getattr(_frontend(**{name: ""}), field) == getattr(_frontend(), field)


def test_a_file_of_a_secret_counts_beside_an_empty_variable(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("f" * 32, encoding="utf-8")
    settings = _frontend(QUARTET_JWT_SECRET="", QUARTET_JWT_SECRET_FILE=str(tmp_path / "secret"))
    assert settings.jwt_secret == "f" * 32


@pytest.mark.parametrize("service", ["triton-cpu", "triton-gpu"])
def test_tritons_secret_is_the_file_of_the_export_or_ones_own(service: str) -> None:
    for environ in (PASSWORD, PASSWORD | {"QUARTET_TRITON_SECRET_FILE": "", "QUARTET_TRITON_SECRET": "mine"}):
        found = services(environ)
        given = [variables(found[name], environ) for name in (service, "frontend")]
        own = "mine" if "QUARTET_TRITON_SECRET" in environ else ""
        assert [each["QUARTET_TRITON_SECRET"] for each in given] == [own, own]
        file = "" if own else "/models/triton.secret"
        assert [each["QUARTET_TRITON_SECRET_FILE"] for each in given] == [file, file]


def _env_script(folder: Path, *values: str) -> subprocess.CompletedProcess[str]:
    (folder / "docker").mkdir(exist_ok=True)
    shutil.copy(ROOT / "docker" / "env.sh", folder / "docker")
    shutil.copy(ROOT / ".env.example", folder)
    command = [str(folder / "docker" / "env.sh"), *values]
    return subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)


def _read(folder: Path) -> dict[str, str]:
    lines = (folder / ".env").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_the_script_makes_an_env_with_a_random_password_for_its_owner(tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert _env_script(tmp_path / name, "MODELS=hub", "COMPOSE_PROFILES=gpu", "FOLDER=/a b/&c").returncode == 0
        made.append(_read(tmp_path / name))
    assert (tmp_path / "one" / ".env").stat().st_mode & 0o777 == 0o600
    assert {each.name for each in (tmp_path / "one").iterdir()} == {".env", ".env.example", "docker"}
    first, second = (each.pop("POSTGRES_PASSWORD") for each in made)
    assert re.fullmatch("[0-9a-f]{48}", first)
    assert first != second
    assert made[0] == made[1]
    assert (made[0]["MODELS"], made[0]["COMPOSE_PROFILES"], made[0]["FOLDER"]) == ("hub", "gpu", "/a b/&c")


@pytest.mark.parametrize(("values", "status"), [([], 0), (["MODELS=hub"], 1)])
def test_the_script_leaves_an_env_that_is_there_as_it_is(tmp_path: Path, values: list[str], status: int) -> None:
    (tmp_path / ".env").write_text("POSTGRES_PASSWORD=kept\n", encoding="utf-8")
    done = _env_script(tmp_path, *values)
    assert (done.returncode, "stays as it is" in done.stderr) == (status, True)
    assert (tmp_path / ".env").read_text(encoding="utf-8") == "POSTGRES_PASSWORD=kept\n"


@pytest.mark.parametrize("value", ["MODEL=hub", "MODELS"])
def test_the_script_refuses_what_compose_does_not_read(tmp_path: Path, value: str) -> None:
    done = _env_script(tmp_path, value)
    assert (done.returncode, value in done.stderr) == (2, True)
    assert not (tmp_path / ".env").exists()


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_no_written_command_overwrites_an_env_or_repeats_a_profile(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"(?:(?<!>)>|cp .*) *\.env\b", text) == []
    assert re.findall(r"docker compose.*--profile.*", text) == []


def test_the_line_of_the_readme_for_a_gpu_works_in_a_fresh_clone(tmp_path: Path) -> None:
    (line,) = re.findall(r"`(docker/env\.sh [^`]*gpu[^`]*)`", (ROOT / "README.md").read_text(encoding="utf-8"))
    script, _, compose = line.partition(" && ")
    assert compose.startswith("docker compose up")
    assert _env_script(tmp_path, *script.split()[1:]).returncode == 0
    environ = _read(tmp_path)
    started = {name for name, each in services(environ).items() if environ["COMPOSE_PROFILES"] in each["profiles"]}
    assert started == {"export-gpu", "triton-gpu", "frontend", "proxy", "redis", "postgres"}
    assert services(environ)["export-gpu"]["command"][:2] == ["--source", "hub"]


@pytest.mark.parametrize("triton", ["triton-cpu", "triton-gpu"])
def test_a_prometheus_of_ones_own_reaches_the_frontend_and_triton_on_loopback_alone(triton: str) -> None:
    opened = services(PASSWORD, "compose.ports.yaml")
    published = [port.rsplit(":", 1) for name in ("frontend", triton) for port in opened[name]["ports"]]
    assert all(port.startswith("127.0.0.1:") for port, _ in published)
    config = yaml.safe_load((OBSERVABILITY / "prometheus-loopback.yml").read_text(encoding="utf-8"))
    scraped = {each["job_name"]: each["static_configs"][0]["targets"] for each in config["scrape_configs"]}
    inside = dict(published)
    (frontend,), (metrics,) = scraped["quartet-frontend"], scraped["quartet-triton"]
    # The ports that compose's own Prometheus asks.
    own = yaml.safe_load((OBSERVABILITY / "prometheus.yml").read_text(encoding="utf-8"))["scrape_configs"]
    asked = {each["job_name"]: str(each["dns_sd_configs"][0]["port"]) for each in own}
    assert (inside[frontend], inside[metrics]) == (asked["quartet-frontend"], asked["quartet-triton"])
    # Without that file Triton has no port on the machine.
    assert "ports" not in services(PASSWORD)[triton]


@pytest.mark.parametrize("file", ["prometheus.yml", "prometheus-loopback.yml"])
def test_promtool_takes_the_configuration(tmp_path: Path, file: str) -> None:
    shutil.copy(OBSERVABILITY / "rules.yml", tmp_path)
    text = (OBSERVABILITY / file).read_text(encoding="utf-8").replace("/etc/prometheus/", "")
    (tmp_path / file).write_text(text, encoding="utf-8")
    command = [binary("promtool"), "check", "config", str(tmp_path / file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_documented_with_its_threshold_and_what_to_do() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    rules = yaml.safe_load((OBSERVABILITY / "rules.yml").read_text(encoding="utf-8"))
    alerts = [rule for group in rules["groups"] for rule in group["rules"] if "alert" in rule]
    assert len(alerts) >= 19
    for rule in alerts:
        (row,) = re.findall(rf"^\| {rule['alert']} \|.*", text, re.MULTILINE)
        assert " ".join(rule["expr"].split()).replace("|", "\\|") in row
        assert row.endswith(f"{rule['annotations']['description']} |")
