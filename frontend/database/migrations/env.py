"""Run by Alembic; the connection, with its transaction and lock, comes from ``migrate``."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
