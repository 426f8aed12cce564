"""Lines are stretched to what work took of the processors under load."""

import dataclasses

import pytest

from scripts.capacity.fits import Line
from scripts.capacity.measuring.loaded import stretched
from scripts.capacity.measuring.processes import Spent
from scripts.capacity.requests import Request
from tests.unit.capacity.products import NOTHING, VOICE, fits

_IDLE = Spent(10.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
_REQUESTS = [Request("speech", 50.0, (100.0,))] * 20


def test_a_model_is_stretched_to_what_its_work_took_but_not_by_what_idling_takes() -> None:
    product = fits(Line(0.1), cores=2)
    its = stretched(product, "speech", _REQUESTS, Spent(30.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.0), _IDLE)
    assert its.models[VOICE].line.fixed == pytest.approx((9.0 - 3.0) / 20)


def test_a_requests_own_work_is_stretched_by_kind() -> None:
    own = dataclasses.replace(NOTHING, loop=Line(0.1), workers=Line(per_unit=0.002))
    product = dataclasses.replace(fits(Line(0.1), cores=2), requests={"speech": own})
    its = stretched(product, "speech", _REQUESTS, Spent(30.0, 5.0, 3.0, 0.0, 1.0, 0.0, 0.0), _IDLE)
    assert its.requests["speech"].loop.fixed == pytest.approx(0.15)
    assert its.requests["speech"].workers.per_unit == pytest.approx(0.001)
