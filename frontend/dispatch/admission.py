"""Admission: choose the next call over all models, and its Triton. It has no clock, lock or event loop."""

import math
from collections.abc import Collection, Iterable, Mapping

from frontend.dispatch.batch_size import BatchSize, Work
from frontend.dispatch.fair_share import Call
from frontend.dispatch.load import EXECUTIONS, ROUNDING, InFlight, TritonLoad
from frontend.dispatch.scheduler import BULK, FIRST, PRIORITIES, Rules, Scheduler
from frontend.dispatch.service_rate import ServiceRate

# The work of a model without a unit of its own: each call costs 1.
ONE_CALL = Work(1.0)
# An execution longer than this (seconds) hides the gap before the next one. The second is for calls that are not cut to
# executions and share them, and for a single instance: Triton joins the calls that wait there.
_LONG_SECONDS, _LONG_SHARED_SECONDS = 0.1, 1.0
# Length of the running mean of seconds, in calls. Where callers cut their work into executions, calls of less than this
# share of one are left out.
_MEAN_CALLS, _LEAST_SHARE = 5, 0.5
# Length of the running mean of the cost, in calls.
_USUAL_CALLS = 100


class ModelCalls:
    """The calls to one model: their order, the batch work, and how long calls take.

    ``share`` is this frontend's share of the bound, above 0 and at most 1.
    """

    def __init__(self, model: str, rules: Rules, floors: Mapping[str, int], work: Work = ONE_CALL) -> None:
        self.name, self.scheduler, self.batch = model, Scheduler(rules, floors), BatchSize(work)
        self.share = 1.0
        self.tritons: dict[str, TritonLoad] = {}
        # All models of these Tritons, including this one.
        self.neighbours: set[ModelCalls] = {self}
        # Over all Tritons that take calls: their number, their instances and the sum of their bounds.
        self.ready = self.instances = self._most = 0
        # Work sent so far, in smallest executions. This unit gives models with large executions no more processor time.
        self.served = 0.0
        self._sent: dict[Call, TritonLoad] = {}
        self._in_flight = InFlight()
        # By priority: of the work of this priority and higher ones, while such calls wait.
        self._service_rates = [ServiceRate() for _ in range(PRIORITIES)]
        # ``_usual`` is the mean cost of all calls; ``_seconds`` and ``_cost`` are means of calls near an execution.
        self._answers = self._large_answers = 0
        self._usual = self._seconds = self._cost = 0.0

    @property
    def is_open(self) -> bool:
        """Whether at least one Triton takes calls."""
        return any(triton.models[self.name].takes_calls for triton in self.tritons.values())

    @property
    def alone(self) -> bool:
        """Whether a call waits here until an instance is idle. True for long executions of one or two calls."""
        if not self.batch.is_small:
            return False
        is_cut = self.batch.divisible and self.instances > self.ready
        long = _LONG_SECONDS if is_cut or self.batch.is_one_call else _LONG_SHARED_SECONDS
        if throughput := self.batch.throughput:
            return self.batch.work * self.share * self.instances / throughput > long
        return not self._seconds or self._seconds > long

    @property
    def per_triton(self) -> float:
        """The number of mean calls that fill one Triton; 0 if none takes calls."""
        if not self.ready:
            return 0.0
        executions = (1 if self.alone else EXECUTIONS) * self.instances
        at_once = min(self._most, executions / self.batch.executions(self._usual)) if self._usual else self._most
        return max(1.0, at_once / self.ready)

    def configure(self) -> None:
        """Compute the bound and the batch sizes again, after a change of the Tritons or of ``share``."""
        loads = [load for triton in self.tritons.values() if (load := triton.models[self.name]).takes_calls]
        self.ready, self.instances = len(loads), sum(load.instances for load in loads)
        self._most = sum(load.bound for load in loads)
        self.scheduler.bound = max(1, int(self.share * self._most)) if loads else 0
        if loads:
            batch, gpu = max(load.capacity.max_batch for load in loads), any(load.capacity.gpu for load in loads)
            self.batch.configure(self.share * self.instances, batch, gpu=gpu)

    def has_share(self, executions: float) -> bool:
        """Whether one more call fits into this frontend's share. One call always fits."""
        if self.share >= 1 or not self.scheduler.in_flight:
            return True
        most = self.share * EXECUTIONS * self.instances
        fits = self._in_flight.executions + min(executions, EXECUTIONS) <= most + ROUNDING
        return fits and self.scheduler.in_flight < self.scheduler.bound

    def next_instead(self, order: int, call: Call, now: float) -> tuple[int, Call] | None:
        """The (order, call) to try if the call that ``Scheduler.next`` chose has no room; None if there is no other."""
        long = self.batch.executions(call.cost) > EXECUTIONS
        if order != FIRST and not long:
            return None
        most = EXECUTIONS * self.batch.work if long else math.inf
        choice = self.scheduler.next(now, by_age=False, most=most)
        return choice if choice != (order, call) else None

    def begin(self, order: int, call: Call, name: str, now: float) -> None:
        """Count a call as sent to the Triton ``name``."""
        triton = self._sent[call] = self.tritons[name]
        call.backend, call.executions = name, self.batch.executions(call.cost)
        triton.begin(call, self.name, now)
        self.scheduler.begin(order, call, now)
        self._in_flight.add(call, 1)

    def leave(self, call: Call, now: float) -> None:
        """Remove a call that has ended or was abandoned."""
        if (triton := self._sent.pop(call, None)) is not None:
            triton.end(call, self.name, now)
            self._in_flight.add(call, -1)
        self.scheduler.leave(call, now)
        waiting = 0
        for priority, rate in enumerate(self._service_rates, 1):
            waiting += self.scheduler.waiting(priority)
            if not waiting:
                rate.stop()

    def answered(self, call: Call, now: float) -> None:
        """Measure a call that has an answer; call this before ``leave``."""
        busy = self.scheduler.waits > self.scheduler.waiting(BULK)
        # Throughput on processors that other models use too says nothing about this model's executions.
        contended = self._sent[call].has_others(self.name)
        self.batch.note(call.cost, call.sent, now, busy=busy and not contended)
        for rate in self._service_rates[call.priority - 1 :]:
            rate.note(call.cost, now)
        self._answers += 1
        self._usual += (call.cost - self._usual) / min(self._answers, _USUAL_CALLS)
        if call.executions >= _LEAST_SHARE or not self.batch.divisible:
            self._large_answers += 1
            smoothing = 1 / min(self._large_answers, _MEAN_CALLS)
            self._seconds += (now - call.sent - self._seconds) * smoothing
            self._cost += (call.cost - self._cost) * smoothing

    @property
    def rate(self) -> float:
        """Work per second under load; 0 if nothing was measured."""
        if not self._seconds:
            return self.batch.throughput
        # Little's law: work in flight, divided by the seconds of a call.
        executions = (1 if self.alone else EXECUTIONS) * self.share * self.instances
        at_once = min(self.scheduler.bound, executions / self.batch.executions(self._cost))
        rate = max(1.0, at_once) * self._cost / self._seconds
        return min(rate, self.batch.throughput or rate)

    def seconds_for(self, work: float, at_once: int) -> float:
        """Seconds that ``work`` takes in ``at_once`` parallel calls; 0 if nothing was measured."""
        if not (rate := self.rate):
            return 0.0
        return max(work / rate, work * self._seconds / self._cost / at_once if self._cost else 0.0)

    def expected_wait(self, call: Call) -> float:
        """Seconds that a call that comes would wait; infinite if no Triton takes calls."""
        if not self.is_open:
            return math.inf
        before = self.scheduler.work_before(call)
        if self.scheduler.in_flight >= self.scheduler.bound:
            before += self._cost
        # ``rate`` supposes as many calls in flight as the model may have. Models that share processors have fewer.
        rate = self._service_rates[call.priority - 1].value or self.rate
        return before / rate if before and rate else 0.0


class Admission:
    """All models, and the Tritons that serve them."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.models: dict[str, ModelCalls] = {}
        self.tritons: dict[str, TritonLoad] = {}
        self._present = 0.0

    def triton(self, name: str, models: Iterable[str]) -> TritonLoad:
        """The load of the Triton ``name``, which serves ``models``; made at the first call."""
        if name not in self.tritons:
            self.tritons[name] = TritonLoad(models, self.rules.hold_seconds)
        served = {self.models[model] for model in models}
        for model in served:
            model.tritons[name] = self.tritons[name]
            model.neighbours |= served
        return self.tritons[name]

    def forget(self, name: str) -> None:
        """Remove a Triton that has no calls in flight."""
        self.tritons.pop(name, None)
        for model in self.models.values():
            model.tritons.pop(name, None)

    def grants(self, now: float, models: Collection[ModelCalls]) -> list[tuple[ModelCalls, Call]]:
        """Start the calls that may go now. Priority decides, then the least work sent by the model."""
        choices: dict[ModelCalls, tuple[int, Call]] = {}
        for model in models:
            self._choose(model, choices, now)
        reserved: set[TritonLoad] = set()
        granted: list[tuple[ModelCalls, Call]] = []
        while choices:
            model = min(choices, key=lambda model: (choices[model][0], model.served))
            order, call = choices.pop(model)
            if (name := self._triton_for(model, call, reserved, now)) is None:
                # If an aged or a long call has no room, a call of a higher priority or a shorter one may have.
                if (choice := model.next_instead(order, call, now)) is not None:
                    choices[model] = choice
                elif not reserved.isdisjoint(model.tritons.values()):
                    model.scheduler.passed_over(sum(other is not model for other, _ in granted))
                continue
            model.begin(order, call, name, now)
            self._present = max(self._present, model.served)
            model.served = self._present + model.batch.least_executions(call.cost)
            granted.append((model, call))
            self._choose(model, choices, now)
        return granted

    @staticmethod
    def _choose(model: ModelCalls, choices: dict[ModelCalls, tuple[int, Call]], now: float) -> None:
        if model.scheduler.waits and (choice := model.scheduler.next(now)) is not None:
            choices[model] = choice

    def next_change(self, now: float, models: Collection[ModelCalls]) -> float:
        """The next time (loop seconds) at which time alone may let a call go; infinity if there is none."""
        times = [math.inf]
        for model in (model for model in models if model.scheduler.waits):
            times.append(model.scheduler.next_change(now))
            loads = [triton.models[model.name] for triton in model.tritons.values()]
            times += [until for load in loads if not load.capacity.gpu for until in load.kept_until.values()]
            if model.batch.divisible:
                # Only calls of another tier than the last one wait for this.
                scheduler = model.scheduler
                times += [load.apart_from for load in loads if scheduler.waits > scheduler.waiting(load.last)]
            if model.scheduler.waiting(BULK):
                times += [triton.next_idle(now) for triton in model.tritons.values()]
        return min(time for time in times if time > now)

    def _triton_for(self, model: ModelCalls, call: Call, reserved: set[TritonLoad], now: float) -> str | None:
        """The name of the best Triton with room, or None.

        It prefers this zone, no bulk work, an idle instance, the lowest turn, then the one that waited longest.
        A Triton that lacks only processors goes into ``reserved``: no other call may take that room.
        """
        executions, alone = model.batch.executions(call.cost), model.alone
        if not model.has_share(executions):
            return None
        joined, floor = model.batch.joined, model.scheduler.is_below_floor(call.owner)
        loads = {name: triton.models[model.name] for name, triton in model.tritons.items()}
        tritons = {
            name: model.tritons[name]
            for name, load in loads.items()
            if (floor or load.gives_way(call, executions, joined=joined, now=now))
            and (not joined or load.is_apart(call, now))
            and load.has_room(call, executions, alone=alone, now=now)
        }
        if call.priority == BULK:
            tritons = {name: triton for name, triton in tritons.items() if triton.is_idle(now)}
        fitting = {
            name: triton
            for name, triton in tritons.items()
            if loads[name].capacity.gpu
            or (
                (triton not in reserved or triton.goes_first(call))
                and triton.has_processors(call, model.name, executions)
            )
        }
        if tritons and not fitting:
            reserved.update(tritons.values())

        def order(name: str) -> tuple[bool, bool, int, int, float]:
            triton, load = fitting[name], loads[name]
            return not triton.near, triton.has_bulk, triton.level(model.name), load.turn, load.began

        return min(fitting, key=order, default=None)
