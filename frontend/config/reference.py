"""Every setting with its variable, default and meaning, in Markdown: what docs/configuration.md has."""

import dataclasses

from frontend.config.reading import FROM_FILE, PREFIX
from frontend.config.settings import GROUPS


def reference() -> str:
    """A heading and a table for each group."""
    return "\n".join(_section(group) for group in GROUPS)


def _section(group: type) -> str:
    rows = [f"| {' | '.join(_row(item))} |\n" for item in dataclasses.fields(group)]
    return f"### {group.__doc__}\n\n| variable | default | meaning |\n|---|---|---|\n{''.join(rows)}"


def _row(item: "dataclasses.Field[object]") -> tuple[str, str, str]:
    variable = f"{PREFIX}{item.name.upper()}"
    name = f"`{variable}`"
    if item.metadata["secret"]:
        name += f", `{variable}{FROM_FILE}`"
    return name, "`(empty)`" if item.default == "" else f"`{item.default}`", str(item.metadata["help"])
