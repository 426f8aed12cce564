#!/usr/bin/env bash
# Runs Triton with what every Quartet's has, and with what is given besides, which goes before it.
set -euo pipefail
folder=$(dirname "$0")
while IFS='=' read -r name value; do
  export "$name=${!name:-$value}"
done < <(grep -v '^#' "$folder/triton.env")
mapfile -t arguments < <(grep -v '^#' "$folder/triton.args")
exec tritonserver "${arguments[@]}" "$@"
