"""Outcomes of requests have a row for each class of time, in the place of a column."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_GROUP = "org, day, key_id, operation"
_TIMES = [f"took_{place}" for place in range(36)]


def upgrade() -> None:
    op.create_table(
        "request_outcomes",
        sa.Column("org", sa.String(64), primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("key_id", sa.String(64), primary_key=True),
        sa.Column("operation", sa.String(32), primary_key=True),
        sa.Column("outcome", sa.String(16), primary_key=True),
        sa.Column("time_class", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("requests", sa.BigInteger, nullable=False),
        sa.Index("request_outcomes_key_id_day", "key_id", "day"),
    )
    for place, column in enumerate(_TIMES):
        _copy("answered", place, column)
    for outcome in ("mistaken", "refused", "failed", "hung_up"):
        _copy(outcome, -1, outcome)
    # Live sessions have no time.
    _copy("answered", -1, f"answered - ({' + '.join(_TIMES)})")
    op.drop_table("request_days")


def _copy(outcome: str, time_class: int, requests: str) -> None:
    values = f"{_GROUP}, '{outcome}', {time_class}, {requests}"
    op.execute(f"INSERT INTO request_outcomes SELECT {values} FROM request_days WHERE {requests} > 0")
