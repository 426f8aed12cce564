#!/usr/bin/env bash
# Makes .env with a random password, with the given values in place of the example's:
#
#     docker/env.sh COMPOSE_PROFILES=gpu MODELS=hub
#
# An .env that is there stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -e .env ]; then
  echo ".env is there and stays as it is; edit it" >&2
  exit $(($# > 0))
fi
text=$(sed "s/change-me/$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')/" .env.example)
for value in "$@"; do
  name=${value%%=*}
  if [ "$name" = "$value" ] || ! grep -q "^$name=" <<< "$text"; then
    echo "$value: give NAME=VALUE, with a name of .env.example" >&2
    exit 2
  fi
  text=$(while IFS= read -r line; do [ "${line%%=*}" = "$name" ] && line=$value; printf '%s\n' "$line"; done <<< "$text")
done
umask 077
printf '%s\n' "$text" > .env.new
mv .env.new .env
