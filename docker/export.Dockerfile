# Fills the model repository once, then ends.
ARG BASE=python:3.12.12-slim-bookworm@sha256:593bd06efe90efa80dc4eee3948be7c0fde4134606dd40d8dd8dbcade98e669c

# hadolint ignore=DL3006
FROM ${BASE} AS image
WORKDIR /app
RUN useradd --uid 10001 --no-create-home quartet && install --directory --owner quartet /models /work /voices
COPY model_repository/requirements.txt model_repository/requirements-nodeps.txt /app/model_repository/
COPY scripts/export_models/requirements.txt /app/scripts/export_models/
COPY scripts/install/requirements.txt /app/scripts/install/
ENV PIP="python -m pip --python /opt/quartet/bin/python"
# PyPI's PyTorch has CUDA, which no export needs: 4 GB. One without it comes from the index of pip's settings if that has
# it, else by uv from PyTorch's own. WITH_CUDA=1 takes PyPI's where neither can be reached.
ARG WITH_CUDA=""
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    python -m venv --without-pip /opt/quartet \
    && torch=$(grep '^torch==' scripts/export_models/requirements.txt) \
    && { [ -n "${WITH_CUDA}" ] || ${PIP} install --no-cache-dir --no-deps "${torch}+cpu" \
    || { python -m venv /tmp/uv && /tmp/uv/bin/pip install --no-cache-dir -r scripts/install/requirements.txt \
    && /tmp/uv/bin/uv pip install --no-cache --python /opt/quartet/bin/python --no-deps --torch-backend cpu "${torch}"; }; } \
    && ${PIP} install --no-cache-dir -r scripts/export_models/requirements.txt \
    && rm -rf /tmp/uv \
    && ${PIP} install --no-cache-dir --no-deps -r model_repository/requirements-nodeps.txt
ENV PATH=/opt/quartet/bin:${PATH}
COPY scripts /app/scripts
# The catalogue, which the export compares with its own list, the alphabets of voices, of which it writes samples, and the
# recordings, on which it compares Whispers.
COPY frontend/__init__.py /app/frontend/__init__.py
COPY frontend/catalogue /app/frontend/catalogue
COPY frontend/text/__init__.py frontend/text/alphabets.py frontend/text/kokoro.py /app/frontend/text/
COPY client/__init__.py /app/client/
COPY client/recordings /app/client/recordings
COPY model_repository /app/model_repository
# Libraries write their caches to HOME, so it is the folder with room.
ENV PYTHONUNBUFFERED=1 HOME=/work

FROM image AS sbom
COPY docker/sbom.py /tmp/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf python /tmp/sbom.py /tmp/sbom.json

FROM image
COPY --from=sbom /tmp/sbom.json /usr/share/quartet/
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Quartet's export of models" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
USER 10001
ENTRYPOINT ["python", "-m", "scripts.export_models.publish", "--work", "/work", "--folder", "/folder", "--voices", "/voices"]
CMD ["--source", "demo"]
