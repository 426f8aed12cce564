"""Run the product under load, and show what is seen of it: python -m lab.observed

Writes each panel's query and what it answered into docs/observability.md, and Prometheus' own page to
docs/prometheus.png.
"""

import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import uvloop

from frontend.catalogue.endpoints import LIMITS
from frontend.config.reading import CONFIG_FILE, PREFIX
from scripts.local_triton.checks import free_port
from scripts.observability.panels import ROWS
from scripts.run.stack import Stack
from tests.conftest import ROOT
from tests.prometheus import Prometheus, scraping
from tests.redis import RedisServer
from tests.triton.load import work

_PAGE, _PICTURE = ROOT / "docs" / "observability.md", ROOT / "docs" / "prometheus.png"
_TABLE = re.compile(r"(?<=<!-- measured -->\n).*(?=<!-- end -->)", re.DOTALL)
_SECONDS = 90
_SHOWN = ("quartet:pool_demand:ratio", "quartet:requests:rate5m", "quartet:request_seconds:p95_5m")
_MOST_VALUES = 3
_PATIENCE = 20


def _table(prometheus: Prometheus) -> Iterator[str]:
    yield "| row | panel | query | series | of them |\n|---|---|---|---|---|"
    for row, panels in ROWS.items():
        for panel in panels:
            for query in panel.queries.values():
                answer = sorted(_answer(prometheus, query), key=lambda pair: -pair[1])
                told = "; ".join(_told(*pair) for pair in answer[:_MOST_VALUES])
                escaped = query.replace("|", "\\|")
                yield f"| {row} | {panel.title} | `{escaped}` | {len(answer)} | {told} |"


def _answer(prometheus: Prometheus, query: str) -> list[tuple[Mapping[str, str], float]]:
    """With patience: a machine that is busy with the load misses a scrape now and then."""
    for _ in range(_PATIENCE):
        if found := prometheus.ask(query):
            return found
        time.sleep(1)
    return []


def _told(labels: Mapping[str, str], value: float) -> str:
    shown = {**labels, "instance": "a frontend"} if "instance" in labels else labels
    names = ", ".join(shown[name] for name in sorted(shown) if name != "__name__")
    return f"{names} {value:.3g}".strip()


def _photograph(prometheus: Prometheus) -> None:
    questions = [(f"g{n}.{name}", text) for n, query in enumerate(_SHOWN) for name, text in _graph(query)]
    address = f"{prometheus.url}/graph?{urllib.parse.urlencode(questions)}"
    command = [shutil.which("chromium") or "chromium", "--headless", "--no-sandbox", "--hide-scrollbars"]
    options = [f"--screenshot={_PICTURE}", "--window-size=1200,2100", "--virtual-time-budget=15000", address]
    subprocess.run([*command, *options], check=True, capture_output=True, timeout=120)


def _graph(query: str) -> tuple[tuple[str, str], ...]:
    return ("expr", query), ("tab", "0"), ("range_input", "2m"), ("stacked", "0")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="quartet-observed-") as name:
        folder = Path(name)
        redis = RedisServer(folder)
        redis.start()
        limits = "\n".join(f"{limit} = 1_000_000" for limit in LIMITS)
        (folder / "quartet.toml").write_text(f"wrong_keys_a_minute = 0\n[limits]\n{limits}\n", encoding="utf-8")
        own = {CONFIG_FILE: f"{folder}/quartet.toml", f"{PREFIX}REDIS": redis.url}
        stack = Stack(free_port(), {**os.environ, **own}, work=folder)
        try:
            stack.start()
            targets = {
                "quartet-frontend": [urlsplit(stack.url).netloc],
                "quartet-triton": [urlsplit(stack.addresses[f"{PREFIX}TRITON_METRICS"]).netloc],
            }
            with scraping(folder, targets) as prometheus:
                _under_load(stack, prometheus)
        finally:
            stack.stop()
            redis.kill()


def _under_load(stack: Stack, prometheus: Prometheus) -> None:
    over = time.monotonic() + _SECONDS

    def load() -> None:
        while time.monotonic() < over:
            uvloop.run(work(f"{stack.url}/v1", stack.api_key, rounds=1))

    caller = threading.Thread(target=load)
    caller.start()
    time.sleep(_SECONDS / 2)
    table = "\n".join(_table(prometheus))
    text = _PAGE.read_text(encoding="utf-8")
    _PAGE.write_text(_TABLE.sub(lambda _: f"\n{table}\n\n", text), encoding="utf-8")
    _photograph(prometheus)
    caller.join()
    print(table)


if __name__ == "__main__":
    main()
