#!/usr/bin/env bash
# Runs apps and libraries against a product that 'make run' has started with the aliases of docs/apps.md and with
# QUARTET_EXTENSIONS=all:
# lab/apps/run.sh [with_langchain ... | node]. It installs each into build/apps once (3 GB in all). Each prints a line per
# operation; without aliases or extensions, some operations fail.
set -euo pipefail
cd "$(dirname "$0")/../.."
# The apps need different versions of the same packages.
declare -A environments=([with_langchain]=libraries [with_llama_index]=libraries [with_haystack]=libraries
  [with_litellm]=litellm [with_dify]=dify [with_open_webui]=open_webui [node]=node)
set -a
# shellcheck source=/dev/null
source build/demo.env
set +a
PATH=$PWD/.venv/clients/bin:$PATH
[ $# -gt 0 ] || set -- with_langchain with_llama_index with_haystack with_litellm with_dify with_open_webui node
status=0
for script in "$@"; do
  place=$PWD/build/apps/${environments[$script]}
  if [ ! -e "$place/installed" ]; then
    echo "installing ${environments[$script]} into $place"
    mkdir -p "$place"
    if [ "$script" = node ]; then
      cp lab/apps/node/* "$place"
      npm install --prefix "$place" --ignore-scripts --legacy-peer-deps --no-audit --no-fund
    else
      .venv/bin/python -m venv --without-pip "$place"
      .venv/bin/uv pip install -q --no-deps --python "$place/bin/python" \
        -r "lab/apps/requirements/${environments[$script]}.txt"
    fi
    touch "$place/installed"
  fi
  echo "== $script"
  if [ "$script" = node ]; then
    (cd "$place" && timeout 300 node client.mjs) || status=1
  else
    timeout 300 "$place/bin/python" "lab/apps/$script.py" || status=1
  fi
done
exit $status
