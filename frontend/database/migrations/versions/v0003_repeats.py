"""Retries of a charge, and the position in a frontend's spool."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("usage_events", sa.Column("identity", sa.String(32), nullable=False, server_default=""))
    op.add_column("usage_events", sa.Column("ordinal", sa.Integer, nullable=False, server_default="0"))
    op.add_column("usage_events", sa.Column("answers", sa.Integer, nullable=False, server_default="1"))
    op.execute("UPDATE usage_events SET identity = id")
    op.create_index("usage_events_identity", "usage_events", ["identity"])
    op.create_table(
        "usage_spools",
        sa.Column("holder", sa.String(32), primary_key=True),
        sa.Column("place", sa.BigInteger, nullable=False),
    )
