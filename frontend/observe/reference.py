"""Every metric with its type, unit, labels and meaning, in Markdown: what docs/metrics.md has."""

from frontend.observe.metrics import GROUPS
from frontend.observe.table import LABELS, Group


def reference() -> str:
    """A heading and a table for each group, and one for the labels."""
    labels = "".join(f"| `{label}` | {values} |\n" for label, values in sorted(LABELS.items()))
    return "\n".join([*map(_section, GROUPS), f"## Labels\n\n| label | values |\n|---|---|\n{labels}"])


def _section(group: Group) -> str:
    rows = [
        f"| `{row.name}` | {row.type} | {row.unit} | {', '.join(f'`{label}`' for label in row.labels)} | {row.help} |\n"
        for row in group.rows
    ]
    return f"## {group.title}\n\n| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n{''.join(rows)}"
