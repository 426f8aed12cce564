"""What 'make docs' builds, as far as no generator is needed to know it."""

import json
import re
from pathlib import Path

import pytest

from scripts import manual
from tests.conftest import ROOT

CONFIG = manual.CONFIG.read_text(encoding="utf-8")
TABS = """One:

```bash
curl x
```

```python
a

b
```

Two:

```bash
one
```

```bash
other
```
"""


def test_the_manual_lists_every_page_once_after_the_front_page() -> None:
    own = ["README.md", "CHANGELOG.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
    lab = [f"lab/{path.name}" for path in (ROOT / "lab").glob("*.md")]
    others = ["docker/README.md", "model_repository/README.md", *lab]
    assert sorted(manual.pages()) == sorted([*own, *others])
    assert manual.pages()[0] == "README.md"
    assert [page for page in manual.pages() if not (ROOT / page).is_file()] == []


def test_the_pages_for_callers_come_first_and_those_for_developers_last() -> None:
    groups = re.findall(r"^  - ([\w ]+):\n      - (\S+)$", CONFIG, re.MULTILINE)
    assert groups == [
        ("Call it", "docs/start.md"),
        ("Run it", "docs/docker.md"),
        ("Tune it", "docs/tuning.md"),
        ("Understand it", "docs/architecture.md"),
    ]


def test_nothing_of_the_manual_comes_from_another_host() -> None:
    assert "://" not in CONFIG
    assert "\n  font: false\n" in CONFIG
    # Without it, the generator adds one from another host.
    (script,) = re.findall(r"polyfills: \[(.*iframe-worker.*)\]", CONFIG)
    assert (ROOT / script).is_file()
    theme = [path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "theme").iterdir()]
    assert [text for text in theme if re.search(r"https?://(?!.*squidfunk)", text)] == []


def test_neighbouring_samples_in_several_languages_become_tabs() -> None:
    first, second = manual.with_tabs(TABS).split("Two:\n")
    assert first == (
        'One:\n\n=== "curl"\n\n    ```bash\n    curl x\n    ```\n\n'
        '=== "Python"\n\n    ```python\n    a\n\n    b\n    ```\n\n'
    )
    assert second == TABS.split("Two:\n")[1]


def test_the_first_calls_have_tabs_for_each_of_the_four_operations() -> None:
    text = manual.with_tabs((ROOT / "docs" / "start.md").read_text(encoding="utf-8"))
    assert [text.count(f'=== "{name}"') for name in ("curl", "Python", "Node")] == [4, 4, 4]


@pytest.mark.parametrize(
    ("link", "becomes"),
    [
        ("[a](b.md#c)", "[a](b.md#c)"),
        ("[a](pictures/x.svg)", "[a](pictures/x.svg)"),
        ("[a](https://example.com/b)", "[a](https://example.com/b)"),
        ("[the proxy](../docker/proxy/Caddyfile)", "the proxy (`docker/proxy/Caddyfile`)"),
        ("[docker/proxy](../docker/proxy)", "`docker/proxy`"),
        ("![a](x.png)", "![a](x.png)"),
        ("[broken](nothing.md)", "[broken](nothing.md)"),
    ],
)
def test_a_link_to_a_file_that_is_not_in_the_manual_becomes_its_name(link: str, becomes: str) -> None:
    assert manual.with_own_links("docs/page.md", link, ["docs/b.md"]) == becomes


def test_the_versions_in_a_folder_are_listed_and_the_newest_is_opened(tmp_path: Path) -> None:
    for name in ("1.9.0", "1.10.0", "0.1.0", "assets"):
        (tmp_path / name).mkdir()
    assert manual.list_versions(tmp_path) == ["1.10.0", "1.9.0", "0.1.0"]
    listed = json.loads((tmp_path / "versions.json").read_text(encoding="utf-8"))
    assert [(each["version"], each["aliases"]) for each in listed] == [
        ("1.10.0", ["latest"]),
        ("1.9.0", []),
        ("0.1.0", []),
    ]
    assert "url=1.10.0/index.html" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_all_pages_are_staged_where_their_links_lead(tmp_path: Path) -> None:
    manual.stage(tmp_path / "pages")
    staged = {path.relative_to(tmp_path / "pages") for path in (tmp_path / "pages").rglob("*.md")}
    assert staged == {Path(page) for page in manual.pages()}
    assert (tmp_path / "pages" / "docs" / "pictures" / "parts.svg").is_file()
