"""What an operator edits in the files of models."""

import re

# By model and pattern: threads, instances, batch and delay of a text model, instances of a voice, the beam of Whisper.
EDITS = {
    "m3_embedder": {
        r'"auto"': '"1"',
        r"count: 2": "count: 1",
        r"max_batch_size: 32": "max_batch_size: 5",
        r"microseconds: 2000": "microseconds: 0",
    },
    "piper_ryan": {r"\{ kind": "{ count: 3 kind"},
    "whisper_turbo": {r'(beam_size" value \{ string_value: )"2"': r'\1"1"'},
}


def edited(text: str, edits: dict[str, str]) -> str:
    """The text after each edit, whose pattern it has once."""
    for pattern, value in edits.items():
        text, found = re.subn(pattern, value, text)
        assert found == 1, pattern
    return text
