#!/usr/bin/env bash
# Copies configurations and code into the shared volume, then exports weights into it; a second run redoes nothing.
set -euo pipefail
cd "$(dirname "$0")"
cp -r model_repository/. "${MODELS_FOLDER:-/models}/"
exec python -m scripts.export_models --repository "${MODELS_FOLDER:-/models}" --work "${WORK_FOLDER:-/work}" "$@"
