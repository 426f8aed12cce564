"""Reservations per request instead of leases of frontends, which are returned to the wallets."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    held = "(SELECT coalesce(sum(amount), 0) FROM wallet_leases WHERE wallet_leases.org = wallets.org)"
    op.execute(f"UPDATE wallets SET balance = balance + {held}")
    op.drop_table("wallet_leases")
    op.drop_column("wallets", "wanted_by")
    op.create_table(
        "reservations",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("holder", sa.String(32), nullable=False),
        sa.Column("org", sa.String(64), sa.ForeignKey("wallets.org"), nullable=False),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
    op.create_index("reservations_holder", "reservations", ["holder"])
    op.create_index("reservations_org", "reservations", ["org"])
