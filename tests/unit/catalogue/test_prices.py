import pytest

from frontend.catalogue.models import PRICES
from frontend.catalogue.prices import to_chf, to_micro

_COSTS = [("stt-1", 60_000, 6_000), ("stt-1-hd", 1_000, 100), ("tts-1", 1, 5)]


@pytest.mark.parametrize(("model", "quantity", "amount"), _COSTS)
def test_work_costs_what_the_contract_says(model: str, quantity: int, amount: int) -> None:
    assert PRICES[model].amount(quantity) == amount


@pytest.mark.parametrize(("milliseconds", "amount"), [(4, 0), (5, 1), (14, 1), (15, 2)])
def test_amounts_are_rounded_half_up(milliseconds: int, amount: int) -> None:
    assert PRICES["stt-1"].amount(milliseconds) == amount


@pytest.mark.parametrize(("micro", "text"), [(0, "0.00"), (325, "0.000325"), (12_500_000, "12.50"), (-1, "-0.000001")])
def test_amounts_are_written_with_two_decimals_or_as_many_as_they_need(micro: int, text: str) -> None:
    assert to_chf(micro) == text


_NO_AMOUNTS = "0.0000001 -1 NaN Infinity five 1e30 1e3 1_0 ١٢ ５ +5 5. .5 1,5 0x10"


@pytest.mark.parametrize("text", [*_NO_AMOUNTS.split(), "", " 5", "5 ", "1\n", "9" * 40])
def test_what_is_no_amount_in_micro_chf_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="CHF"):
        to_micro(text)
