"""Models, Tritons and calls that tests control step by step."""

from frontend.dispatch.admission import ONE_CALL, Admission, ModelCalls
from frontend.dispatch.batch_size import Work
from frontend.dispatch.fair_share import Call
from frontend.dispatch.scheduler import Rules, Scheduler
from frontend.tritons.inference import Capacity

COMPANY, PRO, FREE, BULK = 1, 2, 3, 4
ONE = Capacity(1, 1, gpu=True)
GPU = Capacity(1, 4, gpu=True)
PROCESSORS = Capacity(1, 4)
# So that four calls are an execution on processors too.
DIVISIBLE = Work(4, 4, divisible=True)


class Scene:
    """An admission with models, Tritons, calls and simulated time."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.admission = Admission(rules or Rules())
        self.now = 0.0

    def model(self, model: str, work: Work = ONE_CALL, floors: dict[str, int] | None = None) -> ModelCalls:
        its = self.admission.models[model] = ModelCalls(model, self.admission.rules, floors or {}, work)
        return its

    def triton(self, name: str, **models: Capacity) -> None:
        """Add a Triton with the capacity for each model. Unknown models are added."""
        for model in models:
            if model not in self.admission.models:
                self.model(model)
        triton = self.admission.triton(name, models)
        for model, capacity in models.items():
            load = triton.models[model]
            load.capacity, load.takes_calls = capacity, True
            self.admission.models[model].configure()

    def enter(
        self, model: str, priority: int = FREE, cost: float = 1.0, key: str = "k", owner: str | None = None
    ) -> Call:
        call = Call(key, priority, owner, self.now, cost)
        self.admission.models[model].scheduler.enter(call, self.now)
        return call

    def enter_all(self, count: int, model: str, priority: int = FREE, cost: float = 1.0) -> list[Call]:
        return [self.enter(model, priority, cost) for _ in range(count)]

    def expected_wait(self, model: str, priority: int = FREE) -> float:
        return self.admission.models[model].expected_wait(Call("k", priority, None, self.now))

    def sent(self) -> list[Call]:
        """Send the calls that may go now, and return them."""
        return [call for _, call in self.admission.grants(self.now, self.admission.models.values())]

    def end(self, *calls: Call, after: float = 0.0) -> None:
        """End calls ``after`` seconds."""
        self.now += after
        for call in calls:
            its = next(its for its in self.admission.models.values() if call in its._sent)
            its.answered(call, self.now)
            its.leave(call, self.now)


def granted(scheduler: Scheduler, now: float = 0.0) -> Call | None:
    """Send the next call within the bound, and return it."""
    if scheduler.in_flight >= scheduler.bound or (turn := scheduler.next(now)) is None:
        return None
    order, call = turn
    scheduler.begin(order, call, now)
    return call
