#!/usr/bin/env bash
# Copies configurations and code into the shared volume, exports weights into it, and fits what is there to this machine;
# a second run redoes nothing.
set -euo pipefail
cd "$(dirname "$0")"
models=${MODELS_FOLDER:-/models}
# A voice's configuration is written by its export, from the graph that is served: a later start keeps it.
kept=$(mktemp --directory)
(cd "$models" && find . -path './piper_*/config.pbtxt' -exec cp --parents -t "$kept" {} +)
cp -r model_repository/. "$models/"
cp -r "$kept/." "$models/"
rm -r "$kept"
# Compose and the chart mount the folder of --source folder here; a --folder that is given too wins.
case " $* " in *" --source folder "*) set -- --folder /folder "$@" ;; esac
python -m scripts.export_models --repository "$models" --work "${WORK_FOLDER:-/work}" "$@"
# After the export, which writes configurations of its own.
exec python -m scripts.run.fit --repository "$models"
