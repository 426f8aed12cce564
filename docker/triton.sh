#!/usr/bin/env bash
# Runs Triton with the arguments that every Triton of Quartet has, and the given ones. MODEL_REPOSITORY is a folder of
# exported models, or a link to one. Threads and instances fit this container's processors and memory.
set -euo pipefail
folder=$(dirname "$0")
while IFS='=' read -r name value; do
  export "$name=${!name:-$value}"
done < <(grep -v '^#' "$folder/triton.env")
mapfile -t arguments < <(grep -v '^#' "$folder/triton.args")
# The folder that the link names now: a model that is loaded again later is still of the same export.
repository=${TMPDIR:-/tmp}/repository
(cd "${APP:-/app}" && python3 -m scripts.run.fit --repository "${MODEL_REPOSITORY:-/models/current}" --into "$repository") >&2
# Not by exec: the first process of a container does not end at SIGTERM until the models are loaded, because Triton
# handles the signal only then.
server='' stopped=0 code=0
# Before there is a server: a signal in between would leave it running.
trap 'stopped=1; [ -z "$server" ] || kill "$server"' TERM INT
tritonserver "${arguments[@]}" "--model-repository=$repository" "$@" &
server=$!
[ $stopped = 0 ] || kill "$server"
wait "$server" || code=$?
if [ $stopped = 1 ]; then
  code=0
  wait "$server" || code=$?
fi
exit $code
