from frontend.config.settings import Settings
from scripts.capacity.fits import Line
from scripts.capacity.simulation.autoscaler import Scaling
from scripts.capacity.simulation.deployment import Fault
from scripts.capacity.simulation.service import Happened, simulate
from tests.unit.capacity.products import deployment, fits
from tests.unit.capacity.test_queueing import arrival

STEADY = [arrival(number / 2, 1.0, number % 5, 1 + number % 3) for number in range(240)]


def tries(happened: Happened) -> int:
    return sum(outcome.tries for _, outcome in happened.outcomes)


def answered(happened: Happened) -> int:
    return sum(outcome.answered for _, outcome in happened.outcomes)


def test_the_same_seed_gives_the_same_and_another_another() -> None:
    product = deployment(replicas=3, frontends=2)
    one, again, other = (simulate(fits(Line(0.9)), product, STEADY, seed).outcomes for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_times_count_from_the_beginning_of_the_calls() -> None:
    happened = simulate(fits(Line(0.9)), deployment(replicas=40), STEADY)
    assert min(outcome.arrived for _, outcome in happened.outcomes) == 0
    assert min(seen.at for seen in happened.seen["voices"]) == 0


def test_refused_calls_come_again_and_add_to_the_load() -> None:
    few = Settings(queue_per_key=2, queue_per_tier=4)
    happened = simulate(fits(Line(5.0)), deployment(settings=few), STEADY)
    assert answered(happened) < len(STEADY)
    assert tries(happened) > 2 * len(STEADY)


def test_a_call_that_is_answered_is_sent_once() -> None:
    happened = simulate(fits(Line(0.1)), deployment(replicas=2), STEADY)
    assert tries(happened) == answered(happened) == len(STEADY)


def test_a_triton_that_dies_fails_its_calls_which_come_again() -> None:
    happened = simulate(fits(Line(0.9)), deployment(replicas=2, faults=[Fault(30.7, pool="voices")]), STEADY)
    failed = [outcome for _, outcome in happened.outcomes if outcome.failed]
    assert failed
    assert answered(happened) == len(STEADY)
    assert {seen.ready for seen in happened.seen["voices"]} == {1, 2}


def test_after_the_loss_of_a_zone_calls_go_to_the_other() -> None:
    product = deployment(replicas=4, frontends=2, faults=[Fault(40.0, zone="a")])
    happened = simulate(fits(Line(0.9)), product, STEADY)
    after = [outcome for _, outcome in happened.outcomes if outcome.arrived > 45]
    assert after
    assert max(outcome.seconds for outcome in after) < 10
    assert min(seen.ready for seen in happened.seen["voices"]) == 2


def test_calls_under_way_in_a_lost_zone_wait_for_their_deadline() -> None:
    # One frontend, in the other zone: of its calls, half are in the zone that is lost.
    product = deployment(replicas=2, faults=[Fault(40.2, zone="b")])
    happened = simulate(fits(Line(0.9)), product, STEADY)
    assert max(outcome.seconds for _, outcome in happened.outcomes) > product.settings.request_seconds


def test_an_autoscaler_adds_tritons_while_the_demand_is_high() -> None:
    scaled = deployment(scaling=Scaling())
    happened = simulate(fits(Line(0.9)), scaled, STEADY)
    assert max(seen.ready for seen in happened.seen["voices"]) > 1


def test_without_an_autoscaler_there_are_as_many_as_were_planned() -> None:
    happened = simulate(fits(Line(0.9)), deployment(replicas=2), STEADY)
    assert {seen.ready for seen in happened.seen["voices"]} == {2}
