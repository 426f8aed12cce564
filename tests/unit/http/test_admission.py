from frontend.config.networks import Networks
from frontend.http.admission import HALF_CLOSED_AT_ONCE, Admission


def test_an_address_has_so_many_connections_and_another_has_its_own() -> None:
    admission = Admission(6, 4)
    assert [admission.enter("a") for _ in range(5)] == [True] * 4 + [False]
    assert admission.enter("b")


def test_all_together_have_so_many() -> None:
    admission = Admission(6, 4)
    assert [admission.enter(address) for address in "aaaabbb"] == [True] * 6 + [False]


def test_without_a_bound_of_its_own_an_address_may_have_them_all() -> None:
    admission = Admission(6, 0)
    assert [admission.enter("a") for _ in range(7)] == [True] * 6 + [False]


def test_one_that_ends_makes_room_for_one() -> None:
    admission = Admission(6, 1)
    for _ in range(10):
        assert admission.enter("a")
        assert not admission.enter("a")
        admission.leave("a", half_closed=False)


def test_few_of_an_address_are_believed_to_wait_until_they_end() -> None:
    admission = Admission(9)
    for address in ("a", "a", "b"):
        admission.enter(address)
    assert [admission.half_close("a") for _ in range(HALF_CLOSED_AT_ONCE + 1)] == [True] * HALF_CLOSED_AT_ONCE + [False]
    assert admission.half_close("b")
    admission.leave("a", half_closed=False)
    assert not admission.half_close("a")
    admission.leave("a", half_closed=True)
    assert admission.half_close("a")


def test_a_trusted_proxy_may_have_them_all() -> None:
    admission = Admission(6, 2, Networks("10.0.0.0/8"))
    assert [admission.enter("10.0.0.1") for _ in range(7)] == [True] * 6 + [False]


def test_addresses_of_one_ipv6_network_have_so_many_together() -> None:
    admission = Admission(6, 2)
    assert [admission.enter(f"2001:db8::{number}") for number in range(3)] == [True, True, False]
    admission.leave("2001:db8::1", half_closed=False)
    assert admission.enter("2001:db8::3")


def test_few_of_one_ipv6_network_are_believed_to_wait() -> None:
    admission = Admission(6)
    believed = [admission.half_close(f"2001:db8::{number}") for number in range(HALF_CLOSED_AT_ONCE + 1)]
    assert believed == [True] * HALF_CLOSED_AT_ONCE + [False]


def test_what_a_trusted_proxy_has_takes_nothing_from_its_neighbours() -> None:
    admission = Admission(6, 2, Networks("2001:db8::1/128"))
    assert [admission.enter(f"2001:db8::{number}") for number in (1, 1, 2)] == [True] * 3
