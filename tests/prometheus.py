"""Debian's Prometheus with the published rules, for servers on this machine."""

import json
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from scripts.local_triton.checks import free_port
from tests import tools
from tests.conftest import ROOT
from tests.tools import needed

OBSERVABILITY = ROOT / "docker" / "observability"
RULES = OBSERVABILITY / "rules.yml"
_START_SECONDS = 20


def binary(name: str) -> str:
    """The path of ``prometheus`` or ``promtool``; a test without it is skipped."""
    return needed(tools.prometheus(name), f"{name} (Prometheus)")


class Prometheus:
    """A running Prometheus that scrapes every second."""

    def __init__(self, url: str) -> None:
        self.url = url

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=2):
                return True
        except OSError:
            return False

    def ask(self, query: str) -> list[tuple[Mapping[str, str], float]]:
        """The labels and values of the series that a query returns now."""
        question = urllib.parse.urlencode({"query": query.replace("$__rate_interval", "10s")})
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{question}", timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        return [(series["metric"], float(series["value"][1])) for series in found]


@contextmanager
def scraping(folder: Path, targets: Mapping[str, Sequence[str]]) -> Iterator[Prometheus]:
    """Run a Prometheus that scrapes the ``host:port``s of each job and evaluates every rule each second."""
    jobs = [{"job_name": job, "static_configs": [{"targets": list(addresses)}]} for job, addresses in targets.items()]
    every = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config = {"global": every, "rule_files": [str(RULES)], "scrape_configs": jobs}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    address = f"127.0.0.1:{free_port()}"
    arguments = {"config.file": folder / "prometheus.yml", "storage.tsdb.path": folder, "web.listen-address": address}
    command = [binary("prometheus"), *(f"--{name}={value}" for name, value in arguments.items())]
    with (
        (folder / "prometheus.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT) as process,
    ):
        try:
            running, deadline = Prometheus(f"http://{address}"), time.monotonic() + _START_SECONDS
            while not running.answers():
                assert process.poll() is None, (folder / "prometheus.log").read_text(encoding="utf-8")
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield running
        finally:
            process.terminate()
