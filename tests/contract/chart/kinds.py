"""What Kubernetes and its operators know: every object is of a kind and of fields that they have."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import kubernetes_validate
from pydantic import ValidationError

from tests.contract.chart.helm import Manifest, name

_OF_OPERATORS = {"ScaledObject", "ServiceMonitor", "PrometheusRule"}
# Of kinds whose definitions no package has.
_UNCHECKED = {"HTTPRoute", "InferenceService"}


def kinds(manifests: Sequence[Manifest], version: str) -> Iterator[str]:
    """Every object is of a kind and of fields that this version of Kubernetes, or its operator, has."""
    for manifest in manifests:
        kind = manifest["kind"]
        if kind in _OF_OPERATORS:
            yield from _of_an_operator(manifest)
        elif kind not in _UNCHECKED and (fault := _of_kubernetes(json.dumps(manifest), version)):
            yield f"{name(manifest)}: {fault}"


# Most objects are the same in many renderings, and validating one takes a tenth of a second.
@cache
def _of_kubernetes(manifest: str, version: str) -> str:
    try:
        kubernetes_validate.validate(json.loads(manifest), version, strict=True)
    except kubernetes_validate.SchemaNotFoundError:
        return f"Kubernetes {version} has no such kind"
    except kubernetes_validate.ValidationError as error:
        return f"{'.'.join(map(str, error.path))}: {error.message}"
    return ""


@cache
def _operators() -> Mapping[str, Any]:
    # These take seconds to load, and every process that runs tests loads this file.
    from cloudcoil.models.keda import v1alpha1 as keda
    from cloudcoil.models.prometheus_operator import v1 as prometheus

    known = keda.ScaledObject, prometheus.ServiceMonitor, prometheus.PrometheusRule
    return {model.__name__: model for model in known}


def _of_an_operator(manifest: Manifest) -> Iterator[str]:
    try:
        known = _operators()[manifest["kind"]].model_validate(manifest)
    except ValidationError as error:
        yield f"{name(manifest)}: {error}"
        return
    read = known.model_dump(mode="json", by_alias=True, exclude_unset=True)
    yield from (f"{name(manifest)}: there is no {field}" for field in _lost(manifest, read))


def _lost(written: Any, read: Any, place: str = "") -> Iterator[str]:
    """The fields that a model knows nothing of: it leaves them out, and says nothing."""
    if isinstance(written, dict):
        for key, value in written.items():
            if key in read:
                yield from _lost(value, read[key], f"{place}.{key}")
            else:
                yield f"{place}.{key}"
    elif isinstance(written, list):
        for value, other in zip(written, read, strict=True):
            yield from _lost(value, other, place)
