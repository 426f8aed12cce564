import pytest

from tests.mutants.faults import CannotPutInError, Fault, load

_TEXT = "a = 1\nb = 2\nc = 2\n"


def test_a_fault_is_put_in_at_its_one_place() -> None:
    assert Fault("x.py", "b = 2", "b = 3", ()).in_text(_TEXT) == "a = 1\nb = 3\nc = 2\n"


@pytest.mark.parametrize("find", ["= 2", "d = 2"])
def test_a_fault_without_one_place_cannot_be_put_in(find: str) -> None:
    with pytest.raises(CannotPutInError):
        Fault("x.py", find, "", ()).in_text(_TEXT)


def test_the_line_of_a_fault_is_where_the_texts_begin_to_differ() -> None:
    assert Fault("x.py", "a = 1\nb = 2", "a = 1\nb = 3", ()).line(_TEXT) == 2


def test_every_fault_of_the_table_has_tests_that_are_asked() -> None:
    assert [fault for fault in load() if not fault.tests] == []
