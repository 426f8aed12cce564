"""Everyday voice-message sentences of a stated vocabulary, in four languages.

    python -m scripts.export_models.demo.sentences --language de --seed 7 --count 20
    python -m scripts.export_models.demo.sentences --language de --vocabulary

The demo Whisper is trained on seeds below ``FIRST_UNSEEN_SEED`` alone, so any other seed gives sentences
that it never heard. The grammars lie beside this file, one TOML file a language.
"""

import argparse
import random
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = ("en", "de", "fr", "it")
FIRST_UNSEEN_SEED = 1_000_000

_SLOT = re.compile(r"\{(\w+)\}")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*'?")


@dataclass(frozen=True)
class Grammar:
    """Templates whose ``{slots}`` are filled from lists of phrases."""

    language: str
    templates: tuple[str, ...]
    slots: dict[str, tuple[str, ...]]

    def sentence(self, rng: random.Random) -> str:
        """Draw one sentence; two slots of a kind in one sentence get different phrases."""
        used: set[str] = set()

        def fill(match: re.Match[str]) -> str:
            phrases = self.slots[match[1]]
            fresh = [phrase for phrase in phrases if phrase not in used]
            choice = rng.choice(fresh if match[1] != "digit" else phrases)
            used.add(choice)
            return choice

        text = _SLOT.sub(fill, rng.choice(self.templates))
        return text[0].upper() + text[1:]

    def variation(self, rng: random.Random) -> str:
        """A sentence that no template gives: words beside other words, so that a model learns to hear them."""
        if rng.random() < 0.5:
            return self._addressed(rng)
        phrases = [rng.choice(self.slots[rng.choice(list(self.slots))]) for _ in range(rng.randint(2, 4))]
        text = rng.choice([" ", " ", ", "]).join(phrases)
        return text[0].upper() + text[1:] + rng.choice("..?!")

    def _addressed(self, rng: random.Random) -> str:
        """A greeting and a name before a sentence that begins with a word of its template."""
        template = rng.choice([t for t in self.templates if t[0] != "{" and not t.startswith("I ")])
        rest = Grammar(self.language, (template,), self.slots).sentence(rng)
        opening = f"{rng.choice(self.slots['greeting'])} {rng.choice(self.slots['name'])}"
        return f"{opening}, {rest[0].lower()}{rest[1:]}"

    def vocabulary(self) -> list[str]:
        """Every word the grammar can say, lower case, sorted."""
        texts = [_SLOT.sub(" ", template) for template in self.templates]
        texts += [phrase for phrases in self.slots.values() for phrase in phrases]
        return sorted({word for text in texts for word in words(text)})


def words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation: what word error is counted on."""
    return _WORD.findall(text.lower())


def load_grammar(language: str) -> Grammar:
    """Read the grammar of one of ``LANGUAGES``; ``KeyError`` for any other."""
    if language not in LANGUAGES:
        raise KeyError(language)
    path = Path(__file__).parent / "grammar" / f"{language}.toml"
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    slots = {name: tuple(phrases) for name, phrases in table["slots"].items()}
    return Grammar(language, tuple(table["templates"]), slots)


def sentences(language: str, seed: int, count: int) -> Iterator[str]:
    """``count`` sentences that depend on language and seed alone."""
    grammar = load_grammar(language)
    rng = random.Random(f"{language}:{seed}")
    for _ in range(count):
        yield grammar.sentence(rng)


def main() -> None:
    parser = argparse.ArgumentParser(description="Print sentences of the demo vocabulary.")
    parser.add_argument("--language", choices=LANGUAGES, required=True)
    parser.add_argument("--seed", type=int, default=FIRST_UNSEEN_SEED)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--vocabulary", action="store_true", help="print the words instead")
    arguments = parser.parse_args()
    if arguments.vocabulary:
        lines: Iterator[str] = iter(load_grammar(arguments.language).vocabulary())
    else:
        lines = sentences(arguments.language, arguments.seed, arguments.count)
    for line in lines:
        print(line)


if __name__ == "__main__":
    main()
