"""A running product on a GPU, verified and measured: quartet gpu-check, or python -m scripts.gpu_check

    make run MODELS=hub PRECISION=fp16     # or Docker's profile gpu, in another shell
    quartet gpu-check --url http://127.0.0.1:8080 --key KEY --precision fp16

Starts ``quartet verify`` and then ``make bench``'s loads against the address, and writes one report of both with the
GPU and its driver. Ends with 1 where a fact does not hold, a call failed, or neither could be asked.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.benchmark.common.output import head, line, machine

_QUERY = ("name", "driver_version", "memory.total", "memory.used", "utilization.gpu")
_NO_GPU = "no GPU is seen here: nvidia-smi is missing or fails"


def gpus() -> str:
    """A table of the GPUs that ``nvidia-smi`` sees from here, or a sentence where it sees none."""
    command = ["nvidia-smi", f"--query-gpu={','.join(_QUERY)}", "--format=csv,noheader"]
    if shutil.which(command[0]) is None:
        return _NO_GPU
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    if asked.returncode:
        return _NO_GPU
    return "\n".join([head(_QUERY), *(line(row.split(", ")) for row in asked.stdout.splitlines())])


def _run(command: list[str], environ: dict[str, str]) -> tuple[int, str]:
    """Its status, and what it printed, which is shown too as it comes."""
    printed: list[str] = []
    with subprocess.Popen([sys.executable, "-m", *command], env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for text in process.stdout:
            print(text, end="", flush=True)
            printed.append(text)
    return process.returncode, "".join(printed)


def _failed_calls(results: Path) -> int:
    """Of all that the benchmark sent; -1 where it wrote nothing."""
    if not results.exists():
        return -1
    runs = json.loads(results.read_text(encoding="utf-8"))["results"]
    return sum(sum(run["errors"].values()) for run in runs)


def check(url: str, environ: dict[str, str], facts: str, precision: str, bench: list[str], out: Path) -> int:
    """Verify, measure and write ``report.md``; 0 where all of it is right."""
    out.mkdir(parents=True, exist_ok=True)
    results = out / "results.json"
    results.unlink(missing_ok=True)
    choice = ["--facts", facts, *(["--precision", precision] if precision else [])]
    wrong, verified = _run(["frontend", "verify", "--url", url, *choice], environ)
    address = f"{url.rstrip('/').removesuffix('/v1')}/v1"
    broken, measured = _run(["scripts.benchmark", "--url", address, "--out", str(out), *bench], environ)
    failed = _failed_calls(results)
    seen, here = gpus(), json.dumps(machine(), indent=1)
    parts = {
        "GPU": seen,
        f"quartet verify: status {wrong}": f"```\n{verified}```",
        f"make bench: status {broken}, {failed} calls failed": measured,
        "Machine": f"```json\n{here}\n```",
    }
    text = "\n\n".join(f"## {title}\n\n{part}" for title, part in parts.items())
    (out / "report.md").write_text(f"# {url}\n\n{text}\n", encoding="utf-8")
    print(f"\n{seen}\n\nwritten to {out / 'report.md'}")
    return 1 if wrong or broken or failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="quartet gpu-check", description="Verify and measure a product on a GPU.")
    own = os.environ
    parser.add_argument("--url", default=own.get("QUARTET_URL", ""), help="address of the product (QUARTET_URL)")
    parser.add_argument("--key", default=own.get("QUARTET_API_KEY", ""), help="a key of it (QUARTET_API_KEY)")
    parser.add_argument("--facts", default="hub", help="of 'quartet verify' (hub)")
    parser.add_argument("--precision", default="fp16", help="of the text models (fp16)")
    parser.add_argument("--out", type=Path, default=Path("build/gpu-check"), help="where the report goes")
    given, bench = parser.parse_known_args()
    if not given.url or not given.key:
        parser.error("say --url and --key of a running product, or set QUARTET_URL and QUARTET_API_KEY")
    environ = {**own, "QUARTET_URL": given.url, "QUARTET_API_KEY": given.key}
    return check(given.url, environ, given.facts, given.precision, bench, given.out)


if __name__ == "__main__":
    sys.exit(main())
