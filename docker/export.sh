#!/usr/bin/env bash
# Copies configurations and code into the shared volume, exports weights into it, and fits what is there to this machine;
# a second run redoes nothing.
set -euo pipefail
cd "$(dirname "$0")"
cp -r model_repository/. "${MODELS_FOLDER:-/models}/"
python -m scripts.export_models --repository "${MODELS_FOLDER:-/models}" --work "${WORK_FOLDER:-/work}" "$@"
# After the export, which writes configurations of its own.
exec python -m scripts.fit --repository "${MODELS_FOLDER:-/models}"
