"""Outcomes and durations of requests, summed by day."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    counts = ["answered", "mistaken", "refused", "failed", "hung_up", *(f"took_{place}" for place in range(36))]
    op.create_table(
        "request_days",
        sa.Column("org", sa.String(64), primary_key=True),
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("key_id", sa.String(64), primary_key=True),
        sa.Column("operation", sa.String(32), primary_key=True),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in counts),
    )
    op.create_index("request_days_key_id_day", "request_days", ["key_id", "day"])
