"""Every fault of the table can be inserted."""

from pathlib import Path

import pytest

from lab.mutants.faults import Fault, load

_ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("fault", load(), ids=lambda fault: f"{fault.file}: {fault.find[:40]}")
def test_a_fault_can_be_inserted_and_its_tests_exist(fault: Fault) -> None:
    assert fault.in_text((_ROOT / fault.file).read_text(encoding="utf-8"))
    paths = [path.partition("::")[0] for path in fault.tests if path.startswith("tests")]
    assert [path for path in paths if not (_ROOT / path).exists()] == []
