"""The product's models on this machine's NVIDIA GPU: python -m scripts.gpu_check, or quartet gpu-check.

Each part says why it is skipped. ``--device cpu`` rehearses all of them on a processor, small.
"""

import argparse
import shlex
import shutil
import sys
from pathlib import Path

from scripts.gpu_check import report, runner
from scripts.gpu_check.sizes import SIZES
from scripts.gpu_check.worker import FOUND, PARTS

_SIZE_OF = {"cuda": "full", "cpu": "small"}


def _parts(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in PARTS]:
        raise argparse.ArgumentTypeError(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return names


def main() -> int:
    """0 where every part ran and is right, or was skipped with a reason; 1 where one failed or is not right."""
    parser = argparse.ArgumentParser(prog="quartet gpu-check", description="Check and measure the models on a GPU.")
    parser.add_argument("--device", choices=_SIZE_OF, default="cuda", help="cpu rehearses (cuda)")
    parser.add_argument("--size", choices=SIZES, help="of the look-alikes (full on cuda, small on cpu)")
    parser.add_argument("--parts", type=_parts, default=list(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--out", type=Path, default=Path("build/gpu-check"), help="what is found (build/gpu-check)")
    arguments = parser.parse_args()
    work = arguments.out / "work"
    # Nothing of a run before: what it made may be another version's.
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    given = [str(work), "--device", arguments.device, "--size", arguments.size or _SIZE_OF[arguments.device]]
    outcomes = []
    for part in (FOUND, *arguments.parts):
        print(part, flush=True)
        outcomes.append(runner.run(part, given, arguments.out / f"{part}.log", _say))
        if outcomes[-1].reason:
            print(f"  {outcomes[-1].state}: {outcomes[-1].reason}", flush=True)
    shutil.rmtree(work)
    command = shlex.join(["python", "-m", "scripts.gpu_check", *sys.argv[1:]])
    written = report.write(arguments.out, outcomes, command)
    print(f"\n{report.tables(outcomes)}\n\nwritten: {', '.join(map(str, written))}")
    return 0 if all(outcome.good for outcome in outcomes) else 1


def _say(found: runner.Found) -> None:
    if found:
        print(report.line(found), flush=True)


if __name__ == "__main__":
    sys.exit(main())
