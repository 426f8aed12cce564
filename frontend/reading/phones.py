"""Writes out telephone numbers, group by group."""

import re

from frontend.reading.languages import language

# A number that begins with + or 0 and has several groups, or two long ones; or an American one.
_NUMBER = re.compile(
    r"(?<![\w.,/+-])(?:(?:\+|00)[1-9]\d{0,2}(?:[ .-]?\(0\))?(?:[ ./-]?\(?\d{1,7}\)?){1,2}(?:[ ./-]\d{1,7}){1,5}"
    r"|\(?0\d{1,4}\)?(?:[ ./-]\d{2,4}){2,5}|\(?0\d{2,4}\)?[ /-]\d{5,8})(?![\w-]|[.,]\d)"
)
_AMERICAN = re.compile(
    r"(?<![\w.,/+-])(?:(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[.-]\d{4}|\d{3}-\d{4})(?![\w-]|[.,]\d)"
)
_EMERGENCY = re.compile(r"(?<=\b[Cc]all |\b[Dd]ial )[1-9]\d\d(?!\s?[\w$€%-])")
_GROUP = re.compile(r"\+|\d+")


def written_out(text: str, code: str) -> str:
    """The text with telephone numbers as digits; the French say groups as numbers."""
    if (spoken := language(code)) is None:
        return text
    signs: dict[str, str] = spoken.tables["signs"]

    def said(match: re.Match[str]) -> str:
        groups: list[str] = _GROUP.findall(match[0].replace("(0)", " "))
        begins_with_plus = groups[0] == "+"
        if code != "fr":
            groups = [" ".join(group).replace("0", signs["zero"]) for group in groups]
        groups = groups[1:] if begins_with_plus else groups
        return f"{signs['plus']} " * begins_with_plus + ", ".join(groups)

    if code == "en":
        text = _AMERICAN.sub(said, text)
        text = _EMERGENCY.sub(lambda match: " ".join(match[0]), text)
    return _NUMBER.sub(said, text)
