"""compose.yaml and the Dockerfiles, as far as they can be checked without a container engine."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from frontend.config.reading import FROM_FILE, PREFIX
from frontend.config.settings import Settings
from scripts.export_models.checkpoints import VOICES
from scripts.local_triton.settings import arguments
from tests import small_voices
from tests.conftest import ROOT

DOCKERFILES = sorted((ROOT / "docker").glob("*.Dockerfile"))
STORES = ROOT / "lab" / "containers" / "stores.Dockerfile"
BIN = Path(sys.executable).parent


def _read(path: str) -> str:
    """A file of the checkout."""
    return (ROOT / path).read_text(encoding="utf-8")


SERVICES: dict[str, Any] = yaml.safe_load(_read("compose.yaml"))["services"]


def test_every_compose_file_fits_the_compose_specification() -> None:
    files = [*ROOT.glob("compose*.yaml"), ROOT / "lab" / "containers" / "stores.yaml"]
    command: list[str | Path] = [BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("profile", ["cpu", "gpu"])
def test_a_profile_has_every_part_and_enough_shared_memory(profile: str) -> None:
    parts = {name: service for name, service in SERVICES.items() if profile in service["profiles"]}
    export = {"cpu": "export", "gpu": "export-gpu"}[profile]
    assert parts.keys() == {export, f"triton-{profile}", "frontend", "proxy", "redis", "postgres"}
    assert export in parts[f"triton-{profile}"]["depends_on"]
    assert parts[f"triton-{profile}"]["shm_size"] == "2gb"


@pytest.mark.parametrize("profile", ["cpu", "gpu"])
def test_compose_repeats_no_argument_that_tritons_image_has(profile: str) -> None:
    given = {argument.partition("=")[0] for argument in SERVICES[f"triton-{profile}"]["command"]}
    assert not given & {argument.partition("=")[0] for argument in arguments("")}


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.stem)
def test_an_image_installs_nothing_but_what_has_a_hash(dockerfile: Path) -> None:
    text = dockerfile.read_text(encoding="utf-8").replace("\\\n", " ")
    commands = re.findall(r"(?:pip|\{PIP\}) install[^&|;\n]*", text)
    assert commands
    for command in commands:
        hashed = "--require-hashes" in command and " -r " in command
        assert "--no-deps" in command, command
        assert hashed or command.endswith((".whl ", ".whl")), command


def test_a_service_has_no_rights_and_bounds_of_memory_processors_and_logs() -> None:
    for name, service in SERVICES.items():
        confined = service["read_only"], service["cap_drop"], service["security_opt"]
        assert confined == (True, ["ALL"], ["no-new-privileges:true"]), name
        assert {"mem_limit", "cpus"} <= service.keys(), name
        assert set(service["logging"]["options"]) == {"max-size", "max-file"}, name


def test_an_image_of_ours_has_the_tag_that_it_is_built_with() -> None:
    version = tomllib.loads(_read("pyproject.toml"))["project"]["version"]
    images = {service["image"] for service in SERVICES.values() if "build" in service}
    assert images == {
        f"${{REGISTRY:-localhost/quartet}}/{name}:${{TAG:-{version}}}" for name in ("export", "frontend", "triton")
    }
    assert f"\nTAG={version}\n" in _read(".env.example")


def test_no_image_of_ours_is_pulled_from_strangers() -> None:
    ours = [service for service in SERVICES.values() if "build" in service]
    assert {service["pull_policy"] for service in ours} == {"build"}


def test_the_gpus_models_are_in_fp16_whatever_the_environment_says() -> None:
    assert SERVICES["export-gpu"]["command"][-2:] == ["--precision", "fp16"]


def test_the_settings_file_that_compose_mounts_is_good() -> None:
    service = SERVICES["frontend"]
    (mounted,) = [volume for volume in service["volumes"] if "quartet.toml" in volume]
    assert mounted == f"${{SETTINGS:-./docker/quartet.toml}}:{service['environment']['QUARTET_CONFIG']}:ro"
    Settings.from_env({f"{PREFIX}CONFIG": str(ROOT / "docker" / "quartet.toml")})


def test_the_export_gets_the_folder_the_mirror_and_the_proxy() -> None:
    export = SERVICES["export"]
    assert {"HF_ENDPOINT", "HF_TOKEN", "HTTPS_PROXY", "NO_PROXY"} <= set(export["environment"])
    assert "${FOLDER:-./docker/no_models}:/folder:ro" in export["volumes"]
    assert "${VOICES_FOLDER:-./docker/no_models}:/voices:ro" in export["volumes"]


@pytest.mark.parametrize("name", ["redis", "postgres"])
def test_a_store_is_the_charts_pinned_and_with_a_health_check(name: str) -> None:
    values = yaml.safe_load(_read("docker/helm/quartet/values.yaml"))
    chart, service = values["images"][name], SERVICES[name]
    named, _, digest = service["image"].partition("@")
    # With its registry, because podman asks several for a short name.
    assert (named, digest) == (f"{chart['repository']}:{chart['tag']}", chart["digest"])
    assert re.match(r"\d+\.\d+", chart["tag"])
    assert "healthcheck" in service


@pytest.mark.parametrize("name", ["triton", "triton-embedded", "frontend"])
def test_an_image_has_a_health_check(name: str) -> None:
    assert "HEALTHCHECK" in _read(f"docker/{name}.Dockerfile")


@pytest.mark.parametrize("name", ["prometheus", "grafana"])
def test_prometheus_and_grafana_are_pinned_private_and_have_their_files(name: str) -> None:
    service = SERVICES[name]
    assert service["profiles"] == ["observability"]
    assert re.fullmatch(r"docker\.io/[a-z/]+:v?\d+\.\d+\.\d+@sha256:[0-9a-f]{64}", service["image"])
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    mounted = [volume.split(":")[0] for volume in service["volumes"] if volume.startswith("./")]
    assert [path for path in mounted if not (ROOT / path).exists()] == []


def test_compose_sets_settings_that_exist() -> None:
    known = {f"{PREFIX}{name.upper()}" for name in (*Settings.__dataclass_fields__, "config")}
    assert {name.removesuffix(FROM_FILE) for name in SERVICES["frontend"]["environment"]} <= known


@pytest.mark.parametrize("name", ["export", "export-gpu", "triton-cpu", "triton-gpu", "frontend"])
def test_who_controls_models_has_the_secret_of_one_file(name: str) -> None:
    given = SERVICES[name]["environment"]
    given = dict(each.partition("=")[::2] for each in given) if isinstance(given, list) else given
    assert given["QUARTET_TRITON_SECRET_FILE"] == "${QUARTET_TRITON_SECRET_FILE-/models/triton.secret}"
    assert [each for each in SERVICES[name]["volumes"] if each.startswith("models:/models")]


def test_the_example_of_an_environment_has_what_compose_reads() -> None:
    read = set(re.findall(r"\$\{(\w+)", _read("compose.yaml") + _read("compose.ports.yaml")))
    example = _read(".env.example")
    assert set(re.findall(r"^(\w+)=", example, re.MULTILINE)) == read | {"COMPOSE_PROFILES"}


def test_a_container_has_the_time_that_the_frontend_needs_to_stop() -> None:
    own = SERVICES["frontend"]
    fixed = {name: value for name, value in own["environment"].items() if "$" not in value}
    del fixed[f"{PREFIX}CONFIG"]
    assert int(own["stop_grace_period"].removesuffix("s")) >= Settings.from_env(fixed).stop_seconds
    # What it has begun needs its Triton to the end.
    assert {"triton-cpu", "triton-gpu"} <= own["depends_on"].keys()
    (waits,) = [word.partition("=")[2] for word in arguments("") if word.startswith("--exit-timeout-secs=")]
    assert int(SERVICES["triton-cpu"]["stop_grace_period"].removesuffix("s")) > int(waits)


def test_the_health_check_uses_the_admin_port_which_is_not_published() -> None:
    text = _read("docker/frontend.Dockerfile")
    (port,) = re.findall(rf"{PREFIX}ADMIN_PORT=(\d+)", text)
    assert f"http://127.0.0.1:{port}/health/ready" in text
    assert not [published for published in SERVICES["frontend"]["ports"] if published.endswith(f":{port}")]


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda p: p.name)
def test_an_image_has_labels_and_one_base_that_can_be_replaced(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    (base,) = re.findall(r"^ARG BASE=\S+?:(\S+)$", text, re.MULTILINE)
    # NVIDIA's registry could not be asked for one.
    assert path.name == "triton.Dockerfile" or re.search("@sha256:[0-9a-f]{64}$", base)
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", text, re.MULTILINE))
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) - stages == {"${BASE}"}
    labels = set(re.findall(r"org\.opencontainers\.image\.(\w+)=", text))
    assert labels == {"title", "version", "revision"}
    assert "COPY --from=sbom /tmp/sbom.json /usr/share/quartet/" in text


@pytest.mark.parametrize("path", [*DOCKERFILES, STORES], ids=lambda p: p.name)
def test_a_dockerfile_passes_the_linter(path: Path) -> None:
    done = subprocess.run([BIN / "hadolint", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda p: p.name)
def test_a_dockerfile_copies_what_exists_and_runs_as_an_ordinary_user(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for line in re.findall(r"^COPY (.+)$", text, re.MULTILINE):
        for source in line.split()[:-1] if not line.startswith("--from") else ():
            assert (ROOT / source).exists(), source
    assert re.findall(r"^USER (.+)$", text, re.MULTILINE)[-1] != "root"


def _copy_content(dockerfile: str, root: Path) -> None:
    """Put what an image has of the checkout into ``root``/app."""
    weights = ("*.onnx", "*.data", "*.bin", "*.compiled", "whisper", "tokenizer.json", "exported.json", "__pycache__")
    ignored = shutil.ignore_patterns(*weights)
    for words in re.findall(r"^COPY ([^-].*)$", dockerfile.replace("\\\n", ""), re.MULTILINE):
        *sources, target = words.split()
        place = root / target.lstrip("/")
        for source in (ROOT / name for name in sources if target.startswith("/app/")):
            if source.is_dir():
                shutil.copytree(source, place, ignore=ignored, symlinks=True, dirs_exist_ok=True)
            else:
                (place if target.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
                shutil.copy(source, place)


@pytest.mark.parametrize("image", ["triton", "triton-embedded"])
def test_tritons_image_has_the_code_that_fits_the_models_to_its_container(tmp_path: Path, image: str) -> None:
    _copy_content(_read(f"docker/{image}.Dockerfile"), tmp_path)
    (tmp_path / "models").mkdir()
    command = [sys.executable, "-m", "scripts.run.fit", "--repository", "../models"]
    done = subprocess.run(command, cwd=tmp_path / "app", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_exports_image_selects_a_whole_export_and_keeps_it_until_something_changes(tmp_path: Path) -> None:
    """The content of the export image in a clean folder."""
    app, models = tmp_path / "app", tmp_path / "models"
    dockerfile = _read("docker/export.Dockerfile")
    _copy_content(dockerfile, tmp_path)
    environment = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(tmp_path)}
    small_voices.write_six(tmp_path / "checkpoints" / VOICES.repository)
    entry = re.findall(r'^ENTRYPOINT \["python", (.+)\]$', dockerfile, re.MULTILINE)
    places = {"/work": tmp_path / "work", "/folder": tmp_path / "checkpoints", "/voices": tmp_path / "voices"}
    (tmp_path / "voices").mkdir()
    words = [str(places.get(word, word)) for word in json.loads(f"[{entry[0]}]")]
    command = [sys.executable, *words, "--models", str(models), "--source", "folder", "--only", "piper_amy"]

    def export() -> Path:
        subprocess.run(command, cwd=app, env=environment, check=True, capture_output=True)
        return (models / "current").resolve()

    first = export()
    assert (first / "piper_amy" / "1" / "model.onnx").is_file()
    assert (first / "whisper_large_v3" / "1" / "model.py").is_symlink()
    assert export() == first
    with (app / "model_repository" / "whisper_turbo" / "1" / "model.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    second = export()
    assert (second / "piper_amy" / "1" / "model.onnx").is_file()
    assert [
        "# changed" in (each / "whisper_turbo" / "1" / "model.py").read_text(encoding="utf-8")
        for each in (first, second)
    ] == [False, True]
    shutil.copy(first / "whisper_turbo" / "1" / "model.py", app / "model_repository" / "whisper_turbo" / "1")
    assert export() == first


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the frontend's image installs of this checkout."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    for name in ("frontend", "client"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--target", str(target)]
    command = [sys.executable, "-m", "pip", "install", *options, str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return target


def test_the_quartet_command_runs_from_anywhere(installed: Path, tmp_path: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(installed), "QUARTET_THREADS": "none"}
    command = [str(installed / "bin" / "quartet"), "keys", "list"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "QUARTET_THREADS: must be a valid integer, not 'none'\n")


@pytest.mark.parametrize("package", ["frontend", "client"])
def test_the_installed_package_has_every_file_but_tests(installed: Path, package: str) -> None:
    def files(folder: Path) -> set[Path]:
        found = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}
        return {path for path in found if path.parts[0] != "tests"}

    assert files(installed / package) == files(ROOT / package)
    assert not (installed / "client" / "tests").exists()


def test_the_image_starts_the_command(installed: Path) -> None:
    entry = re.findall(r'^ENTRYPOINT \["(.+)"\]$', _read("docker/frontend.Dockerfile"), re.MULTILINE)
    assert (installed / "bin" / entry[0]).is_file()
