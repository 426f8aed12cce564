"""What the files of a Whisper say of it, in the layout of the hub or of CTranslate2.

Only the standard library is needed, because preflight runs before anything is installed.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.export_models.checkpoints import CTRANSLATE2, read_json

# OpenAI's rule: a Whisper of several languages has so many tokens at least.
_SEVERAL_LANGUAGES = 51_865
# By this token, CTranslate2 knows a Whisper of several languages.
_EMPTY = ""


def is_english_only(source: Path) -> bool:
    """Whether a Whisper has learned English alone, as ``whisper-base.en`` has."""
    if (source / CTRANSLATE2).is_file():
        return _EMPTY not in ctranslate_tokens(source)
    several = read_json(source / "generation_config.json").get("is_multilingual")
    if several is None:
        several = read_json(source / "config.json").get("vocab_size", _SEVERAL_LANGUAGES) >= _SEVERAL_LANGUAGES
    return not several


def ctranslate_tokens(source: Path) -> list[str]:
    """The vocabulary of a Whisper that CTranslate2 has converted."""
    if (path := source / "vocabulary.txt").is_file():
        # The end of the last line is no token.
        return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    tokens: list[str] = json.loads((source / "vocabulary.json").read_text(encoding="utf-8"))
    return tokens


def alignment_heads(config: Mapping[str, Any], generation: Mapping[str, Any]) -> list[list[int]]:
    """The heads that place words in time, as pairs of layer and head.

    Without any, those of the later half of the layers, as in OpenAI's Whisper. Some distilled ones name heads of their
    teacher, which has more layers.
    """
    layers, heads = config["decoder_layers"], config["decoder_attention_heads"]
    named = [list(pair) for pair in generation.get("alignment_heads") or ()]
    if named and all(layer < layers and head < heads for layer, head in named):
        return named
    return [[layer, head] for layer in range(layers // 2, layers) for head in range(heads)]
