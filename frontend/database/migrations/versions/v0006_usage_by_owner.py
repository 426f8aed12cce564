"""Indexes for the usage of one organisation or key."""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_index("usage_days_org_day", "usage_days", ["org", "day"])
    op.create_index("usage_days_key_id_day", "usage_days", ["key_id", "day"])
