"""Every rendering of the chart holds what the checks ask, and each check finds what is put in to be found."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from frontend.config.settings import Settings
from tests.contract.chart import checks
from tests.contract.chart.helm import CHART, Helm, HelmError, Manifest, name
from tests.contract.chart.kinds import kinds

ONE_SERVER, CLUSTER = (f"{CHART}/values-{name}.yaml" for name in ("one-server", "cluster"))
_IMAGES = ("models.from=image", "models.image.reference=quartet/models:1", "models.image.assets=quartet/assets:1")
# By which a waiting pod's message finds the Job of the export.
_SELECTED = ("app.kubernetes.io/instance", "app.kubernetes.io/component")
SWITCHES: Sequence[Sequence[str]] = (
    ("frontend.charges.claim=false", "frontend.autoscaling.enabled=true"),
    ("autoscaling.engine=hpa", "monitoring.enabled=false"),
    ("autoscaling.engine=keda", "pools.text.autoscaling.min=0", "spread.zones=false"),
    ("ingress.enabled=true", "ingress.host=quartet.example", "ingress.tlsSecret=tls", "firstKey.enabled=false"),
    ("httpRoute.enabled=true", "httpRoute.parents[0].name=gateway", "networkPolicy.enabled=false"),
    ("redis.existingSecret=r", "postgres.existingSecret=p", "secrets.existingSecret=s"),
    _IMAGES,
    # A cluster with block storage: charges and models in claims that one node mounts.
    ("models.claim.storageClass=ebs", "frontend.charges.storageClass=ebs", "spread.hosts=false", "spread.zones=false"),
    # Without the internet.
    ("images.registry=registry.intern/quartet", "models.source=folder", "models.folder.claim=checkpoints"),
    ("engine=kserve", "autoscaling.engine=keda"),
    ("frontend.settings.audio_workers=4", "frontend.settings.limits.embeddings=600"),
    (
        "models.precision=fp16",
        "models.extraEnv[0].name=HF_ENDPOINT",
        "pools.text.gpus=1",
        "pools.text.gpuResource=nvidia.com/mig-1g.10gb",
        "pools.text.runtimeClassName=nvidia",
        "pools.text.priorityClassName=high",
        "pools.text.podAnnotations.team=speech",
        "pools.text.extraEnv[0].name=CUDA_CACHE_MAXSIZE",
    ),
)


@pytest.mark.parametrize("values", [[], [ONE_SERVER], [CLUSTER]], ids=["laptop", "one server", "cluster"])
def test_the_values_of_the_chart_pass_the_checks(helm: Helm, values: list[str]) -> None:
    helm.lint(*values)
    assert checks.faults(helm.render(*values)) == []


@pytest.mark.parametrize("version", ["1.35", "1.37"])
def test_the_chart_fits_each_version_of_kubernetes(helm: Helm, version: str) -> None:
    assert list(kinds(helm.render(CLUSTER, version=version), version)) == []


@pytest.mark.parametrize("switches", SWITCHES, ids=lambda switches: switches[0])
def test_every_switch_passes_the_checks(helm: Helm, switches: Sequence[str]) -> None:
    assert checks.faults(helm.render(*switches)) == []


def test_without_operators_no_object_is_theirs(helm: Helm) -> None:
    made = {manifest["kind"] for manifest in helm.render(operators=False)}
    assert not made & {"ServiceMonitor", "PrometheusRule", "ScaledObject"}


@pytest.mark.parametrize(
    "value",
    [
        "frontend.replica=3",
        "pools.text.gpu=1",
        "autoscaling.engine=hpa2",
        "images.frontend.digest=sha256:12",
        "models.from=claim",
        "models.from=image",
        "frontend.settings.port=80",
        "pools.Text.replicas=1",
        "redis.url=redis://x",
    ],
)
def test_an_unknown_or_invalid_value_is_refused(helm: Helm, value: str) -> None:
    with pytest.raises(HelmError, match="values don't meet the specifications of the schema"):
        helm.render(value)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["images.registry="], "set images.registry"),
        (["spread.hosts=true"], "ReadWriteOnce"),
        (["models.source=folder"], "models.folder.claim"),
        (["pools.text.gpus=1"], "set models.precision to fp16"),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, list) else "",
)
def test_values_that_cannot_work_together_are_refused_with_a_reason(helm: Helm, values: list[str], reason: str) -> None:
    with pytest.raises(HelmError, match=reason):
        helm.render(*values)


def test_image_volumes_need_the_kubernetes_that_has_them(helm: Helm) -> None:
    with pytest.raises(HelmError, match=r"1\.33"):
        helm.render(*_IMAGES, version="1.32")


@pytest.mark.parametrize(("gpus", "surge"), [(0, 1), (1, 0)])
def test_a_pool_with_gpus_ends_a_pod_before_it_starts_the_next(helm: Helm, gpus: int, surge: int) -> None:
    rendered = helm.render(f"pools.text.gpus={gpus}", "models.precision=fp16")
    (pool,) = [each for each in rendered if each["kind"] == "Deployment" and each["metadata"]["name"].endswith("-text")]
    assert pool["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": surge, "maxUnavailable": 1 - surge}


@pytest.mark.parametrize(
    ("values", "near"),
    [
        ([], 5),
        (["models.claim.accessMode=ReadWriteMany"], 0),
        (["pools.text.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight=1"], 4),
    ],
    ids=["a claim of one node", "a claim of several", "an affinity of its own"],
)
def test_pods_that_read_a_claim_of_one_node_run_there(helm: Helm, values: list[str], near: int) -> None:
    pods = [each["spec"].get("template", {}).get("spec", {}) for each in helm.render(*values) if "spec" in each]
    assert len([pod for pod in pods if "podAffinity" in pod.get("affinity", {})]) == near


def test_the_export_reads_a_claim_with_checkpoints(helm: Helm) -> None:
    rendered = helm.render("models.source=folder", "models.folder.claim=checkpoints")
    (job,) = [each for each in rendered if each["kind"] == "Job" and "-export-" in each["metadata"]["name"]]
    volumes = {each["name"]: each for each in job["spec"]["template"]["spec"]["volumes"]}
    assert list(kinds(rendered, "1.36")) == []
    assert volumes["folder"]["persistentVolumeClaim"] == {"claimName": "checkpoints", "readOnly": True}


def test_the_export_reads_a_claim_with_exported_voices(helm: Helm) -> None:
    _, job = _export(helm, "models.voices.claim=voices")
    spec = job["spec"]["template"]["spec"]
    (volume,) = [each for each in spec["volumes"] if each["name"] == "voices"]
    assert volume["persistentVolumeClaim"] == {"claimName": "voices", "readOnly": True}
    assert {"name": "voices", "mountPath": "/voices", "readOnly": True} in spec["containers"][0]["volumeMounts"]


@pytest.mark.parametrize("files", ["voices", "folder"])
@pytest.mark.parametrize("changed", ["claim=b", "revision=r2"])
def test_changed_voices_and_checkpoints_are_another_export_in_a_folder_of_its_own(
    helm: Helm, files: str, changed: str
) -> None:
    given = f"models.{files}.claim=a"
    before, after = (_export(helm, given, *more) for more in ((), (f"models.{files}.{changed}",)))
    assert before[0] != after[0]
    assert _folder(before[1]) != _folder(after[1])


def test_a_job_cannot_be_changed_so_other_variables_make_another_job_of_the_same_export(helm: Helm) -> None:
    mirror = ("models.extraEnv[0].name=HF_ENDPOINT", "models.extraEnv[0].value=https://mirror.intern")
    before, after = _export(helm), _export(helm, *mirror)
    assert before[0] != after[0]
    assert _folder(before[1]) == _folder(after[1])
    others = [
        [pod for owner, pod in checks.pods(helm.render(*values)) if "-export-" not in owner] for values in ((), mirror)
    ]
    assert others[0] == others[1]


def _export(helm: Helm, *values: str) -> tuple[str, Manifest]:
    """The Job of the export, after its name."""
    (job,) = [each for each in helm.render(*values) if each["kind"] == "Job" and "-export-" in each["metadata"]["name"]]
    return job["metadata"]["name"], job


def _folder(job: Manifest) -> str:
    name, folder = job["spec"]["template"]["spec"]["containers"][0]["args"][:2]
    assert name == "--name"
    return str(folder)


@pytest.mark.parametrize("values", [[], ["engine=kserve"], ["secrets.existingSecret=ours"]], ids=str)
def test_tritons_and_frontends_have_the_same_secret_and_tritons_no_other(helm: Helm, values: list[str]) -> None:
    rendered = helm.render(*values)
    found = {}
    for owner, template in checks.pods(rendered):
        for container in template["spec"]["containers"]:
            variables = {each["name"]: each.get("value") for each in container.get("env", [])}
            if path := variables.get("QUARTET_TRITON_SECRET_FILE"):
                (mount,) = [each for each in container["volumeMounts"] if path.startswith(each["mountPath"] + "/")]
                (volume,) = [each for each in template["spec"]["volumes"] if each["name"] == mount["name"]]
                found[owner] = volume["secret"]
    tritons = [secret for owner, secret in found.items() if "frontend" not in owner]
    (frontend,) = [secret for owner, secret in found.items() if "frontend" in owner]
    only = [{"key": "triton_secret", "path": "triton_secret"}]
    assert tritons == 3 * [{"secretName": frontend["secretName"], "items": only}]
    made = [
        each for each in rendered if each["kind"] == "Secret" and each["metadata"]["name"] == frontend["secretName"]
    ]
    assert [set(each["data"]) for each in made] == (
        [] if "existing" in str(values) else [{"jwt_secret", "admin_key", "triton_secret"}]
    )


@pytest.mark.parametrize(
    ("values", "resource"),
    [
        ([], None),
        (["pools.text.resources.requests.cpu=999m"], None),
        (["pools.text.resources.requests.cpu=1"], "requests.cpu"),
        (["pools.text.resources.requests.cpu=1500m"], "requests.cpu"),
        (["pools.text.resources.requests.cpu=2.5"], "requests.cpu"),
        (["pools.text.resources.limits.cpu=4"], "limits.cpu"),
    ],
    ids=str,
)
@pytest.mark.parametrize("engine", ["deployment", "kserve"])
def test_threads_fit_a_limit_or_a_request_of_processors_and_else_the_node(
    helm: Helm, engine: str, values: list[str], resource: str | None
) -> None:
    rendered = helm.render(f"engine={engine}", *values)
    (spec,) = [each["spec"] for owner, each in checks.pods(rendered) if owner.endswith("-text")]
    (container,) = spec["containers"]
    found = [each["valueFrom"]["resourceFieldRef"] for each in container["env"] if each["name"] == "PROCESSORS"]
    assert found == ([{"containerName": container["name"], "resource": resource}] if resource else [])


def test_an_ingress_passes_large_bodies_and_waits_for_the_longest_answer(helm: Helm) -> None:
    on = ("ingress.enabled=true", "ingress.host=quartet.example")
    own = "ingress.annotations.nginx\\.ingress\\.kubernetes\\.io/proxy-body-size=26m"
    settings = ("frontend.settings.max_audio_seconds=14400", "frontend.settings.audio_second_seconds=0.5")
    found = []
    for values in (on, (*on, own, *settings, "frontend.settings.request_seconds=100")):
        (ingress,) = [each for each in helm.render(*values) if each["kind"] == "Ingress"]
        found.append(ingress["metadata"]["annotations"])
    nginx = "nginx.ingress.kubernetes.io/proxy-"
    assert (found[0][f"{nginx}body-size"], found[0][f"{nginx}read-timeout"]) == ("0", "7860")
    assert (found[0]["nginx.org/client-max-body-size"], found[0]["haproxy.org/timeout-server"]) == ("0", "7860s")
    assert found[0][f"{nginx}request-buffering"] == found[0][f"{nginx}buffering"] == "off"
    # What the operator writes wins, and longer audio takes longer.
    assert (found[1][f"{nginx}body-size"], found[1][f"{nginx}read-timeout"]) == ("26m", "7660")
    assert Settings().stop_seconds <= int(found[0][f"{nginx}read-timeout"])


def test_the_export_keeps_its_downloads_and_has_a_deadline_and_pods_say_that_they_wait(helm: Helm) -> None:
    rendered = helm.render("models.workSize=30Gi", "models.deadlineSeconds=3600", "models.claim.storageClass=disk")
    (job,) = [each for each in rendered if each["kind"] == "Job" and "-export-" in each["metadata"]["name"]]
    selector = ",".join(f"{key}={job['metadata']['labels'][key]}" for key in _SELECTED)
    assert job["spec"]["activeDeadlineSeconds"] == 3600
    (work,) = [each for each in job["spec"]["template"]["spec"]["volumes"] if each["name"] == "work"]
    wanted = f"PersistentVolumeClaim {work['persistentVolumeClaim']['claimName']}"
    (claim,) = [each for each in rendered if name(each) == wanted]
    assert claim["spec"]["resources"]["requests"]["storage"] == "30Gi"
    assert claim["spec"]["storageClassName"] == "disk"
    waiting = [
        each["initContainers"][0]
        for each in (pod["spec"] for _, pod in checks.pods(rendered))
        if "initContainers" in each
    ]
    assert len(waiting) == 4
    for container in waiting:
        script = container["command"][2].replace("sleep 2", "exit")
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
        assert f"'kubectl logs --selector {selector}'" in done.stdout


def test_a_pod_that_waits_says_so_each_minute_and_begins_when_the_models_are_there(helm: Helm, tmp_path: Path) -> None:
    (spec,) = [each["spec"] for owner, each in checks.pods(helm.render()) if owner.endswith("-text")]
    script = re.sub(r"/models/\w+", str(tmp_path / "export"), spec["initContainers"][0]["command"][2])
    script = script.replace("sleep 2", f"[ $tries -lt 65 ] || mkdir {tmp_path}/export")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 3


REDIS = "sha256:7d1e4ce8b9395088377ab382d1f6cfdbd13b3690795198a0399ab8d683064d6d"
# The check that finds it, the file, what stands there, and what is put in its place.
FAULTS = [
    (kinds, "templates/pools.yaml", "apiVersion: policy/v1", "apiVersion: policy/v1beta1"),
    (kinds, "templates/autoscaling.yaml", "minReplicaCount:", "minReplica:"),
    (kinds, "templates/frontend.yaml", "podManagementPolicy:", "podPolicy:"),
    (kinds, "templates/models.yaml", "kind: Job", "kind: Task"),
    (checks.rights, "templates/_helpers.tpl", "enableServiceLinks: false", "enableServiceLinks: true"),
    (checks.rights, "templates/_helpers.tpl", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false"),
    (checks.rights, "templates/_helpers.tpl", "runAsNonRoot: true", "runAsNonRoot: false"),
    (checks.settings, "templates/frontend.yaml", "QUARTET_ADMIN_PORT", "QUARTET_ADMINPORT"),
    (checks.settings, "templates/config.yaml", '"stop_delay_seconds"', '"stop_delay"'),
    (checks.settings, "values.yaml", "models: [whisper_turbo, whisper_large_v3]", "models: [whisper_turbo]"),
    (checks.probes, "templates/frontend.yaml", "path: /health/ready", "path: /ready"),
    (checks.probes, "templates/_triton.tpl", "{ name: grpc, container", "{ name: rpc, container"),
    (checks.ends, "templates/_helpers.tpl", "add 30 .Values.frontend.stopDelaySeconds", "add 0"),
    (checks.ends, "templates/_triton.tpl", "terminationGracePeriodSeconds: 330", "terminationGracePeriodSeconds: 300"),
    (checks.ends, "templates/_triton.tpl", 'command: [sleep, "15"]', 'command: [sleep, "45"]'),
    (checks.names, "templates/frontend.yaml", "configMap: { name: {{ $name }}-frontend", "configMap: { name: settings"),
    (checks.names, "templates/network.yaml", '"part" "triton"', '"part" "tritons"'),
    (checks.room, "templates/stores.yaml", "toYaml .Values.redis.resources", "toYaml dict"),
    (checks.room, "values.yaml", "sharedMemory: 2Gi", "sharedMemory: 4Gi"),
    (checks.room, "values.yaml", f"tag: 8.2.9-bookworm\n    digest: {REDIS}", 'tag: latest\n    digest: ""'),
    (checks.scaling, "templates/autoscaling.yaml", 'ignoreNullValues: "false"', 'ignoreNullValues: "true"'),
    (checks.queries, "templates/autoscaling.yaml", "quartet_in_flight{", "quartet_running{"),
    (checks.scaling, "templates/autoscaling.yaml", "fallback:", "# fallback:"),
    (checks.scaling, "templates/autoscaling.yaml", "stabilizationWindowSeconds: 300", "stabilizationWindowSeconds: 30"),
]


@pytest.mark.parametrize(
    ("check", "file", "find", "put"), FAULTS, ids=[fault[2].partition("\n")[0] for fault in FAULTS]
)
def test_each_check_finds_a_fault(
    helm: Helm, tmp_path: Path, check: checks.Check, file: str, find: str, put: str
) -> None:
    chart = tmp_path / "quartet"
    shutil.copytree(CHART, chart)
    text = (chart / file).read_text(encoding="utf-8")
    assert find in text
    (chart / file).write_text(text.replace(find, put), encoding="utf-8")
    broken = Helm(helm.binary, chart).render("autoscaling.engine=keda")
    assert list(check(broken, "1.36")) != []
