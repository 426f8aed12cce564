# Debian's Redis and Postgres in the place of the official images, where no registry can be reached.
ARG BASE=debian:bookworm-slim

# hadolint ignore=DL3006
FROM ${BASE}
# hadolint ignore=DL3008
RUN groupadd --gid 999 store && useradd --uid 999 --gid 999 --no-create-home store \
    && apt-get update && apt-get install -y --no-install-recommends redis-server postgresql \
    && rm -rf /var/lib/apt/lists/* /var/lib/postgresql \
    && install --directory --owner store --group store /var/lib/postgresql /var/run/postgresql
COPY postgres.sh /usr/local/bin/
ENV PATH=/usr/lib/postgresql/15/bin:${PATH}
USER 999
# SIGTERM would have Postgres wait for its callers.
STOPSIGNAL SIGINT
