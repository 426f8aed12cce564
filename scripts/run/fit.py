"""Threads and instances that suit this machine, in the place of the committed ones, which are for two processors.

    python -m scripts.run.fit --repository model_repository

writes ``configs/machine.pbtxt`` beside each ``config.pbtxt`` that this machine wants otherwise. Triton takes it under
``--model-config-name=machine``, and ``config.pbtxt`` where there is none. ``FIT=threads=4,voices=2`` in the environment
says numbers otherwise.
"""

import argparse
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from scripts.local_triton.checks import PreflightError
from scripts.machine import cores, memory_bytes, processors

CONFIG_NAME = "machine"
_GB = 10**9
# Most threads that speed up one window or one batch of texts.
_MOST_THREADS = 16
_MOST_VOICES = 8
_MOST_WHISPERS = 4
# Bytes of memory of one more instance of both real Whispers, and of all six real voices.
_WHISPERS_BYTES = 5 * _GB
_VOICES_BYTES = 1.4 * _GB
# Where a config.pbtxt has each number, between what stands before and behind it.
_THREADS = r'(key: "intra_threads" value { string_value: ")\d+(")'
_INSTANCES = r"(instance_group \[ { count: )\d+( )"


@dataclass(frozen=True)
class Fit:
    """``threads`` of a text or Whisper run, instances of each Whisper and voice, and the frontend's workers."""

    processors: int
    threads: int
    whispers: int
    voices: int
    audio_workers: int
    text_workers: int
    frontend_threads: int

    @classmethod
    def of(cls, processors: int, memory: int, cores: int | None = None) -> "Fit":
        """For so many processors, of which some are left to the frontend, and bytes of memory.

        ``cores`` are those that one run may use; all processors are where nothing is said.
        """
        ours = processors if processors <= 2 else processors - processors // 4
        threads = min(ours, _MOST_THREADS, cores or processors)
        # A quarter of the memory for instances beyond the first is little enough beside the models themselves.
        spare = memory / 4
        return cls(
            processors=processors,
            threads=threads,
            whispers=_within(1, ours // _MOST_THREADS, _MOST_WHISPERS, 1 + int(spare / _WHISPERS_BYTES)),
            voices=_within(min(processors, 2), processors // 2, _MOST_VOICES, int(spare / _VOICES_BYTES)),
            audio_workers=_within(2, processors // 2, 16),
            text_workers=_within(2, processors // 4, 8),
            frontend_threads=_within(2, processors // 4, 16),
        )

    def settings(self) -> dict[str, str]:
        """The frontend's settings, by field name."""
        return {
            "audio_workers": str(self.audio_workers),
            "text_workers": str(self.text_workers),
            "threads": str(self.frontend_threads),
        }

    def __str__(self) -> str:
        return (
            f"{self.processors} processors: {self.threads} threads a text or Whisper run, {self.whispers} of each "
            f"Whisper, {self.voices} of each voice, {self.audio_workers} audio workers, {self.text_workers} text "
            f"workers, {self.frontend_threads} threads in the frontend"
        )

    def write(self, repository: Path) -> None:
        """Write the files that differ from the committed ones, and delete the others."""
        for committed in sorted(repository.glob("*/config.pbtxt")):
            text = committed.read_text(encoding="utf-8")
            own = committed.parent / "configs" / f"{CONFIG_NAME}.pbtxt"
            if (fitted := self._fitted(committed.parent.name, text)) == text:
                own.unlink(missing_ok=True)
            elif not own.is_file() or own.read_text(encoding="utf-8") != fitted:
                own.parent.mkdir(exist_ok=True)
                own.write_text(fitted, encoding="utf-8")

    def _fitted(self, model: str, text: str) -> str:
        if model.startswith("piper_"):
            return _replaced(text, _INSTANCES, self.voices)
        fitted = _replaced(text, _THREADS, self.threads)
        return _replaced(fitted, _INSTANCES, self.whispers) if model.startswith("whisper_") else fitted


def _within(least: int, wanted: int, *most: int) -> int:
    return max(least, min(wanted, *most))


def _replaced(text: str, pattern: str, value: int) -> str:
    fitted, found = re.subn(pattern, rf"\g<1>{value}\g<2>", text)
    if found != 1:
        raise ValueError(f"{pattern} stands {found} times in a config.pbtxt")
    return fitted


def of_this_machine(environ: Mapping[str, str]) -> Fit:
    """For what this process may use, but for numbers that ``FIT`` says otherwise, as ``threads=4,voices=2``.

    Raises ``PreflightError`` for what is no such number.
    """
    fitted = Fit.of(processors(), memory_bytes(), cores())
    known = {each.name for each in fields(fitted)} - {"processors"}
    said: dict[str, int] = {}
    for part in environ.get("FIT", "").replace(",", " ").split():
        name, _, value = part.partition("=")
        if name not in known or not value.isdecimal() or not int(value):
            raise PreflightError(f"FIT={part}: must be like threads=4, one of {', '.join(sorted(known))}")
        said[name] = int(value)
    return replace(fitted, **said)


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the models' configurations to this machine.")
    parser.add_argument("--repository", type=Path, default=Path("model_repository"))
    repository = parser.parse_args().repository
    try:
        fit = of_this_machine(os.environ)
    except PreflightError as error:
        parser.error(str(error))
    fit.write(repository)
    print(fit)


if __name__ == "__main__":
    main()
