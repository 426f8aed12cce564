"""Write Grafana's dashboard from its panels: python -m scripts.observability.dashboard"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.observability.panels import ROWS, Panel

FILE = Path(__file__).parents[2] / "docker" / "observability" / "grafana" / "dashboards" / "quartet.json"
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Of Grafana's grid, which is 24 wide.
_SIZES = {"timeseries": (8, 7), "stat": (4, 4)}
_WIDTH = 24


def dashboard() -> str:
    """The whole file."""
    whole = {
        "uid": "quartet",
        "title": "Quartet",
        "schemaVersion": 41,
        "editable": True,
        "refresh": "15s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]},
        "panels": [{"id": number, **panel} for number, panel in enumerate(_panels(), 1)],
    }
    return json.dumps(whole, indent=1) + "\n"


def _panels() -> Iterator[dict[str, Any]]:
    """Rows over all of the width, and panels from left to right below them."""
    y = 0
    for title, panels in ROWS.items():
        yield {"type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": _place(0, y, _WIDTH, 1)}
        x, y, tallest = 0, y + 1, 0
        for panel in panels:
            width, height = _SIZES[panel.kind]
            if x + width > _WIDTH:
                x, y, tallest = 0, y + tallest, 0
            yield _panel(panel, _place(x, y, width, height))
            x, tallest = x + width, max(tallest, height)
        y += tallest


def _place(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}


def _panel(panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    return {
        "type": panel.kind,
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + number), "datasource": _SOURCE, "expr": query, "legendFormat": legend}
            for number, (legend, query) in enumerate(panel.queries.items())
        ],
    }


if __name__ == "__main__":
    FILE.write_text(dashboard(), encoding="utf-8")
