import random
from unittest.mock import patch

import httpx2
import pytest
from openai import OpenAI
from openai._models import FinalRequestOptions

from frontend.errors import ApiError, Busy, Internal, InvalidRequest
from scripts.capacity.simulation.callers import TRIES, pause

CLIENT = OpenAI(api_key="none", base_url="http://127.0.0.1:1")
OPTIONS = FinalRequestOptions(method="post", url="/embeddings")


def busy(seconds: int) -> Busy:
    return Busy("wait", retry_after=seconds)


def test_there_are_as_many_tries_as_of_the_client() -> None:
    assert CLIENT.max_retries + 1 == TRIES


@pytest.mark.parametrize("tried", [1, 2])
@pytest.mark.parametrize("error", [busy(1), busy(7), busy(120), Internal("broken")])
def test_a_pause_is_that_of_the_client(tried: int, error: ApiError) -> None:
    rng = random.Random(3)
    with patch("openai._base_client.random", random.Random(3).random):
        theirs = CLIENT._calculate_retry_timeout(TRIES - tried, OPTIONS, _headers(error))
    assert pause(tried, error, rng) == pytest.approx(theirs)


@pytest.mark.parametrize("error", [busy(121), InvalidRequest("no")])
def test_what_the_client_does_not_send_again_is_given_up(error: ApiError) -> None:
    assert pause(1, error, random.Random(1)) is None


def test_the_last_try_is_the_last() -> None:
    assert pause(TRIES, busy(1), random.Random(1)) is None


def _headers(error: ApiError) -> httpx2.Headers:
    return httpx2.Headers(error.headers)
