#!/usr/bin/env bash
# Copies configurations and code into the shared volume, exports weights into it, and fits what is there to this machine;
# a second run redoes nothing.
set -euo pipefail
cd "$(dirname "$0")"
cp -r model_repository/. "${MODELS_FOLDER:-/models}/"
# Triton's own ONNX Runtime is another than this image's: what passes on the oldest and on the newest serves.
runtimes=()
[ -z "${RUNTIMES_FOLDER:-}" ] || runtimes=(--onnxruntime oldest --runtimes "$RUNTIMES_FOLDER")
python -m scripts.export_models --repository "${MODELS_FOLDER:-/models}" --work "${WORK_FOLDER:-/work}" \
  "${runtimes[@]}" "$@"
# After the export, which writes configurations of its own.
exec python -m scripts.run.fit --repository "${MODELS_FOLDER:-/models}"
