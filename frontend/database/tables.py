"""The current tables. Times are whole seconds since 1970, UTC."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData()

ORGS = Table(
    "orgs",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("requests_per_minute", Integer),
    Column("created_at", BigInteger, nullable=False),
)

KEYS = Table(
    "api_keys",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(128), nullable=False),
    Column("tier", String(16), nullable=False),
    Column("org", String(64), ForeignKey("orgs.name")),
    # JSON: requests per minute by limit, if they differ from the tier's.
    Column("limits", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
    Index("api_keys_org", "org"),
)

# A rotated key keeps its id. For a while it has two secrets.
SECRETS = Table(
    "api_key_secrets",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("key_id", String(32), ForeignKey("api_keys.id"), nullable=False),
    Column("prefix", String(16), nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    # Accurate to four minutes.
    Column("last_used_at", BigInteger),
    Index("api_key_secrets_key_id", "key_id"),
    Index("api_key_secrets_created_at", "created_at", "prefix"),
)

# One row per charge. Amounts are in micro-CHF. A price is for one unit; a quantity counts milliseconds, characters or
# tokens. A retry of a request has the same identity. If it comes too late or too often, it is charged again, with the
# next ordinal. ``answers`` counts the answers that a charge has paid for.
USAGE_EVENTS = Table(
    "usage_events",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("request_id", String(128), nullable=False),
    Column("key_id", String(64), nullable=False),
    Column("org", String(64)),
    Column("operation", String(32), nullable=False),
    Column("model", String(32), nullable=False),
    Column("quantity", BigInteger, nullable=False),
    Column("unit", String(32), nullable=False),
    Column("price", BigInteger, nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("prepaid", Boolean, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("identity", String(32), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("answers", Integer, nullable=False),
    Index("usage_events_key_id_at", "key_id", "at"),
    Index("usage_events_identity", "identity"),
    Index("usage_events_request_id", "request_id"),
)

# Sums of charges, written with them. The day is YYYY-MM-DD, UTC. The org is empty for a key without one.
USAGE_DAYS = Table(
    "usage_days",
    metadata,
    Column("day", String(10), primary_key=True),
    Column("org", String(64), primary_key=True),
    Column("key_id", String(64), primary_key=True),
    Column("model", String(32), primary_key=True),
    Column("operation", String(32), nullable=False),
    Column("requests", BigInteger, nullable=False),
    Column("quantity", BigInteger, nullable=False),
    Column("amount", BigInteger, nullable=False),
    Index("usage_days_org_day", "org", "day"),
    Index("usage_days_key_id_day", "key_id", "day"),
)

# A key's requests by outcome and by the class of the answer's time (``administration/usage/outcomes.py``), over all
# frontends. The org is empty for a key without one.
REQUEST_OUTCOMES = Table(
    "request_outcomes",
    metadata,
    Column("org", String(64), primary_key=True),
    Column("day", String(10), primary_key=True),
    Column("key_id", String(64), primary_key=True),
    Column("operation", String(32), primary_key=True),
    Column("outcome", String(16), primary_key=True),
    Column("time_class", Integer, primary_key=True),
    Column("requests", BigInteger, nullable=False),
    Index("request_outcomes_key_id_day", "key_id", "day"),
)

# The credit of an organisation that is not reserved.
WALLETS = Table(
    "wallets",
    metadata,
    Column("org", String(64), ForeignKey("orgs.name"), primary_key=True),
    Column("balance", BigInteger, CheckConstraint("balance >= 0"), nullable=False),
)

# Credit that a frontend has reserved for a running request, until its charge is written or it expires.
RESERVATIONS = Table(
    "reservations",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("holder", String(32), nullable=False),
    Column("org", String(64), ForeignKey("wallets.org"), nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("reservations_holder", "holder"),
    Index("reservations_org", "org"),
)

# The position in a frontend's spool up to which the database has its charges.
USAGE_SPOOLS = Table(
    "usage_spools",
    metadata,
    Column("holder", String(32), primary_key=True),
    Column("place", BigInteger, key="position", nullable=False),
)

TOPUPS = Table(
    "topups",
    metadata,
    Column("reference", String(128), primary_key=True),
    Column("org", String(64), ForeignKey("wallets.org"), nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("topups_org_at", "org", "at", "reference"),
)

# The audit log, written with each change and never deleted. The details are JSON without secrets.
AUDIT = Table(
    "audit",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("actor", String(16), nullable=False),
    Column("origin", String(128), nullable=False),
    Column("action", String(32), nullable=False),
    Column("target", String(128), nullable=False),
    Column("details", Text, nullable=False),
    Index("audit_at", "at", "id"),
    Index("audit_target", "target", "at", "id"),
)
