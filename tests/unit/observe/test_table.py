from frontend.observe.metrics import GROUPS
from frontend.observe.table import LABELS

_ROWS = [row for group in GROUPS for row in group.rows]


def test_every_label_is_explained_and_every_explained_one_is_used() -> None:
    assert {label for row in _ROWS for label in row.labels} == LABELS.keys()


def test_names_are_quartets_and_end_as_prometheus_has_it() -> None:
    assert all(row.name.startswith("quartet_") for row in _ROWS)
    assert [row.name for row in _ROWS if (row.type == "counter") != row.name.endswith("_total")] == []
    assert [row.name for row in _ROWS if row.unit in ("seconds", "bytes") and row.unit not in row.name] == []
