#!/usr/bin/env bash
# Runs Triton with the arguments of triton.args and the given ones. MODEL_REPOSITORY is a folder of
# exported models, or a link to one. QUARTET_TRITON_SECRET, or the file that QUARTET_TRITON_SECRET_FILE names, has
# the secret that opens model control. Threads and instances fit this container's processors and memory.
set -euo pipefail
folder=$(dirname "$0")
while IFS='=' read -r name value; do
  export "$name=${!name:-$value}"
done < <(grep -v '^#' "$folder/triton.env")
mapfile -t arguments < <(grep -v '^#' "$folder/triton.args")
secret=${QUARTET_TRITON_SECRET:-}
[ -z "${QUARTET_TRITON_SECRET_FILE:-}" ] || secret=$(< "$QUARTET_TRITON_SECRET_FILE")
if [ -z "$secret" ]; then
  echo "QUARTET_TRITON_SECRET or QUARTET_TRITON_SECRET_FILE must have the secret that the frontends have" >&2
  exit 2
fi
# No exec: Triton handles SIGTERM only after it has loaded the models, and the kernel ignores SIGTERM for the first process
# of a container without a handler.
server='' stopped=0 code=0
# The trap comes before the server: a signal in between would leave the server running.
trap 'stopped=1; [ -z "$server" ] || kill "$server"' TERM INT
# Resolves the link once, so that a model reloaded later is still of the same export.
repository=${TMPDIR:-/tmp}/repository config=machine
for argument in "$@"; do
  case $argument in --model-config-name=*) config=${argument#*=} ;; esac
done
(cd "${APP:-/app}" && python3 -m scripts.run.fit --repository "${MODEL_REPOSITORY:-/models/current}" --into "$repository" \
  --name "$config") >&2
arguments=("${arguments[@]//\{nobody\}/$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')}")
tritonserver "${arguments[@]//\{secret\}/"$secret"}" "--model-repository=$repository" "$@" &
server=$!
[ $stopped = 0 ] || kill "$server"
wait "$server" || code=$?
if [ $stopped = 1 ]; then
  code=0
  wait "$server" || code=$?
fi
exit $code
