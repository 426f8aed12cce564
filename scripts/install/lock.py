"""Write the requirements files from ``pyproject.toml``: all packages of each part, with the hashes of all their files.

    make lock

Other versions than ``pyproject.toml`` names stay as they are where they can. Only the default package index is asked,
because another one may lack files for other processors and Pythons.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from scripts.install.pip_settings import this_machines

TORCH_CPU = Path("scripts/export_models/requirements-cpu.txt")
TORCH_CUDA = Path("scripts/export_models/requirements-cuda.txt")
# Groups of pyproject.toml, or its package. What can be installed together has the same versions.
_TOGETHER = {
    "frontend/requirements.txt": "",
    "lab/requirements.txt": "lab",
    "model_repository/requirements-gpu.txt": "gpu",
    "model_repository/requirements.txt": "models",
    "scripts/export_models/requirements.txt": "export",
    "scripts/install/requirements.txt": "install",
    "scripts/local_triton/requirements.txt": "embedded-triton",
    "tests/fuzz/requirements.txt": "fuzz",
    "tests/requirements.txt": "tests",
}
_ALONE = {
    "docker/requirements.txt": "images",
    "scripts/install/requirements-audit.txt": "audit",
    "scripts/install/requirements-manual.txt": "manual",
    "tests/clients/requirements.txt": "clients",
}
LOCKS = _TOGETHER | _ALONE
# uv repeats in each line for which machines all lines are ('environments' in pyproject.toml).
_MACHINE = " and ".join(
    (
        "implementation_name == 'cpython'",
        "platform_machine == 'x86_64'",
        "platform_python_implementation == 'CPython'",
        "sys_platform == 'linux'",
    )
)
_REPEATED = (f" ; python_full_version < '3.13' and {_MACHINE}", f" and {_MACHINE}")


def _compile(into: Path, environment: Mapping[str, str], *arguments: str) -> None:
    command = [str(Path(sys.executable).with_name("uv")), "pip", "compile", "--quiet", "--no-annotate"]
    command += ["--custom-compile-command", "make lock", "--python-version", "3.11", "--generate-hashes"]
    command += ["--no-strip-extras", *arguments, "--output-file", str(into)]
    subprocess.run(command, env={**os.environ, **environment}, check=True)
    text = into.read_text(encoding="utf-8")
    for repeated in _REPEATED:
        text = text.replace(repeated, "")
    into.write_text(text, encoding="utf-8")


def _of(group: str) -> list[str]:
    return ["--group", group] if group else ["pyproject.toml"]


def _lock(environment: Mapping[str, str]) -> None:
    with tempfile.NamedTemporaryFile("w+", suffix=".txt", encoding="utf-8") as file:
        file.writelines(Path(name).read_text(encoding="utf-8") for name in _TOGETHER)
        file.flush()
        together = [word for group in _TOGETHER.values() for word in _of(group)]
        _compile(Path(file.name), environment, "--universal", "--all-extras", *together)
        same = ["--constraints", file.name]
        # With CUDA, PyTorch needs what its entry in pyproject.toml leaves out.
        _compile(TORCH_CUDA, environment, "--no-config", "--python-platform", "linux", *same, *_of("torch"))
        for name, group in _TOGETHER.items():
            _compile(Path(name), environment, "--universal", "--no-emit-package", "torch", *same, *_of(group))
    for name, group in _ALONE.items():
        _compile(Path(name), environment, "--universal", *_of(group))


def _lock_torch_for_processors(environment: Mapping[str, str]) -> None:
    """Only PyTorch's own index has it. If that cannot be reached, the file must be of the right version already."""
    version = next(line for line in TORCH_CUDA.read_text(encoding="utf-8").splitlines() if line.startswith("torch=="))
    pin = f"{version.split()[0]}+cpu"
    with tempfile.NamedTemporaryFile("w", suffix=".in", encoding="utf-8") as file:
        file.write(pin)
        file.flush()
        try:
            _compile(TORCH_CPU, environment, "--no-deps", "--torch-backend", "cpu", file.name)
        except subprocess.CalledProcessError:
            if f"{pin} " not in TORCH_CPU.read_text(encoding="utf-8"):
                raise
            print(f"PyTorch's own index cannot be reached: {TORCH_CPU} stays as it is", file=sys.stderr)


def main() -> int:
    environment = this_machines(Path(sys.executable))
    if environment is None:
        print("uv lacks one of pip's settings here ('pip config list')", file=sys.stderr)
        return 1
    alone = {name: value for name, value in environment.items() if name not in ("UV_INDEX", "UV_FIND_LINKS")}
    try:
        _lock(alone)
        _lock_torch_for_processors(alone)
    except subprocess.CalledProcessError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
