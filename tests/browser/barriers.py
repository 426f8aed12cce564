"""Violations of accessibility rules, as axe-core finds them: in light and dark, on a desk and on a phone."""

from importlib.resources import files
from typing import Any

from playwright.async_api import Page

_AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
# Rules whose result can differ in the dark, and on a phone.
_COLOURS = ["color-contrast"]
_ROOM = [*_COLOURS, "scrollable-region-focusable", "target-size", "meta-viewport"]


async def barriers(page: Page) -> list[tuple[str, str, list[str]]]:
    """The look, the rule and the elements of each violation; ``overflow`` if something is wider than the window."""
    await page.evaluate(_AXE)
    found = []
    for look, width, scheme, rules in (
        ("light", 1200, "light", None),
        ("dark", 1200, "dark", _COLOURS),
        ("phone", 390, "light", _ROOM),
    ):
        await page.set_viewport_size({"width": width, "height": 800})
        await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
        answer: Any = await page.evaluate("options => axe.run(options)", options)
        found += [(look, each["id"], [node["html"] for node in each["nodes"]]) for each in answer["violations"]]
        if not await page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            found.append((look, "overflow", []))
    await page.set_viewport_size({"width": 1200, "height": 800})
    return found
