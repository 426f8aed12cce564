"""What holds of every rendering of the chart; each check answers the faults that it finds, a line each."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

from frontend.catalogue.kokoro import DEMO_SPEAKERS
from frontend.catalogue.models import Added
from frontend.config.reading import FROM_FILE, PREFIX, SettingsError
from frontend.config.settings import Settings
from frontend.extensions.metrics import GROUP
from frontend.observe.metrics import GROUPS
from scripts.local_triton.settings import arguments
from tests.contract.chart.helm import Manifest, name
from tests.contract.chart.kinds import kinds

DEMO_VOICES = tuple(speaker.voice for speaker in DEMO_SPEAKERS)
Check = Callable[[Sequence[Manifest], str], Iterator[str]]
# What is asked of a frontend's admin port and of a Triton.
_PROBES = {
    "frontend": {("admin", "/health/live"), ("admin", "/health/ready")},
    "triton": {("http", "/v2/health/live"), ("http", "/v2/health/ready")},
}
_UNITS = {"": 1.0, "m": 1e-3, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def pods(manifests: Sequence[Manifest]) -> Iterator[tuple[str, Manifest]]:
    """What each workload starts its pods from, labels and all."""
    for manifest in manifests:
        if manifest["kind"] == "InferenceService":
            yield name(manifest), {"metadata": manifest["metadata"], "spec": manifest["spec"]["predictor"]}
        elif template := manifest.get("spec", {}).get("template"):
            yield name(manifest), template


def amount(quantity: str | float) -> float:
    """Kubernetes' quantities as numbers."""
    found = re.fullmatch(r"([0-9.]+)(m|Ki|Mi|Gi|Ti)?", str(quantity))
    assert found is not None, quantity
    return float(found[1]) * _UNITS[found[2] or ""]


def rights(manifests: Sequence[Manifest], _: str) -> Iterator[str]:
    """The restricted pod security standard, and no variables or tokens that nobody needs."""
    for owner, template in pods(manifests):
        spec = template["spec"]
        if spec.get("enableServiceLinks") is not False:
            yield f"{owner}: its pods get a variable for each Service"
        if spec.get("automountServiceAccountToken") is not ("-first-key-" in owner):
            yield f"{owner}: automountServiceAccountToken"
        security = spec.get("securityContext", {})
        if not security.get("runAsNonRoot") or security.get("seccompProfile") != {"type": "RuntimeDefault"}:
            yield f"{owner}: its pods are not restricted"
        for container in _containers(spec):
            own = container.get("securityContext", {})
            allowed = own.get("allowPrivilegeEscalation"), own.get("readOnlyRootFilesystem")
            if allowed != (False, True) or own.get("capabilities") != {"drop": ["ALL"]}:
                yield f"{owner}: {container['name']} is not restricted"


def _containers(spec: Manifest) -> list[Manifest]:
    return [*spec.get("initContainers", []), *spec["containers"]]


def settings(manifests: Sequence[Manifest], _: str) -> Iterator[str]:
    """Every variable is a setting, and the settings' file is read without a complaint."""
    for owner, template in pods(manifests):
        for container in _containers(template["spec"]):
            for variable in container.get("env", []):
                field = variable["name"].removeprefix(PREFIX).removesuffix(FROM_FILE).lower()
                known = field in Settings.__dataclass_fields__ or variable["name"] == f"{PREFIX}CONFIG"
                if variable["name"].startswith(PREFIX) and not known:
                    yield f"{owner}: there is no setting {variable['name']}"
    for manifest in manifests:
        if text := manifest.get("data", {}).get("quartet.toml"):
            yield from _bad_file(text)


def _bad_file(text: str) -> Iterator[str]:
    with NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        try:
            # The tests' exports are the demo's, where Kokoro has most voices.
            own = Added(DEMO_VOICES if "kokoro" in text else ())
            read = Settings.from_env({f"{PREFIX}CONFIG": str(Path(file.name))}, own)
        except SettingsError as error:
            yield f"quartet.toml: {error}"
            return
    wanted = {model for pool in tomllib.loads(text)["pools"].values() for model in pool["models"]}
    if lacking := set(read.served.triton_models) - wanted:
        yield f"quartet.toml: no pool has {', '.join(sorted(lacking))}"


def probes(manifests: Sequence[Manifest], _: str) -> Iterator[str]:
    """Every port that a probe or a Service names is there, and every path is one that is answered."""
    for owner, template in pods(manifests):
        part = template["metadata"]["labels"]["app.kubernetes.io/component"]
        for container in template["spec"]["containers"]:
            ports = {port["name"] for port in container.get("ports", [])}
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                asked = container.get(probe, {}).get("httpGet")
                if asked and ((asked["port"], asked["path"]) not in _PROBES[part] or asked["port"] not in ports):
                    yield f"{owner}: {probe} asks {asked['path']} of {asked['port']}"
    for manifest in manifests:
        if manifest["kind"] == "Service":
            found = _matching(manifests, manifest["spec"]["selector"])
            ports = {port["name"] for spec in found for item in spec["containers"] for port in item.get("ports", [])}
            for port in manifest["spec"]["ports"]:
                if port["targetPort"] not in ports:
                    yield f"{name(manifest)}: nothing has the port {port['targetPort']}"


def _matching(manifests: Sequence[Manifest], selector: Mapping[str, str]) -> list[Manifest]:
    return [
        template["spec"]
        for _, template in pods(manifests)
        if selector.items() <= template["metadata"]["labels"].items()
    ]


def ends(manifests: Sequence[Manifest], _: str) -> Iterator[str]:
    """A pod has longer to end than what it runs takes: a frontend its delay and its drain, a Triton its calls."""
    (text,) = [manifest["data"]["quartet.toml"] for manifest in manifests if "quartet.toml" in manifest.get("data", {})]
    file = tomllib.loads(text)
    (timeout,) = [word.partition("=")[2] for word in arguments("") if word.startswith("--exit-timeout-secs=")]
    needed = {"frontend": file["stop_delay_seconds"] + file["drain_seconds"], "triton": int(timeout)}
    for owner, template in pods(manifests):
        part = template["metadata"]["labels"]["app.kubernetes.io/component"]
        hooks = [item["lifecycle"]["preStop"] for item in template["spec"]["containers"] if "lifecycle" in item]
        delays = [int(hook["exec"]["command"][1]) for hook in hooks] or [0]
        if part in needed and template["spec"].get("terminationGracePeriodSeconds", 30) <= needed[part] + max(delays):
            yield f"{owner}: is killed before it has ended"


def names(manifests: Sequence[Manifest], _: str) -> Iterator[str]:
    """What an object names is there: claims, maps and selected pods; Secrets unless they come from elsewhere."""
    known = {name(manifest) for manifest in manifests}
    # KServe makes it.
    known |= {f"Deployment {known[17:]}-predictor" for known in known if known.startswith("InferenceService ")}
    own_claims = {
        claim["metadata"]["name"]
        for manifest in manifests
        for claim in manifest.get("spec", {}).get("volumeClaimTemplates", [])
    }
    for owner, template in pods(manifests):
        volumes = {volume["name"]: volume for volume in template["spec"].get("volumes", [])}
        for volume in volumes.values():
            # The claims of checkpoints and of added voices are the operator's own.
            claim = volume.get("persistentVolumeClaim") if volume["name"] not in ("folder", "voices") else None
            if claim and f"PersistentVolumeClaim {claim['claimName']}" not in known:
                yield f"{owner}: there is no claim {claim['claimName']}"
            if (held := volume.get("configMap")) and f"ConfigMap {held['name']}" not in known:
                yield f"{owner}: there is no ConfigMap {held['name']}"
        for container in _containers(template["spec"]):
            for mount in container.get("volumeMounts", []):
                if mount["name"] not in volumes.keys() | own_claims:
                    yield f"{owner}: there is no volume {mount['name']}"
    for manifest in manifests:
        spec = manifest.get("spec", {})
        selector = spec.get("podSelector", {}).get("matchLabels") or (
            spec.get("selector") if manifest["kind"] == "Service" else None
        )
        if selector and not _matching(manifests, selector):
            yield f"{name(manifest)}: selects no pod"
        target = spec.get("scaleTargetRef", {}).get("name")
        if target and not known & {f"Deployment {target}", f"StatefulSet {target}"}:
            yield f"{name(manifest)}: there is no {target}"


def room(manifests: Sequence[Manifest], _: str) -> Iterator[str]:
    """Every container says what it needs and may have; what lies in memory fits into that."""
    for owner, template in pods(manifests):
        spec = template["spec"]
        shared = sum(
            amount(volume["emptyDir"]["sizeLimit"])
            for volume in spec.get("volumes", [])
            if volume.get("emptyDir", {}).get("medium") == "Memory"
        )
        for container in _containers(spec):
            resources = container.get("resources", {})
            if not {"cpu", "memory"} <= resources.get("requests", {}).keys() or "memory" not in resources.get(
                "limits", {}
            ):
                yield f"{owner}: {container['name']} does not say what it needs"
            elif container in spec["containers"] and amount(resources["limits"]["memory"]) <= 2 * shared:
                yield f"{owner}: half of its memory and more is shared memory"
        for container in _containers(spec):
            if re.search(r":(latest)?$", container["image"]) or not re.search(r"[:@]", container["image"]):
                yield f"{owner}: {container['image']} is whatever is newest"


def scaling(manifests: Sequence[Manifest], _: str) -> Iterator[str]:
    """Tritons are scaled by demand; a lost series does not scale down, and growth and shrinking are bounded."""
    for manifest in manifests:
        spec = manifest.get("spec", {})
        if manifest["kind"] == "ScaledObject":
            behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
            if not spec.get("fallback", {}).get("replicas"):
                yield f"{name(manifest)}: has no fallback"
            for trigger in spec["triggers"]:
                if trigger["metadata"].get("ignoreNullValues") != "false":
                    yield f"{name(manifest)}: a lost series reads 0"
                if re.search(r"nv_inference_(queue|compute)", trigger["metadata"]["query"]):
                    yield f"{name(manifest)}: Triton's own queue is never long"
        elif manifest["kind"] == "HorizontalPodAutoscaler":
            behavior = spec["behavior"]
        else:
            continue
        if behavior.get("scaleDown", {}).get("stabilizationWindowSeconds", 0) < 300:
            yield f"{name(manifest)}: scales down at the first quiet moment"


def queries(manifests: Sequence[Manifest], _: str) -> Iterator[str]:
    """Every metric that a query names is one that there is."""
    known = {row.name for group in (*GROUPS, GROUP) for row in group.rows}
    for manifest in manifests:
        if manifest["kind"] in ("ScaledObject", "PrometheusRule"):
            for metric in set(re.findall(r"\bquartet_\w+", json.dumps(manifest["spec"]))):
                if re.sub("_(bucket|sum|count)$", "", metric) not in known:
                    yield f"{name(manifest)}: there is no metric {metric}"


CHECKS: tuple[Check, ...] = (kinds, rights, settings, probes, ends, names, room, scaling, queries)


def faults(manifests: Sequence[Manifest], version: str = "1.36") -> list[str]:
    """What all checks find."""
    return [fault for check in CHECKS for fault in check(manifests, version)]
