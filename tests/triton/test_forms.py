"""What an operator edits in a checkout, .env and the chart's values is what a real Triton of compose and chart runs.

The commands, variables and mounts of each form are read from its files and run here, with folders in place of volumes.
"""

import base64
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from frontend.catalogue.added_models import added_in
from scripts.export_models import space
from tests import compose, lookalikes
from tests.conftest import ROOT
from tests.contract.chart.checks import amount, pods
from tests.contract.chart.helm import CHART, Helm, unpack
from tests.triton.edits import EDITS, edited
from tests.triton.images import Started, started, write_small_graph

pytestmark = pytest.mark.triton
PROCESSORS = 6
CONFIG = "/etc/quartet/quartet.toml"
OWN = "added_embed-own"
# What is edited in .env and the settings file, and the same in values.
ENV = {"POSTGRES_PASSWORD": "hidden", "PRECISION": "fp32", "FIT": "threads=3"}
SETTINGS = '[models.embed-own]\noperation = "embeddings"\ncheckpoint = "/folder/own"\n'
VALUES = (
    "models.precision=fp32",
    f"pools.text.resources.requests.cpu={PROCESSORS}",
    "pools.text.extraEnv[0].name=FIT",
    "pools.text.extraEnv[0].value=threads=3",
    f"pools.text.models={{{','.join([*EDITS, OWN])}}}",
    "frontend.settings.models.embed-own.operation=embeddings",
    "frontend.settings.models.embed-own.checkpoint=/folder/own",
    "models.folder.claim=checkpoints",
)


@dataclass(frozen=True)
class Form:
    """The arguments and the settings file of the export, and variables and arguments of Triton, with paths of its
    containers.
    """

    export: Sequence[str]
    settings: str
    environ: Mapping[str, str]
    arguments: Sequence[str]
    secret: str = ""


def _of_compose() -> Form:
    services = compose.services(ENV)
    export, triton = services["export"], services["triton-cpu"]
    assert all(any(each.startswith("models:/models") for each in one["volumes"]) for one in (export, triton))
    environ = compose.variables(triton, ENV)
    assert compose.variables(export, ENV)["QUARTET_CONFIG"] == CONFIG
    assert {"/folder:ro", f"{CONFIG}:ro"} <= {each.partition(":")[2] for each in export["volumes"]}
    return Form(export["command"], SETTINGS, {"MODEL_REPOSITORY": "/models/current", **environ}, triton["command"])


def _of_chart(helm: Helm) -> Form:
    rendered = helm.render(*VALUES)
    made = dict(pods(rendered))
    (job,) = [each["spec"]["containers"][0] for name, each in made.items() if "-export-" in name]
    assert {"name": "QUARTET_CONFIG", "value": CONFIG} in job["env"]
    assert {"/folder", str(Path(CONFIG).parent)} <= {each["mountPath"] for each in job["volumeMounts"]}
    (settings,) = [text for each in rendered if (text := each.get("data", {}).get("quartet.toml"))]
    (triton,) = [each["spec"]["containers"][0] for name, each in made.items() if name.endswith("-text")]
    mounted = {each["mountPath"] for each in triton["volumeMounts"]}
    assert {"/models", "/run/quartet/secrets"} <= mounted
    (secret,) = [each for each in rendered if each["kind"] == "Secret" and "triton_secret" in each.get("data", {})]
    environ = {each["name"]: _value(each, triton) for each in triton["env"]}
    return Form(
        job["args"], settings, environ, triton["args"], base64.b64decode(secret["data"]["triton_secret"]).decode()
    )


def _value(variable: Any, container: Any) -> str:
    """A processor that a pod is granted in part counts as one, as Kubernetes does it."""
    if "value" in variable:
        return str(variable["value"])
    kind, name = variable["valueFrom"]["resourceFieldRef"]["resource"].split(".")
    return str(math.ceil(amount(container["resources"][kind][name])))


def _edited(app: Path) -> Path:
    """The folder of the export's image, built from a checkout with edited files."""
    for name in ("scripts", "frontend", "client"):
        (app / name).symlink_to(ROOT / name)
    folder = app / "model_repository"
    for path in subprocess.check_output(["git", "ls-files", "model_repository"], cwd=ROOT, text=True).split():
        target = folder / Path(path).relative_to("model_repository")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, target, follow_symlinks=False)
    for model, edits in EDITS.items():
        # As an earlier 'make run' in the same checkout leaves it.
        (folder / model / "configs").mkdir(exist_ok=True)
        shutil.copy(folder / model / "config.pbtxt", folder / model / "configs" / "machine.pbtxt")
        text = (folder / model / "config.pbtxt").read_text(encoding="utf-8")
        (folder / model / "config.pbtxt").write_text(edited(text, edits), encoding="utf-8")
    return app


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Volumes, by their places in containers. An earlier export of the unedited checkout is in that of models, and the
    checkpoint of an added model in the folder.
    """
    models, secrets = tmp_path_factory.mktemp("models"), tmp_path_factory.mktemp("secrets")
    for model in EDITS:
        shutil.copytree(ROOT / "model_repository" / model, models / "exports" / "earlier" / model)
    write_small_graph(models / "exports" / "earlier" / "piper_ryan" / "1" / "model.onnx")
    places = {
        name: str(tmp_path_factory.mktemp(name.replace("/", "-"))) for name in ("folder", "voices", "etc/quartet")
    }
    lookalikes.text_model(Path(places["folder"]) / "own", reranker=False)
    places |= {"work": str(ROOT / space.WORK), "models": str(models), "run/quartet/secrets": str(secrets)}
    return {f"/{name}": path for name, path in places.items()} | {"app": str(_edited(tmp_path_factory.mktemp("app")))}


def _here(text: str, folders: Mapping[str, str]) -> str:
    """A text of a container with the paths of this machine."""
    place = next((place for place in folders if text == place or text.startswith(f"{place}/")), "")
    return folders[place] + text.removeprefix(place) if place else text


@pytest.fixture(scope="module", params=["compose", "chart"])
def triton(
    request: pytest.FixtureRequest, folders: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Started]:
    """The Triton of a form after its export, which exports the added model alone, because that takes time."""
    chart = request.param == "chart"
    form = _of_chart(Helm(unpack(tmp_path_factory.mktemp("helm")), CHART)) if chart else _of_compose()
    dockerfile = (ROOT / "docker" / "export.Dockerfile").read_text(encoding="utf-8")
    (entry,) = re.findall(r'^ENTRYPOINT \["python", (.+)\]$', dockerfile, re.MULTILINE)
    words = [*json.loads(f"[{entry}]"), *form.export]
    own = ["--models", folders["/models"], "--only", OWN]
    environ = {name: _here(value, folders) for name, value in form.environ.items()}
    if chart:
        (Path(folders["/run/quartet/secrets"]) / "triton_secret").write_text(form.secret, encoding="utf-8")
    (config := Path(_here(CONFIG, folders))).write_text(
        form.settings.replace("/folder/", f"{folders['/folder']}/"), encoding="utf-8"
    )
    given = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "QUARTET_CONFIG": str(config)}
    given |= {} if chart else {"QUARTET_TRITON_SECRET_FILE": environ["QUARTET_TRITON_SECRET_FILE"]}
    command = [sys.executable, *(_here(word, folders) for word in words), *own]
    subprocess.run(command, cwd=folders["app"], env=given, check=True)
    with started(tmp_path_factory.mktemp("image"), environ, form.arguments) as made:
        yield made


def test_edited_threads_instances_batch_and_delay_run(triton: Started) -> None:
    config = triton.config("m3_embedder")
    threads = config["parameters"]["intra_threads"]["string_value"]
    delay = int(config["dynamic_batching"].get("max_queue_delay_microseconds", 0))
    assert (threads, config["instance_group"][0]["count"], config["max_batch_size"], delay) == ("1", 1, 5, 0)


def test_edited_instances_of_a_voice_run(triton: Started) -> None:
    assert triton.config("piper_ryan")["instance_group"][0]["count"] == 3


def test_an_edited_beam_runs_beside_threads_that_are_set_for_all(triton: Started) -> None:
    parameters = triton.config("whisper_turbo")["parameters"]
    found = (parameters["beam_size"]["string_value"], parameters["intra_threads"]["string_value"])
    assert found == ("1", "3")


def test_an_added_model_of_the_settings_file_is_served_in_the_precision_that_is_set(triton: Started) -> None:
    repository = triton.folder / "repository"
    assert [model.id for model in added_in(repository).models] == ["embed-own"]
    stamp = repository / OWN / "1" / "exported.json"
    assert json.loads(stamp.read_text(encoding="utf-8"))["way"] == "fp32"
    assert triton.status(f"/v2/models/{OWN}/ready") == 200


def test_the_start_says_what_runs_and_where_each_number_came_from(triton: Started) -> None:
    text = (triton.folder / "log").read_text(encoding="utf-8", errors="replace")
    (line,) = re.findall(r"^m3_embedder .*", text, re.MULTILINE)
    assert "threads 1, instances 1, batch 5, delay 0 µs, from config.pbtxt" in line
    assert re.search(r"^\d+ processors: 3 threads", text, re.MULTILINE)


@pytest.mark.parametrize("triton", ["chart"], indirect=True)
def test_threads_and_instances_fit_what_a_pod_requests(triton: Started) -> None:
    text = (triton.folder / "log").read_text(encoding="utf-8", errors="replace")
    assert re.search(rf"^{PROCESSORS} processors: 3 threads", text, re.MULTILINE)


def test_models_are_controlled_by_the_forms_own_secret_alone(triton: Started, folders: dict[str, str]) -> None:
    files = [Path(folders["/models"]) / "triton.secret", Path(folders["/run/quartet/secrets"]) / "triton_secret"]
    known = [file.read_text(encoding="utf-8") for file in files if file.exists()]
    answers = [triton.status("/v2/repository/index", post=True, secret=secret) for secret in ("", *known)]
    assert answers[0] == 403
    assert answers.count(200) == 1
