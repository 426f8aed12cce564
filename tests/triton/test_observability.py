"""Every query of rules and dashboards, on a real Prometheus that scrapes the running product under load."""

import asyncio
import json
import re
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
import uvloop
import yaml

from frontend.config.reading import PREFIX
from scripts.run.stack import Stack
from tests.conftest import KEY, bearer
from tests.frontends import prepare, running
from tests.prometheus import OBSERVABILITY, RULES, Prometheus, binary, scraping
from tests.redis import RedisServer

pytestmark = pytest.mark.triton

_RULES = [rule for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]]
_DASHBOARD = json.loads((OBSERVABILITY / "grafana" / "dashboards" / "quartet.json").read_text(encoding="utf-8"))
_PANELS = [panel for panel in _DASHBOARD["panels"] if "targets" in panel]
_QUERIES = [
    *((rule["record"], rule["expr"]) for rule in _RULES if "record" in rule),
    *((panel["title"], target["expr"]) for panel in _PANELS for target in panel["targets"]),
]
# Triton has the metrics of GPUs, nv_gpu_, only on a machine with one.
_METRIC = re.compile(r"\b(?:quartet_\w+|nv_(?!gpu_)\w+)")
# Long enough for what callers do, and for a rate of it.
_MOST_SECONDS = 30
_TEXT = "Good morning, Anna."


async def _work(address: str, key: str) -> None:
    """A little of everything that callers do, right and wrong; ``address`` is with its /v1."""
    async with aiohttp.ClientSession(headers=bearer(key)) as session:
        wav = await _ask(session, f"{address}/audio/speech", json={"input": _TEXT, "voice": "amy"})
        form = aiohttp.FormData({"response_format": "json"})
        form.add_field("file", wav, filename="a.wav")
        texts = [_TEXT] * 8
        await asyncio.gather(
            _ask(session, f"{address}/audio/speech", json={"input": _TEXT, "voice": "paola", "response_format": "mp3"}),
            _ask(session, f"{address}/audio/transcriptions", data=form),
            _ask(session, f"{address}/embeddings", json={"input": texts}),
            _ask(session, f"{address}/rerank", json={"query": _TEXT, "documents": texts}),
            _ask(session, f"{address}/audio/speech", json={"input": "x" * 5001, "voice": "amy"}),
            _ask(session, f"{address}/models", headers=bearer("wrong")),
        )


async def _ask(session: aiohttp.ClientSession, url: str, **request: Any) -> bytes:
    call = session.post if set(request) & {"json", "data"} else session.get
    async with call(url, **request) as answer:
        return await answer.read()


@pytest.fixture(scope="module")
def prometheus(
    stack: Stack, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    """Under load, over the product, its Triton, and a frontend that has a Redis."""
    folder, over = tmp_path_factory.mktemp("prometheus"), threading.Event()
    environ = prepare(folder, REDIS=redis_server.url)

    def load(address: str, key: str) -> None:
        while not over.wait(2):
            uvloop.run(_work(f"{address}/v1", key))

    with running(environ) as other:
        frontends = [urlsplit(address).netloc for address in (stack.url, other.address)]
        triton = urlsplit(stack.addresses[f"{PREFIX}TRITON_METRICS"]).netloc
        with scraping(folder, {"quartet-frontend": frontends, "quartet-triton": [triton]}) as scraped:
            callers = [
                threading.Thread(target=load, args=pair) for pair in ((stack.url, stack.api_key), (other.address, KEY))
            ]
            for caller in callers:
                caller.start()
            yield scraped
            over.set()
            for caller in callers:
                caller.join()


def test_every_query_has_data(prometheus: Prometheus) -> None:
    deadline = time.monotonic() + _MOST_SECONDS
    lacking = queries = {title: query for title, query in _QUERIES if "nv_gpu_" not in query}
    while lacking and time.monotonic() < deadline:
        time.sleep(0.5)
        lacking = {title: query for title, query in queries.items() if not _has_data(prometheus, query)}
    assert lacking == {}


def _has_data(prometheus: Prometheus, query: str) -> bool:
    return any(value == value for _, value in prometheus.ask(query))


def test_every_alert_reads_metrics_that_there_are(prometheus: Prometheus) -> None:
    names = {name for rule in _RULES for name in _METRIC.findall(rule["expr"])}
    assert {name for name in names if not prometheus.ask(f"count({name})")} == set()


def test_no_alert_fires_for_a_healthy_product(prometheus: Prometheus) -> None:
    assert {labels["alertname"] for labels, _ in prometheus.ask('ALERTS{alertstate="firing"}')} == set()


def test_the_workers_of_the_rules_are_those_of_the_metrics(prometheus: Prometheus) -> None:
    deadline = time.monotonic() + _MOST_SECONDS
    # A busy frontend may miss a scrape, of which the rule hears a moment later.
    own = '{pool=~"audio|text|threads"}'
    while (summed := _by_pool(prometheus, f"quartet:pool_bound:sum{own}")) != (
        workers := _by_pool(prometheus, f"sum by (pool) (quartet_in_flight_bound{own})")
    ) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert summed == workers


def _by_pool(prometheus: Prometheus, query: str) -> dict[str, float]:
    return {labels["pool"]: value for labels, value in prometheus.ask(query)}


def test_alerts_and_rules_do_what_their_tests_say() -> None:
    command = [binary("promtool"), "test", "rules", "rules_test.yml"]
    done = subprocess.run(command, cwd=OBSERVABILITY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_alert_has_a_test() -> None:
    tests = yaml.safe_load((OBSERVABILITY / "rules_test.yml").read_text(encoding="utf-8"))["tests"]
    fired = {case["alertname"] for test in tests for case in test.get("alert_rule_test", []) if case["exp_alerts"]}
    assert fired == {rule["alert"] for rule in _RULES if "alert" in rule}


def test_metrics_pass_promtool(stack: Stack) -> None:
    with urllib.request.urlopen(f"{stack.url}/metrics", timeout=10) as answer:
        text = answer.read()
    done = subprocess.run([binary("promtool"), "check", "metrics"], input=text, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
