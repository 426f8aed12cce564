"""Which models lie on which GPUs, and how much of a GPU's memory each may take, in the place of ``configs/gpu.pbtxt``.

    python -m scripts.run.gpus --place m3_embedder=0 --place whisper_large_v3=0,1 --memory m3_embedder=6

writes ``configs/gpus.pbtxt`` beside each ``config.pbtxt`` that has one for GPUs. Triton takes it under
``--model-config-name=gpus``. A model that is not placed has its instances on every GPU, as in ``gpu.pbtxt``.
"""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

CONFIG_NAME = "gpus"
_COMMITTED = "gpu"
_GROUP = re.compile(r"(?<=kind: KIND_GPU)(?= \} \])")
_GIB = 1 << 30
# Under these names alone: what stands in the optimization's accelerator is overwritten by the backend.
_LIMIT = 'parameters {{ key: "gpu_mem_limit" value {{ string_value: "{bytes}" }} }}\n'
# All that the limit allows can be used, and not the power of two below it.
_EXACTLY = 'parameters { key: "arena_extend_strategy" value { string_value: "1" } }\n'


class PlacementError(Exception):
    """The requested placement is impossible. The message is one sentence."""


def write(repository: Path, places: Mapping[str, Sequence[int]], memory: Mapping[str, float]) -> list[str]:
    """Write the files, and answer a line for each; ``places`` are numbers of GPUs, ``memory`` is in GiB for each."""
    committed = {path.parents[1].name: path for path in sorted(repository.glob(f"*/configs/{_COMMITTED}.pbtxt"))}
    texts = {name: path.read_text(encoding="utf-8") for name, path in committed.items()}
    if unknown := sorted({*places, *memory} - set(texts)):
        raise PlacementError(f"no model for GPUs is called {unknown[0]}; there are {', '.join(texts)}")
    if others := sorted(name for name in memory if 'backend: "onnxruntime"' not in texts[name]):
        raise PlacementError(f"the memory of {others[0]} cannot be limited: CTranslate2 takes what it needs")
    lines = []
    for name, text in texts.items():
        gpus = ", ".join(map(str, places.get(name, ())))
        placed, found = _GROUP.subn(f" gpus: [ {gpus} ]" if gpus else "", text)
        if found != 1:
            raise PlacementError(f"{committed[name]} has {found} groups of instances on GPUs, and must have one")
        limit = _LIMIT.format(bytes=int(memory[name] * _GIB)) + _EXACTLY if name in memory else ""
        committed[name].with_name(f"{CONFIG_NAME}.pbtxt").write_text(placed + limit, encoding="utf-8")
        at_most = f", at most {memory[name]:g} GiB of each" if name in memory else ""
        lines.append(f"{name}: GPU {gpus}{at_most}" if gpus else f"{name}: every GPU{at_most}")
    return lines


def _place(text: str) -> tuple[str, list[int]]:
    name, _, gpus = text.partition("=")
    if not re.fullmatch(r"\d+(,\d+)*", gpus):
        raise argparse.ArgumentTypeError(f"{text!r}: must be like m3_embedder=0,1")
    return name, [int(gpu) for gpu in dict.fromkeys(gpus.split(","))]


def _memory(text: str) -> tuple[str, float]:
    name, _, amount = text.partition("=")
    if not re.fullmatch(r"\d+(\.\d+)?", amount) or not float(amount):
        raise argparse.ArgumentTypeError(f"{text!r}: must be like m3_embedder=6, in GiB")
    return name, float(amount)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Place models on GPUs, and limit their memory.")
    parser.add_argument("--repository", type=Path, default=Path("model_repository"))
    parser.add_argument("--place", type=_place, action="append", default=[], metavar="MODEL=GPU[,GPU]")
    parser.add_argument("--memory", type=_memory, action="append", default=[], metavar="MODEL=GIB")
    given = parser.parse_args(arguments)
    try:
        lines = write(given.repository, dict(given.place), dict(given.memory))
    except PlacementError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
