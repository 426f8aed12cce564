"""Generates the parts of the documents that come from the code: ``make documents``."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from frontend.catalogue.extensions import EXTENSIONS
from frontend.config.fields import Fields
from frontend.config.reading import FROM_FILE, PREFIX
from frontend.config.settings import Settings
from frontend.extensions import metrics as extensions
from frontend.observe import metrics
from frontend.observe.table import LABELS, Row
from frontend.pages.docs import guide
from scripts import dependencies
from scripts.benchmark.common.output import head, line

_ROOT = Path(__file__).parents[1]
# Headings, by the first setting below each.
_HEADINGS = {
    "host": "Server",
    "database": "Database, charges and Redis",
    "cors_origins": "Who may call",
    "triton": "Models and Tritons",
    "request_seconds": "Requests and queues",
    "audio_workers": "Audio and text in this process",
    "chat_upstream": "Chat",
    "log_level": "Logs and traces",
}
_SETTING_COLUMNS = ("variable", "default", "meaning")
_METRIC_COLUMNS = ("metric", "type", "unit", "labels", "meaning")


def _section(title: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join((title, "", head(names), *map(line, rows), ""))


def _settings() -> str:
    """A table for the settings of each heading."""
    lines: list[str] = []
    for item in dataclasses.fields(Fields):
        if heading := _HEADINGS.get(item.name):
            lines += ["", f"### {heading}", "", head(_SETTING_COLUMNS)]
        lines.append(line(_setting(item)))
    return "\n".join([*lines[1:], ""])


def _setting(item: "dataclasses.Field[object]") -> Sequence[str]:
    variable = f"{PREFIX}{item.name.upper()}"
    name = f"`{variable}`, `{variable}{FROM_FILE}`" if item.metadata["secret"] else f"`{variable}`"
    return name, "`(empty)`" if item.default == "" else f"`{item.default}`", item.metadata["description"]


def _alerts() -> str:
    """A table of the alerts, with what each asks of its reader."""
    rules = yaml.safe_load((_ROOT / "docker" / "observability" / "rules.yml").read_text(encoding="utf-8"))
    alerts = [rule for group in rules["groups"] for rule in group["rules"] if "alert" in rule]
    return _section("## Alerts", ("alert", "severity", "fires if", "do"), map(_alert, alerts))


def _alert(rule: Mapping[str, Any]) -> Sequence[str]:
    condition = " ".join(rule["expr"].split()).replace("|", "\\|")
    lasting = f", for {rule['for']}" if "for" in rule else ""
    return rule["alert"], rule["labels"]["severity"], f"`{condition}`{lasting}", rule["annotations"]["description"]


def _metrics() -> str:
    """A table of alerts, one for each group of metrics, and one for the labels."""
    parts, groups = [_alerts()], [*metrics.GROUPS, extensions.GROUP]
    parts += [_section(f"## {group.title}", _METRIC_COLUMNS, map(_metric, group.rows)) for group in groups]
    labels = [(f"`{label}`", values) for label, values in sorted(LABELS.items())]
    return "\n".join([*parts, _section("## Labels", ("label", "values"), labels)])


def _metric(row: Row) -> Sequence[str]:
    return f"`{row.name}`", row.type, row.unit, ", ".join(f"`{label}`" for label in row.labels), row.help


def _extensions() -> str:
    return _section("## The extensions", ("name", "adds"), ((f"`{name}`", adds) for name, adds in EXTENSIONS.items()))


# Generators of the part between the marks, by document.
PARTS: Mapping[str, Callable[[], str]] = {
    "docs/api.md": lambda: guide(Settings()),
    "docs/configuration.md": _settings,
    "docs/dependencies.md": dependencies.table,
    "docs/extensions.md": _extensions,
    "docs/metrics.md": _metrics,
}
_PART = re.compile(r"(?<=<!-- from the code -->\n).*?(?=<!-- end -->)", re.DOTALL)


def written(document: str) -> tuple[str, str]:
    """The text of a document, and the text with the generated part."""
    text = (_ROOT / document).read_text(encoding="utf-8")
    made, places = _PART.subn(lambda _: f"\n{PARTS[document]()}\n", text)
    if places != 1:
        raise ValueError(f"{document} must have one generated part")
    return text, made


def main() -> None:
    for document in PARTS:
        (_ROOT / document).write_text(written(document)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
