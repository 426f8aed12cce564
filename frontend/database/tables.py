"""The tables as they are now. Times are whole seconds since 1970, UTC."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, String, Table, Text

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
    # JSON: the name of an endpoint's limit to requests a minute, for those that differ from the tier's.
    Column("limits", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
)

# A key keeps its id when it is rotated; for a while it may have two secrets.
SECRETS = Table(
    "api_key_secrets",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("key_id", String(32), ForeignKey("api_keys.id"), nullable=False),
    Column("prefix", String(16), nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Index("api_key_secrets_key_id", "key_id"),
)
