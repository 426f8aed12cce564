"""Commands that start a module of the checkout."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from frontend.commands import checkout
from tests.conftest import ROOT

STARTED = """
import os, sys
print(sys.argv[1:], os.getcwd(), os.environ["PYTHONPATH"].split(os.pathsep)[0])
sys.exit(5)
"""


@pytest.mark.parametrize("command", checkout.COMMANDS)
def test_every_command_is_a_module_of_the_checkout(command: str) -> None:
    module, _ = checkout.COMMANDS[command]
    assert ROOT.joinpath(*module.split("."), "__main__.py").is_file()


def test_the_module_takes_this_process_its_folder_and_its_arguments(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "checkout", tmp_path / "elsewhere"
    package = root / "scripts" / "compare"
    package.mkdir(parents=True)
    elsewhere.mkdir()
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "__main__.py").write_text(STARTED, encoding="utf-8")
    call = f"checkout.start('compare', ['--texts', 'a b'], Path({str(root)!r}))"
    code = f"from pathlib import Path; from frontend.commands import checkout; {call}"
    command, environ = [sys.executable, "-c", code], os.environ | {"PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, cwd=elsewhere, env=environ, capture_output=True, text=True, check=False)
    assert ended.stdout == f"['--texts', 'a b'] {elsewhere} {root}\n"
    assert ended.returncode == 5


def test_without_a_checkout_it_is_said_what_is_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checkout.start("compare", [], tmp_path) == 2
    assert capsys.readouterr().err == "quartet compare works in a checkout of Quartet, after 'make install'\n"


def test_the_commands_are_listed_with_all_others() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "frontend", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert all(command in ended.stdout for command in checkout.COMMANDS)
