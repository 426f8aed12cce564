#!/usr/bin/env bash
# Runs Triton with what every Quartet's has, and with what is given besides, which goes before it.
set -euo pipefail
folder=$(dirname "$0")
while IFS='=' read -r name value; do
  export "$name=${!name:-$value}"
done < <(grep -v '^#' "$folder/triton.env")
mapfile -t arguments < <(grep -v '^#' "$folder/triton.args")
# Not in the place of this process: a container's first one would not end at SIGTERM until the models are loaded, since
# only then Triton listens to it.
server='' stopped=0 code=0
# Before there is a server: a signal in between would leave it running.
trap 'stopped=1; [ -z "$server" ] || kill "$server"' TERM INT
tritonserver "${arguments[@]}" "$@" &
server=$!
[ $stopped = 0 ] || kill "$server"
wait "$server" || code=$?
if [ $stopped = 1 ]; then
  code=0
  wait "$server" || code=$?
fi
exit $code
