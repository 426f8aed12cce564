"""What KEDA's query answers: how many Tritons the calls of a pool fill."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.contract.chart.helm import Helm
from tests.prometheus import binary

_FRONTEND = {
    'quartet_queue_waiting{namespace="ai", model="m3_embedder", tier="free"}': 0,
    'quartet_queue_waiting{namespace="ai", model="m3_embedder", tier="bulk"}': 0,
    'quartet_queue_waiting{namespace="ai", model="m3_reranker", tier="free"}': 0,
    'quartet_in_flight_per_triton{namespace="ai", model="m3_embedder"}': 8,
    'quartet_in_flight_per_triton{namespace="ai", model="m3_reranker"}': 4,
}
_WAITING, _BULK, _, _FILL, _ = _FRONTEND
_RERANK = 'quartet_queue_waiting{namespace="ai", model="m3_reranker", tier="pro"}'
_IN_FLIGHT = 'quartet_in_flight{namespace="ai", pool="text", model="m3_embedder", tier="free"}'


@pytest.fixture(scope="module")
def query(helm: Helm) -> str:
    (pool,) = [
        manifest
        for manifest in helm.render("autoscaling.engine=keda")
        if manifest["kind"] == "ScaledObject" and manifest["metadata"]["name"].endswith("-text")
    ]
    trigger = pool["spec"]["triggers"][0]
    assert (trigger["metricType"], trigger["metadata"]["threshold"]) == ("AverageValue", "0.7")
    return str(trigger["metadata"]["query"])


@pytest.mark.parametrize(
    ("series", "filled"),
    [
        pytest.param({}, None, id="no frontend is seen"),
        pytest.param(_FRONTEND, 0, id="nobody calls"),
        pytest.param(_FRONTEND | {_WAITING: 12}, 1.5, id="calls wait"),
        pytest.param(_FRONTEND | {_WAITING: 8, _IN_FLIGHT: 8}, 2, id="calls are in flight"),
        pytest.param(_FRONTEND | {_BULK: 100}, 0, id="bulk work waits"),
        pytest.param(_FRONTEND | {_WAITING: 8, _RERANK: 4}, 2, id="two models have calls"),
        pytest.param(_FRONTEND | {_IN_FLIGHT.replace("text", "more"): 8}, 0, id="another pool has calls"),
        pytest.param(_FRONTEND | {_WAITING.replace('"ai"', '"other"'): 8}, 0, id="another namespace has calls"),
        pytest.param(dict.fromkeys(_FRONTEND, 0), 0, id="no Triton is there"),
        pytest.param(_FRONTEND | {_WAITING: 8, _FILL: 0}, 0, id="the last Triton has gone"),
    ],
)
def test_the_query_computes_how_many_tritons_the_calls_fill(
    query: str, tmp_path: Path, series: Mapping[str, int], filled: float | None
) -> None:
    samples = [] if filled is None else [{"labels": "{}", "value": filled}]
    case = {
        "interval": "1m",
        "input_series": [{"series": name, "values": f"{value}x5"} for name, value in series.items()],
        "promql_expr_test": [{"expr": query, "eval_time": "2m", "exp_samples": samples}],
    }
    (tmp_path / "test.yml").write_text(json.dumps({"evaluation_interval": "1m", "tests": [case]}), encoding="utf-8")
    command = [binary("promtool"), "test", "rules", "test.yml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
