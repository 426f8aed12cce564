"""The audit log, the last use of a key, and indexes of lists. No existing row is rewritten."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.String(16), nullable=False),
        sa.Column("origin", sa.String(128), nullable=False),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("target", sa.String(128), nullable=False),
        sa.Column("details", sa.Text, nullable=False),
    )
    op.create_index("audit_at", "audit", ["at", "id"])
    op.create_index("audit_target", "audit", ["target", "at", "id"])
    op.add_column("api_key_secrets", sa.Column("last_used_at", sa.BigInteger))
    op.create_index("api_key_secrets_created_at", "api_key_secrets", ["created_at", "prefix"])
    op.create_index("api_keys_org", "api_keys", ["org"])
    op.create_index("topups_org_at", "topups", ["org", "at", "reference"])
