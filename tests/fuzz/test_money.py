"""Money in any order of reservations, charges, repeats, batches that are sent again and frontends that die."""

import asyncio
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest.mock import patch

import sqlalchemy as sa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from frontend.administration.registry import Registry
from frontend.administration.usage.queries import UsageQueries
from frontend.billing.ledger import Charge, IdempotencyWindow, Ledger, Numbered
from frontend.billing.wallets import Wallets
from frontend.database.engine import open_engine
from frontend.database.migrate import migrate
from frontend.database.tables import RESERVATIONS, USAGE_DAYS, USAGE_EVENTS, WALLETS
from frontend.errors import InsufficientQuota
from tests.fuzz import histories
from tests.unit.billing.conftest import event

_ORG = "acme"
_WINDOW = IdempotencyWindow(seconds=600, answers=3)


@cache
def _empty() -> Path:
    """A database with the organisation, made once."""
    path = Path(tempfile.mkdtemp(prefix="fuzz-money-")) / "empty.sqlite3"

    async def make() -> None:
        engine = open_engine(f"sqlite:///{path}")
        await migrate(engine)
        await Registry(engine).create_org(_ORG, None)
        await engine.dispose()

    asyncio.run(make())
    return path


@dataclass
class _Row:
    at: int
    amount: int
    answers: int = 1


class Money(RuleBasedStateMachine):
    """The model has rows by request, and adds up what came in, what was charged and what nobody could pay."""

    @initialize(amount=st.integers(1, 300))
    def begin(self, amount: int) -> None:
        self.runner, self.path = asyncio.Runner(), _empty().with_name("money.sqlite3")
        shutil.copy(_empty(), self.path)
        self.engine = open_engine(f"sqlite:///{self.path}")
        self.holders, self.topped_up, self.paid = 0, 0, 0
        self.rows: dict[str, list[_Row]] = {}
        self.days: Counter[str] = Counter()
        self._start()
        self.money_comes(amount=amount)

    def _start(self) -> None:
        self.holders += 1
        self.holder, self.place = f"holder{self.holders}", 0
        self.wallets = Wallets(self.engine, self.holder)
        self.reserved: list[str] = []
        self.spool: list[Numbered] = []
        self.written: list[Numbered] = []

    @rule(amount=st.integers(1, 300))
    def money_comes(self, amount: int) -> None:
        self.runner.run(UsageQueries(self.engine).top_up(_ORG, amount, None))
        self.topped_up += amount

    @rule(amount=st.integers(1, 120))
    def a_request_reserves(self, amount: int) -> None:
        free, _ = self.runner.run(self._state())
        try:
            self.reserved.append(self.runner.run(self._reserve(amount)))
        except InsufficientQuota:
            assert amount > free
        else:
            assert amount <= free

    async def _reserve(self, amount: int) -> str:
        with patch("frontend.billing.wallets._RELEASE_WAIT_SECONDS", 0), patch("asyncio.sleep", _at_once):
            return await self.wallets.reserve(_ORG, amount, asyncio.get_running_loop().time() + 60)

    @precondition(lambda self: self.reserved)
    @rule(data=st.data())
    def a_request_fails(self, data: st.DataObject) -> None:
        self.runner.run(self._release(self._taken(data)))

    async def _release(self, reservation: str) -> None:
        self.wallets.release(_ORG, reservation)
        await self.wallets.close()

    def _taken(self, data: st.DataObject) -> str:
        return self.reserved.pop(data.draw(st.integers(0, len(self.reserved) - 1)))

    @rule(name=st.sampled_from("abc"), amount=st.integers(0, 150), at=st.integers(0, 2_000))
    def an_answer_is_charged(self, name: str, amount: int, at: int) -> None:
        self._add(name, amount, at, "")

    @precondition(lambda self: self.reserved)
    @rule(data=st.data(), name=st.sampled_from("abc"), amount=st.integers(0, 150), at=st.integers(0, 2_000))
    def an_answer_with_a_reservation_is_charged(self, data: st.DataObject, name: str, amount: int, at: int) -> None:
        self._add(name, amount, at, self._taken(data))

    def _add(self, name: str, amount: int, at: int, reservation: str) -> None:
        self.place += 1
        self.spool.append((self.place, event(name, amount, reservation, org=_ORG, at=at)))

    @precondition(lambda self: self.spool)
    @rule(count=st.integers(1, 4), again=st.booleans())
    def charges_move(self, count: int, again: bool) -> None:
        batch, self.spool = self.spool[:count], self.spool[count:]
        # Nobody knows whether the last batch was committed.
        self._write([*self.written, *batch] if again else batch, [charge for _, charge in batch])
        self.written = batch

    @precondition(lambda self: self.written)
    @rule()
    def a_batch_is_sent_again(self) -> None:
        self._write(self.written, [])

    def _write(self, batch: list[Numbered], new: list[Charge]) -> None:
        """Write a batch, of which only these charges are new."""
        free, reserved = self.runner.run(self._state())
        self.runner.run(Ledger(self.engine, self.holder, _WINDOW).write(batch))
        costs = sum(map(self._cost, new))
        # What the wallet and all its reservations do not cover is nobody's.
        self.paid += min(costs, free + reserved)

    def _cost(self, charge: Charge) -> int:
        """What a charge adds to the model's rows."""
        rows = self.rows.setdefault(charge.id, [])
        last = rows[-1] if rows else None
        if last is None or last.answers == _WINDOW.answers or abs(charge.at - last.at) > _WINDOW.seconds:
            rows.append(_Row(charge.at, charge.amount))
            self.days.update(requests=1, amount=charge.amount)
            return charge.amount
        more = max(0, charge.amount - last.amount)
        last.answers, last.amount = last.answers + 1, last.amount + more
        self.days.update(amount=more)
        return more

    @rule()
    def the_frontend_dies_and_another_settles_for_it(self) -> None:
        if self.spool:
            self._write(self.spool, [charge for _, charge in self.spool])
        self.runner.run(Ledger(self.engine, self.holder, _WINDOW).end())
        self._start()

    async def _state(self) -> tuple[int, int]:
        """Free and reserved micro-CHF."""
        async with self.engine.connect() as connection:
            free = await connection.scalar(sa.select(WALLETS.c.balance).where(WALLETS.c.org == _ORG))
            reserved = await connection.scalar(sa.select(sa.func.sum(RESERVATIONS.c.amount)))
            assert await connection.scalar(sa.select(sa.func.min(RESERVATIONS.c.amount))) not in range(-10_000, 0)
        return int(free or 0), int(reserved or 0)

    async def _recorded(self) -> tuple[dict[str, list[_Row]], Counter[str]]:
        columns = USAGE_EVENTS.c
        rows: dict[str, list[_Row]] = {}
        async with self.engine.connect() as connection:
            query = sa.select(columns.identity, columns.at, columns.amount, columns.answers)
            for row in await connection.execute(query.order_by(columns.identity, columns.ordinal)):
                rows.setdefault(row.identity, []).append(_Row(row.at, row.amount, row.answers))
            sums = sa.select(sa.func.sum(USAGE_DAYS.c.requests), sa.func.sum(USAGE_DAYS.c.amount))
            requests, amount = (await connection.execute(sums)).one()
        return rows, Counter(requests=int(requests or 0), amount=int(amount or 0))

    @invariant()
    def no_money_is_made_or_lost_and_every_answer_is_recorded(self) -> None:
        if not hasattr(self, "reserved"):
            return
        free, reserved = self.runner.run(self._state())
        assert free >= 0
        assert free + reserved == self.topped_up - self.paid
        assert self.runner.run(self._recorded()) == (self.rows, self.days)

    def teardown(self) -> None:
        if not hasattr(self, "reserved"):
            return
        self.the_frontend_dies_and_another_settles_for_it()
        free, reserved = self.runner.run(self._state())
        assert (free, reserved) == (self.topped_up - self.paid, 0)
        self.runner.run(self.engine.dispose())
        self.runner.close()
        for path in self.path.parent.glob("money.sqlite3*"):
            path.unlink()


_sleep = asyncio.sleep


async def _at_once(seconds: float) -> None:
    await _sleep(0)


TestMoney = histories(Money, 12, steps=25)
