import re
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.local_triton import checks
from scripts.local_triton.checks import PreflightError


def test_this_machine_passes() -> None:
    checks.check_glibc()
    checks.check_numpy()
    checks.check_stub(checks.find_wheel())
    checks.find_libpython()
    checks.check_port(checks.free_port())


def test_a_free_port_is_not_given_to_two() -> None:
    assert len({checks.free_port() for _ in range(500)}) == 500


def test_an_old_glibc_is_named() -> None:
    with pytest.raises(PreflightError, match=r"glibc 2\.31"):
        checks.check_glibc("2.31")


def test_numpy_2_is_refused() -> None:
    with pytest.raises(PreflightError, match="numpy<2"):
        checks.check_numpy("2.1.0")


def test_a_missing_stub_is_named(tmp_path: Path) -> None:
    with pytest.raises(PreflightError, match="no Python stub"):
        checks.check_stub(replace(checks.find_wheel(), stub=tmp_path / "none"))


def test_a_missing_libpython_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(PreflightError, match="apt-get install libpython3"):
        checks.find_libpython([tmp_path])


@pytest.mark.parametrize("strange", [" ", "é", "$", "'", ";", ":", "(", "~", "\n"])
def test_a_path_that_a_shell_would_not_take_as_it_is_is_refused(strange: str) -> None:
    with pytest.raises(PreflightError, match=f"because of the {re.escape(repr(strange))}: take a folder"):
        checks.check_path(Path(f"/home/me/a{strange}b/quartet"))


def test_a_path_that_a_shell_takes_as_it_is_passes() -> None:
    checks.check_path(Path("/home/me/Quartet-0.1_b,c=d@e%f+g"))
