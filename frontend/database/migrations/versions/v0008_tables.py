"""All tables of the first release. Migrations after it never change this file."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = None


def upgrade() -> None:
    _create_keys()
    _create_usage()
    _create_wallets()
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("actor", sa.String(16), nullable=False),
        sa.Column("origin", sa.String(128), nullable=False),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("target", sa.String(128), nullable=False),
        sa.Column("details", sa.Text, nullable=False),
        sa.Index("audit_at", "at", "id"),
        sa.Index("audit_target", "target", "at", "id"),
    )


def _create_keys() -> None:
    op.create_table(
        "orgs",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("requests_per_minute", sa.Integer),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("tier", sa.String(16), nullable=False),
        sa.Column("org", sa.String(64), sa.ForeignKey("orgs.name")),
        sa.Column("limits", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
        sa.Index("api_keys_org", "org"),
    )
    op.create_table(
        "api_key_secrets",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("key_id", sa.String(32), sa.ForeignKey("api_keys.id"), nullable=False),
        sa.Column("prefix", sa.String(16), nullable=False, unique=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("last_used_at", sa.BigInteger),
        sa.Index("api_key_secrets_key_id", "key_id"),
        sa.Index("api_key_secrets_created_at", "created_at", "prefix"),
    )


def _create_usage() -> None:
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
        sa.Column("identity", sa.String(32), nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("answers", sa.Integer, nullable=False),
        sa.Index("usage_events_key_id_at", "key_id", "at"),
        sa.Index("usage_events_identity", "identity"),
        sa.Index("usage_events_request_id", "request_id"),
    )
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
        sa.Index("usage_days_org_day", "org", "day"),
        sa.Index("usage_days_key_id_day", "key_id", "day"),
    )
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
    op.create_table(
        "usage_spools",
        sa.Column("holder", sa.String(32), primary_key=True),
        sa.Column("place", sa.BigInteger, nullable=False),
    )


def _create_wallets() -> None:
    op.create_table(
        "wallets",
        sa.Column("org", sa.String(64), sa.ForeignKey("orgs.name"), primary_key=True),
        sa.Column("balance", sa.BigInteger, sa.CheckConstraint("balance >= 0"), nullable=False),
    )
    op.create_table(
        "reservations",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("holder", sa.String(32), nullable=False),
        sa.Column("org", sa.String(64), sa.ForeignKey("wallets.org"), nullable=False),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Index("reservations_holder", "holder"),
        sa.Index("reservations_org", "org"),
    )
    op.create_table(
        "topups",
        sa.Column("reference", sa.String(128), primary_key=True),
        sa.Column("org", sa.String(64), sa.ForeignKey("wallets.org"), nullable=False),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Index("topups_org_at", "org", "at", "reference"),
    )
