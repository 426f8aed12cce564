"""Fits threads and instances to this machine, wherever a model's ``config.pbtxt`` leaves them open.

    python -m scripts.run.fit --repository model_repository

writes ``configs/machine.pbtxt`` next to each ``config.pbtxt`` with something left open. Triton reads it with
``--model-config-name=machine``, and ``config.pbtxt`` if it is missing.

    python -m scripts.run.fit --repository /models/current --into /tmp/repository

leaves the repository alone and writes into another folder, with links to the models: containers with different
processors can share one read-only repository. ``FIT=threads=4,voices=2`` in the environment overrides numbers.
``PROCESSORS`` overrides the number of processors: on Kubernetes a pod without a limit sees those of its node.
"""

import argparse
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from frontend.catalogue.added_models import added_in
from frontend.catalogue.exports import is_exported, read_export
from frontend.catalogue.models import ADDED_PREFIX, MODELS, Added
from frontend.catalogue.voices import KOKORO, TRITON_PREFIX, VOICES
from scripts.local_triton.checks import PreflightError
from scripts.machine import cores, gpu_memory_bytes, memory_bytes, processors
from scripts.run.fit_overrides import given_processors, overrides
from scripts.run.model_configs import ConfigError, Numbers, ServedConfig

CONFIG_NAME = "machine"
_GB = 10**9
# The most threads that speed up one window or one batch of texts.
_MOST_THREADS = 16
_MOST_VOICES = 8
_MOST_WHISPERS = 4
# The most threads that speed up an utterance of Kokoro much.
_KOKORO_THREADS = 4
_MOST_KOKOROS = 4
# Bytes of memory of one more instance of both real Whispers, of Kokoro, and of a real voice.
_WHISPERS_BYTES = 5 * _GB
_KOKORO_BYTES = 1 * _GB
_VOICE_BYTES = 1.4 * _GB / len(VOICES)
# Bytes of a GPU that holds all models and both real Whispers once more: 5 GB of weights and 12 GB at work.
_TWO_WHISPERS_GPU_BYTES = 64 * _GB


@dataclass(frozen=True)
class Fit:
    """``threads`` per run of a text model or Whisper, instances of Whispers and voices, and the frontend's workers.

    ``kokoros`` are instances of Kokoro, each with up to four threads; ``voices`` are instances of each voice of Piper.
    ``gpu_whispers`` are instances of each Whisper on each GPU.
    """

    processors: int
    threads: int
    whispers: int
    gpu_whispers: int
    voices: int
    kokoros: int
    audio_workers: int
    text_workers: int
    frontend_threads: int

    @classmethod
    def of(
        cls,
        processors: int,
        memory: int,
        cores: int | None = None,
        spoken: int = len(VOICES),
        gpu_memory: int = 0,
    ) -> "Fit":
        """Fit to a number of processors, some of which are left to the frontend, and bytes of memory.

        ``cores`` (default: all processors) bounds the threads of one run; ``spoken`` is the number of voices of Piper.
        """
        ours = processors if processors <= 2 else processors - processors // 4
        threads = min(ours, _MOST_THREADS, cores or processors)
        # Additional instances may take a quarter of the memory.
        spare = memory / 4
        return cls(
            processors=processors,
            threads=threads,
            whispers=_within(1, ours // _MOST_THREADS, _MOST_WHISPERS, 1 + int(spare / _WHISPERS_BYTES)),
            gpu_whispers=2 if gpu_memory >= _TWO_WHISPERS_GPU_BYTES else 1,
            voices=_within(min(processors, 2), processors // 2, _MOST_VOICES, int(spare / (_VOICE_BYTES * spoken))),
            kokoros=_within(1, ours // _KOKORO_THREADS, _MOST_KOKOROS, int(spare / _KOKORO_BYTES)),
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
        on_gpu = f" ({self.gpu_whispers} on a GPU)" if self.gpu_whispers > 1 else ""
        return (
            f"{self.processors} processors: {self.threads} threads a text or Whisper run, {self.whispers} of each "
            f"Whisper{on_gpu}, {self.voices} of each voice, {self.kokoros} of Kokoro, "
            f"{self.audio_workers} audio workers, {self.text_workers} text workers, "
            f"{self.frontend_threads} threads in the frontend"
        )

    def numbers(self, model: str, on_gpu: bool) -> Numbers:
        """The threads and instances of a model."""
        if model.startswith(TRITON_PREFIX):
            return Numbers(instances=self.voices)
        if model == KOKORO:
            return Numbers(min(self.threads, _KOKORO_THREADS), self.kokoros)
        if model.startswith("whisper_"):
            return Numbers(self.threads, self.gpu_whispers if on_gpu else self.whispers)
        return Numbers(self.threads)

    def write(self, repository: Path) -> dict[str, str]:
        """Write a file for each model that leaves something open, delete the others; return a line by model."""
        lines = {}
        for source in sorted(repository.glob("*/config.pbtxt")):
            own = source.parent / "configs" / f"{CONFIG_NAME}.pbtxt"
            text, lines[source.parent.name] = self._filled(repository, source.parent.name, source)
            if not text:
                own.unlink(missing_ok=True)
            elif not own.is_file() or own.read_text(encoding="utf-8") != text:
                own.parent.mkdir(exist_ok=True)
                own.write_text(text, encoding="utf-8")
        return lines

    def link(self, repository: Path, folder: Path, name: str = CONFIG_NAME) -> dict[str, str]:
        """Fill ``folder`` with links to the models of ``repository``, and with configurations called ``name`` that fit.

        Return a line by model. One of ours that is not exported is left out, so that Triton starts with the others.
        """
        shutil.rmtree(folder, ignore_errors=True)
        lines = {}
        for committed in sorted(repository.glob("*/config.pbtxt")):
            model = folder / committed.parent.name
            if _is_ours(model.name) and not is_exported(repository, model.name):
                lines[model.name] = f"{model.name:<18} not exported"
                continue
            (model / "configs").mkdir(parents=True)
            for path in (*committed.parent.iterdir(), *committed.parent.glob("configs/*.pbtxt")):
                # What an earlier start wrote into a checkout is not what its config.pbtxt says now.
                if path.name not in ("configs", f"{CONFIG_NAME}.pbtxt"):
                    (model / path.relative_to(committed.parent)).symlink_to(path)
            own = model / "configs" / f"{name}.pbtxt"
            source = own.resolve() if name != CONFIG_NAME and own.exists() else committed
            text, lines[model.name] = self._filled(repository, model.name, source)
            if text:
                own.unlink(missing_ok=True)
                own.write_text(text, encoding="utf-8")
        return lines

    def _filled(self, repository: Path, model: str, source: Path) -> tuple[str, str]:
        """The text of a configuration with this machine's numbers, empty if it needs none, and its line."""
        try:
            served = ServedConfig.of(model, source, self.numbers)
        except ConfigError as error:
            # Triton refuses this model alone, in its own words.
            return "", f"{model:<18} not read: {error}"
        export = read_export(repository, model)
        measured = f" ({export.why})" if export.why else ""
        way = f", exported in {export.way}{measured}" if export.way else ""
        return served.text if served.filled else "", f"{served}{way}"


def _is_ours(model: str) -> bool:
    """Whether exports make this model; others come from the operator as they are."""
    return model in {KOKORO, *(each.triton_model for each in MODELS.values())} or model.startswith(
        (TRITON_PREFIX, ADDED_PREFIX)
    )


def _within(least: int, wanted: int, *most: int) -> int:
    return max(least, min(wanted, *most))


def of_this_machine(environ: Mapping[str, str], added: Added = Added()) -> Fit:  # noqa: B008
    """Fit to what this process may use, with what is ``added``. ``FIT`` overrides numbers, as in ``threads=4``.

    Raises ``PreflightError`` if ``FIT`` is invalid.
    """
    spoken = len(VOICES) + sum(not voice.of_kokoro for voice in added.voices)
    fitted = Fit.of(given_processors(environ) or processors(), memory_bytes(), cores(), spoken, gpu_memory_bytes())
    return replace(fitted, **overrides(environ))


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the models' configurations to this machine.")
    parser.add_argument("--repository", type=Path, default=Path("model_repository"))
    parser.add_argument("--into", type=Path, help="a folder for links and configurations, instead of the repository")
    parser.add_argument("--name", default=CONFIG_NAME, help="of the configurations that Triton is told to read")
    options = parser.parse_args()
    try:
        fit = of_this_machine(os.environ, added_in(options.repository))
    except PreflightError as error:
        parser.error(str(error))
    if options.into:
        lines = fit.link(options.repository.resolve(), options.into, options.name)
    else:
        lines = fit.write(options.repository)
    print(fit, *lines.values(), sep="\n")


if __name__ == "__main__":
    main()
