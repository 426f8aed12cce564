# Fills the model repository once, then ends.
ARG BASE=python:3.12.12-slim-bookworm@sha256:593bd06efe90efa80dc4eee3948be7c0fde4134606dd40d8dd8dbcade98e669c

# hadolint ignore=DL3006
FROM ${BASE} AS image
WORKDIR /app
RUN useradd --uid 10001 --no-create-home quartet && install --directory --owner quartet /models /work /voices
COPY scripts/export_models/requirements.txt scripts/export_models/requirements-cpu.txt \
    scripts/export_models/requirements-cuda.txt /app/scripts/export_models/
COPY scripts/install/requirements.txt /app/scripts/install/
# PyTorch without CUDA is on pip's indexes of the secret, or else on PyTorch's own, which uv knows. No export needs 'cuda',
# which is for builds that reach PyPI alone.
ARG TORCH=cpu
ENV PIP="python -m pip --python /opt/quartet/bin/python"
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    python -m venv --without-pip /opt/quartet && python -m venv /tmp/uv \
    && ${PIP} install --no-cache-dir --no-deps --require-hashes -r scripts/export_models/requirements.txt \
    && { ${PIP} install --no-cache-dir --no-deps --require-hashes -r "scripts/export_models/requirements-${TORCH}.txt" \
    || { /tmp/uv/bin/pip install --no-cache-dir --no-deps --require-hashes -r scripts/install/requirements.txt \
    && /tmp/uv/bin/uv pip install --no-cache --python /opt/quartet/bin/python --no-deps --require-hashes \
    --torch-backend cpu -r scripts/export_models/requirements-cpu.txt; }; } && rm -r /tmp/uv
ENV PATH=/opt/quartet/bin:${PATH}
COPY scripts /app/scripts
# The catalogue, which the export compares with its own list, the reading of the settings file, which names added models,
# the alphabets of voices, of which it writes samples, and the recordings, on which it compares Whispers.
COPY frontend/__init__.py /app/frontend/__init__.py
COPY frontend/catalogue /app/frontend/catalogue
COPY frontend/config/__init__.py frontend/config/fields.py frontend/config/reading.py /app/frontend/config/
COPY frontend/text/__init__.py frontend/text/alphabets.py frontend/text/kokoro.py /app/frontend/text/
COPY client/__init__.py /app/client/
COPY client/recordings /app/client/recordings
COPY model_repository /app/model_repository
# Libraries write their caches to HOME, so it is the folder with room.
ENV PYTHONUNBUFFERED=1 HOME=/work

FROM image AS sbom
COPY docker/sbom.py docker/requirements.txt /tmp/
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
