"""Whether the ledger has each delivered answer once and nothing else."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select

from frontend.administration.usage.queries import UsageQueries
from frontend.database.engine import open_engine
from frontend.database.tables import RESERVATIONS, USAGE_DAYS, USAGE_EVENTS
from tests.soak.product import ORG, TOP_UP
from tests.soak.traffic import Answer

# Of a decoder that rounds a recording's end to a sample.
_ROUNDING = 1
# The utterances of a live session, whose items have names of their own.
_UTTERANCES, _ITEM = 2, "item_"


@dataclass(frozen=True)
class Ledger:
    """The rows as (charge, amount, prepaid), the sums by day, the balance, and what is still reserved."""

    rows: Sequence[tuple[str, int, bool]]
    by_day: int
    balance: int
    reserved: int


async def read(database: str) -> Ledger:
    engine = open_engine(database)
    async with engine.connect() as connection:
        columns = (USAGE_EVENTS.c.request_id, USAGE_EVENTS.c.amount, USAGE_EVENTS.c.prepaid)
        rows = [(row[0], row[1], row[2]) for row in await connection.execute(select(*columns))]
        by_day = int(await connection.scalar(select(func.sum(USAGE_DAYS.c.amount))) or 0)
        reserved = int(await connection.scalar(select(func.count()).select_from(RESERVATIONS)) or 0)
    balance = await UsageQueries(engine).balance(ORG)
    await engine.dispose()
    return Ledger(rows, by_day, balance or 0, reserved)


def faults(ledger: Ledger, answers: Sequence[Answer]) -> list[str]:
    """Whatever is not as it must be. A transcript without a word is free."""
    owed = {name: amount for answer in answers for name, amount in answer.owes.items()}
    maybe = {name for answer in answers for name in answer.may_owe}
    kinds = {answer.id: answer for answer in answers}
    found, amounts = Counter(name for name, _, _ in ledger.rows), {name: amount for name, amount, _ in ledger.rows}
    lost = sorted(owed.keys() - found.keys())
    more = sorted(found.keys() - owed.keys() - maybe)
    # Who leaves a live session at an error does not hear which items began after it.
    unheard = _UTTERANCES * sum(answer.kind == "live sessions" and answer.fate != "whole" for answer in answers)
    if len(more) <= unheard and all(name.startswith(_ITEM) for name in more):
        more = []
    twice = [name for name, times in found.items() if times > 1]
    other = [name for name, amount in owed.items() if abs(amounts.get(name, amount) - amount) > _ROUNDING]
    spent = sum(amount for _, amount, is_prepaid in ledger.rows if is_prepaid)
    checks = {
        f"{len(lost)} answers are not charged: {_told(lost, kinds)}": not lost,
        f"{len(more)} charges are of answers that nobody has: {_told(more, kinds)}": not more,
        f"{len(twice)} are charged twice: {_told(twice, kinds)}": not twice,
        f"{len(other)} are charged another amount: {_told(other, kinds)}": not other,
        f"the balance is off by {TOP_UP - spent - ledger.balance}": TOP_UP - spent == ledger.balance,
        f"the sums by day are off by {sum(amounts.values()) - ledger.by_day}": sum(amounts.values()) == ledger.by_day
        or bool(twice),
        f"{ledger.reserved} reservations are left": not ledger.reserved,
    }
    return [fault for fault, holds in checks.items() if not holds]


def _told(names: Sequence[str], kinds: dict[str, Answer]) -> str:
    told = []
    for name in names[:5]:
        answer = kinds.get(name)
        told.append(f"{name} ({answer.kind}, {answer.fate}, at {answer.begun:.0f} s)" if answer else name)
    return ", ".join(told)
