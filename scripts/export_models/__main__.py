"""Fill the model repository.

    python -m scripts.export_models --source demo
    python -m scripts.export_models --source folder --folder /models --precision int8
    python -m scripts.export_models --source hub --whisper-compute-type int8

Each export ends with a parity table; the exit code is not zero when a check failed.
"""

import argparse
import logging
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from scripts.export_models import sources, stamp
from scripts.export_models.parity import Check, table

if TYPE_CHECKING:
    from scripts.export_models.export_text import Choice

_VOICE_PREFIX = "piper_"
MODELS = ("m3_embedder", "m3_reranker", "whisper_turbo", "whisper_large_v3") + tuple(
    f"{_VOICE_PREFIX}{voice}" for voice in sources.VOICE_FILES
)


@dataclass(frozen=True)
class Options:
    source: str
    folder: Path | None
    repository: Path
    work: Path
    precision: "Choice"
    whisper_compute_type: str
    only: tuple[str, ...]


def _source(options: Options) -> sources.Source:
    if options.source == "hub":
        return sources.HubSource(options.work / "hub")
    if options.source == "folder":
        if options.folder is None:
            raise sources.SourceError("--source folder needs --folder")
        return sources.FolderSource(options.folder)
    return sources.DemoSource(options.work / "demo")


def _steps(options: Options) -> dict[str, Callable[[], list[Check]]]:
    """Model name to the work that exports it; heavy imports wait until a step runs."""
    source = _source(options)
    target = options.repository

    def text(name: str) -> list[Check]:
        from scripts.export_models import export_text

        embeds = name == "m3_embedder"
        export = export_text.export_embedder if embeds else export_text.export_reranker
        folder = source.fetch(sources.EMBEDDER if embeds else sources.RERANKER)
        return export(folder, target / name / "1", options.precision)

    def whisper(name: str) -> list[Check]:
        from scripts.export_models import export_whisper

        checkpoint = sources.WHISPER_TURBO if name == "whisper_turbo" else sources.WHISPER_LARGE
        folder = target / name / "1"
        return export_whisper.export_whisper(name, source.fetch(checkpoint), folder, options.whisper_compute_type)

    fetched_voices: list[Path] = []

    def voice(name: str) -> list[Check]:
        from scripts.export_models import export_piper

        if not fetched_voices:
            fetched_voices.append(source.fetch(sources.VOICES))
        file = fetched_voices[0] / f"{sources.VOICE_FILES[name.removeprefix(_VOICE_PREFIX)]}.onnx"
        return export_piper.export_piper(name, file, target / name)

    steps: dict[str, Callable[[], list[Check]]] = {}
    for name in options.only or MODELS:
        work = voice if name.startswith(_VOICE_PREFIX) else whisper if name.startswith("whisper") else text
        steps[name] = lambda work=work, name=name: work(name)  # type: ignore[misc]
    return steps


def _parse(arguments: list[str]) -> Options:
    parser = argparse.ArgumentParser(description="Export models into the Triton model repository.")
    parser.add_argument("--source", choices=("demo", "hub", "folder"), default="demo")
    parser.add_argument("--folder", type=Path, help="checkpoints on disk, laid out as on the hub")
    parser.add_argument("--repository", type=Path, default=Path("model_repository"))
    parser.add_argument("--work", type=Path, default=Path("build/export"), help="downloads and intermediate files")
    parser.add_argument(
        "--precision", choices=("auto", "int8", "fp32", "fp16"), default="auto", help="of the text models"
    )
    parser.add_argument("--whisper-compute-type", default=None, help="CTranslate2's: float32, int8, float16, ...")
    parser.add_argument("--only", choices=MODELS, action="append", default=[], metavar="MODEL")
    parser.add_argument("--force", action="store_true", help="export again what is there already")
    given = parser.parse_args(arguments)
    compute_type = given.whisper_compute_type or _compute_type(given.source, given.precision)
    options = Options(
        given.source, given.folder, given.repository, given.work, given.precision, compute_type, tuple(given.only)
    )
    if given.force:
        stamp.forget(options.repository)
    return options


def _compute_type(source: str, precision: "Choice") -> str:
    """What Whisper is exported in where nobody says: int8 is made for processors, fp16 for CUDA."""
    if source == "demo":
        return "float32"
    return "float16" if precision == "fp16" else "int8"


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    wanted = stamp.fingerprint(options.source, options.folder, options.precision, options.whisper_compute_type)
    missing = [name for name in options.only or MODELS if stamp.read(options.repository, name) != wanted]
    if not missing:
        return 0
    # transformers and the converter tell of their own affairs; the parity table is what counts here.
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    started = time.monotonic()
    checks: list[Check] = []
    try:
        steps = _steps(options)
        for name in (bar := tqdm(missing, desc=f"exporting {options.source} models", unit="model", file=sys.stderr)):
            bar.set_postfix_str(name)
            stamp.remove(options.repository, name)
            found = steps[name]()
            checks += found
            if all(check.passed for check in found):
                stamp.write(options.repository, name, wanted)
    except sources.SourceError as error:
        print(f"export stopped: {error}", file=sys.stderr)
        return 2
    print(table(checks))
    print(f"{len(missing)} models in {time.monotonic() - started:.0f} s, {shutil.disk_usage('.').free >> 30} GiB free")
    return 0 if all(check.passed for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
