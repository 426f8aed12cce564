#!/usr/bin/env bash
# Makes a database as the official image does, of POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB, and serves it.
set -euo pipefail
data=/var/lib/postgresql/data
if [ ! -e "$data/PG_VERSION" ]; then
  initdb --pgdata "$data" --username "$POSTGRES_USER" --auth-host scram-sha-256 --encoding UTF8 \
    --pwfile <(printf '%s\n' "$POSTGRES_PASSWORD")
  echo "host all all all scram-sha-256" >> "$data/pg_hba.conf"
  printf 'CREATE DATABASE %s;\n' "$POSTGRES_DB" | postgres --single -D "$data" postgres
fi
exec postgres -D "$data" -c listen_addresses='*'
