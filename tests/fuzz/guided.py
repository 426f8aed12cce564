"""Let atheris, which follows what code an input reaches, look for bytes that a parser does not stand.

    python -m tests.fuzz.guided json_bodies --seconds 60 --seed 3
    python -m tests.fuzz.guided json_bodies build/fuzz/json_bodies-crash-0123    # once more

It exits with a status other than 0 if it finds some, which it writes to ``build/fuzz``.
"""

import argparse
import sys
from pathlib import Path

import atheris

# Only what is imported here is followed.
with atheris.instrument_imports(include=["frontend", "multipart", "jwt"], enable_loader_override=False):
    from tests.fuzz.parsers import TARGETS

from tests.fuzz.corpus import corpus

_FOLDER = Path("build/fuzz")
_LONGEST = 4096
# One input in hundreds of milliseconds is as bad as one that fails.
_SECONDS_EACH = 5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided")
    parser.add_argument("target", choices=list(TARGETS))
    parser.add_argument("file", nargs="?", help="bytes to read once")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    words = [sys.argv[0], f"-max_len={_LONGEST}", f"-timeout={_SECONDS_EACH}", f"-seed={options.seed}", "-verbosity=0"]
    words += [
        f"-max_total_time={options.seconds}",
        f"-artifact_prefix={_FOLDER / options.target}-",
        "-print_final_stats=1",
    ]
    if options.file:
        words.append(options.file)
    else:
        folder = _FOLDER / options.target
        folder.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(corpus()[options.target]):
            (folder / f"{number}").write_bytes(data[:_LONGEST])
        words.append(str(folder))
    atheris.Setup(words, TARGETS[options.target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
