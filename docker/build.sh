#!/usr/bin/env bash
# Builds Quartet's images with docker, podman or buildah, whichever is there:
#
#     docker/build.sh [--base frontend=IMAGE]... [--push] [IMAGE...] [-- OPTION...]
#
# IMAGE is frontend, export, triton or triton-embedded (a Triton without NVIDIA's image); without one, the first three are
# built. --base names another base image. Arguments after -- go to the builder, such as --build-arg NAME=VALUE or, for
# pip's settings, --secret id=pip,src=$HOME/.config/pip/pip.conf. TAG chooses the tag, BUILDER the builder, and REGISTRY
# the prefix of the image's name (localhost/quartet). --push pushes to that registry, signs with cosign if COSIGN_KEY is
# set, and prints the digests for the chart.
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A bases=()
images=()
push=
while [ $# -gt 0 ]; do
  case $1 in
    --base) bases[${2%%=*}]=${2#*=}; shift 2 ;;
    --push) push=1; shift ;;
    --) shift; break ;;
    -*) echo "there is no option $1; options of the builder go after --" >&2; exit 2 ;;
    *) images+=("$1"); shift ;;
  esac
done
[ ${#images[@]} -gt 0 ] || images=(frontend export triton)

usable() { command -v "$1" > /dev/null && "$1" info > /dev/null 2>&1; }
builder=${BUILDER:-}
for found in docker podman buildah; do
  [ -n "$builder" ] || ! usable "$found" || builder=$found
done
version=$(sed -n '/^version = /{s/.*"\(.*\)"$/\1/p;q}' pyproject.toml)
tag=${TAG:-$version}
registry=${REGISTRY:-localhost/quartet}
if [ -n "$push" ] && [ "${registry%%/*}" = localhost ]; then
  echo "--push needs REGISTRY, such as registry.example/quartet" >&2
  exit 2
fi
case $builder in
  docker) command=(docker build) ;;
  # Only Docker's format has health checks.
  podman) command=(podman build --format docker) ;;
  # Chroot needs no daemon and no namespaces, which CI lacks.
  buildah) command=(buildah build --isolation chroot --format docker) ;;
  *) echo "install docker, podman or buildah" >&2; exit 2 ;;
esac
revision=$(git rev-parse HEAD 2> /dev/null || echo unknown)

for image in "${images[@]}"; do
  base=(${bases[$image]:+--build-arg "BASE=${bases[$image]}"})
  "${command[@]}" --file "docker/$image.Dockerfile" --tag "$registry/$image:$tag" --build-arg "VERSION=$version" \
    --build-arg "REVISION=$revision" "${base[@]}" "$@" .
done

for image in "${images[@]}"; do
  case $builder in
    docker | podman) size=$("$builder" image inspect --format '{{.Size}}' "$registry/$image:$tag") ;;
    buildah) size=$(buildah images --json "$registry/$image:$tag" | sed -n 's/.*"size": "\(.*\)",/\1/p') ;;
  esac
  echo "$registry/$image:$tag $size"
done
[ -n "$push" ] || exit 0

for image in "${images[@]}"; do
  name=$registry/$image:$tag
  case $builder in
    docker)
      docker push "$name"
      digest=$(docker image inspect --format '{{index .RepoDigests 0}}' "$name")
      ;;
    *)
      "$builder" push --digestfile "${TMPDIR:-/tmp}/quartet.$$" "$name"
      digest=$registry/$image@$(cat "${TMPDIR:-/tmp}/quartet.$$")
      rm "${TMPDIR:-/tmp}/quartet.$$"
      ;;
  esac
  if [ -n "${COSIGN_KEY:-}" ]; then
    cosign sign --yes --key "$COSIGN_KEY" "$digest"
  fi
  echo "$digest"
done
