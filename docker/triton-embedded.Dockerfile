# The embedded Triton of 'make run', for laptops and CI without NVIDIA's image: Triton 2.51 for processors only, and a
# replacement for its ONNX Runtime backend. It takes the same arguments.
ARG BASE=python:3.12.12-slim-bookworm@sha256:593bd06efe90efa80dc4eee3948be7c0fde4134606dd40d8dd8dbcade98e669c

# hadolint ignore=DL3006
FROM ${BASE} AS image
WORKDIR /app
RUN useradd --uid 1000 --no-create-home triton-server
COPY model_repository/requirements.txt model_repository/triton.args \
    model_repository/triton.env /app/model_repository/
COPY scripts/local_triton /app/scripts/local_triton
COPY scripts/__init__.py scripts/machine.py /app/scripts/
COPY scripts/run/__init__.py scripts/run/fit.py scripts/run/fit_overrides.py scripts/run/model_configs.py \
    /app/scripts/run/
COPY frontend/__init__.py /app/frontend/
COPY frontend/catalogue /app/frontend/catalogue
ENV PIP="python -m pip --python /opt/quartet/bin/python"
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    python -m venv --without-pip /opt/quartet \
    && ${PIP} install --no-cache-dir --no-deps --require-hashes -r model_repository/requirements.txt \
        -r scripts/local_triton/requirements.txt
ENV PATH=/opt/quartet/bin:${PATH}
# At build time, because a container's root may be read-only.
RUN python -c "from pathlib import Path; from scripts.local_triton import assemble, checks; checks.find_libpython(); \
    assemble.assemble_backends(checks.find_wheel(), Path('/app/backends'))"
COPY docker/tritonserver.py /opt/quartet/bin/tritonserver
COPY docker/triton.sh /app/model_repository/

FROM image AS sbom
COPY docker/sbom.py docker/requirements.txt /tmp/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf python /tmp/sbom.py /tmp/sbom.json

FROM image
COPY --from=sbom /tmp/sbom.json /usr/share/quartet/
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="The embedded Triton for Quartet" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
USER 1000
EXPOSE 8000 8001 8002
HEALTHCHECK --interval=10s --timeout=5s --start-period=300s --retries=6 \
    CMD ["python", "-c", "from urllib.request import ProxyHandler, build_opener; build_opener(ProxyHandler({})).open('http://127.0.0.1:8000/v2/health/ready', timeout=4)"]
ENTRYPOINT ["/app/model_repository/triton.sh"]
