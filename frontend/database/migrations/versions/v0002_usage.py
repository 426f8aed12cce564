"""Charges, their sums by day, wallets, leases of wallets, and top-ups."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "usage_events",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("request_id", sa.String(128), nullable=False),
        sa.Column("key_id", sa.String(64), nullable=False),
        sa.Column("org", sa.String(64)),
        sa.Column("operation", sa.String(32), nullable=False),
        sa.Column("model", sa.String(32), nullable=False),
        sa.Column("quantity", sa.BigInteger, nullable=False),
        sa.Column("unit", sa.String(32), nullable=False),
        sa.Column("price", sa.BigInteger, nullable=False),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("prepaid", sa.Boolean, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_index("usage_events_key_id_at", "usage_events", ["key_id", "at"])
    op.create_index("usage_events_request_id", "usage_events", ["request_id"])
    op.create_table(
        "usage_days",
        sa.Column("day", sa.String(10), primary_key=True),
        sa.Column("org", sa.String(64), primary_key=True),
        sa.Column("key_id", sa.String(64), primary_key=True),
        sa.Column("model", sa.String(32), primary_key=True),
        sa.Column("operation", sa.String(32), nullable=False),
        sa.Column("requests", sa.BigInteger, nullable=False),
        sa.Column("quantity", sa.BigInteger, nullable=False),
        sa.Column("amount", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "wallets",
        sa.Column("org", sa.String(64), sa.ForeignKey("orgs.name"), primary_key=True),
        sa.Column("balance", sa.BigInteger, sa.CheckConstraint("balance >= 0"), nullable=False),
        sa.Column("wanted_by", sa.String(32)),
    )
    op.create_table(
        "wallet_leases",
        sa.Column("holder", sa.String(32), primary_key=True),
        sa.Column("org", sa.String(64), sa.ForeignKey("wallets.org"), primary_key=True),
        sa.Column("amount", sa.BigInteger, sa.CheckConstraint("amount >= 0"), nullable=False),
    )
    op.create_table(
        "topups",
        sa.Column("reference", sa.String(128), primary_key=True),
        sa.Column("org", sa.String(64), sa.ForeignKey("wallets.org"), nullable=False),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
