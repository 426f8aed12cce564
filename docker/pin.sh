#!/usr/bin/env bash
# Asks the registries for the digest of each tag in compose.yaml, the Dockerfiles and the chart, and writes it there. It
# needs skopeo, or docker with buildx. Review the changes before you commit them.
set -euo pipefail
cd "$(dirname "$0")/.."

raw() { if command -v skopeo > /dev/null; then skopeo inspect --raw "docker://$1"; else docker buildx imagetools inspect --raw "$1"; fi; }
digest() {
  local file
  file=$(mktemp)
  raw "$1" > "$file" || { rm "$file"; echo "$1: its registry does not tell its digest" >&2; return 1; }
  echo "sha256:$(sha256sum < "$file" | cut -d' ' -f1)"
  rm "$file"
}

failed=0
# Images of other projects, as registry/name:tag.
for image in $(grep -hoE '(image: |BASE=)[a-z0-9./-]+:[a-z0-9.-]+' compose.yaml docker/*.Dockerfile | sed -E 's/^(image: |BASE=)//' | sort -u); do
  found=$(digest "$image") || { failed=1; continue; }
  echo "$image@$found"
  sed -i -E "s#^(.*(image: |BASE=))${image//./\\.}(@sha256:[0-9a-f]{64})?\$#\1$image@$found#" compose.yaml docker/*.Dockerfile
  # The chart has the same stores.
  sed -i -E "\#repository: ${image%:*}\$#,/digest:/s#digest: .*#digest: $found#" docker/helm/quartet/values.yaml
done
exit $failed
