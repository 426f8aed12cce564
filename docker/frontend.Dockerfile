# The HTTP frontend.
ARG BASE=python:3.12.12-slim-bookworm@sha256:593bd06efe90efa80dc4eee3948be7c0fde4134606dd40d8dd8dbcade98e669c

# hadolint ignore=DL3006
FROM ${BASE} AS build
# slim.py needs gcc.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends gcc && rm -rf /var/lib/apt/lists/* \
    && python -m venv --without-pip /opt/quartet
ENV PIP="python -m pip --python /opt/quartet/bin/python"
COPY frontend/requirements.txt /tmp/
COPY scripts/install/requirements.txt /tmp/install/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    ${PIP} install --no-cache-dir --no-compile --no-deps --require-hashes -r /tmp/requirements.txt \
    && python -m pip install --no-cache-dir --no-deps --require-hashes -r /tmp/install/requirements.txt
COPY pyproject.toml README.md /tmp/quartet/
COPY frontend /tmp/quartet/frontend
COPY client /tmp/quartet/client
RUN python -m pip wheel --no-build-isolation --no-deps --wheel-dir /tmp /tmp/quartet \
    && ${PIP} install --no-cache-dir --no-compile --no-deps /tmp/quartet-*.whl
COPY docker/slim.py /tmp/
RUN ["/opt/quartet/bin/python", "/tmp/slim.py"]

# hadolint ignore=DL3006
FROM ${BASE} AS image
RUN useradd --uid 10001 --no-create-home quartet && install --directory --owner quartet /usage
COPY --from=build /opt/quartet /opt/quartet
ENV PATH=/opt/quartet/bin:${PATH} PYTHONUNBUFFERED=1 QUARTET_HOST=0.0.0.0 QUARTET_PORT=8080 \
    QUARTET_MODEL_REPOSITORY=/models/current QUARTET_USAGE_FOLDER=/usage QUARTET_ADMIN_HOST=0.0.0.0 QUARTET_ADMIN_PORT=8081

FROM image AS sbom
COPY docker/sbom.py docker/requirements.txt /tmp/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf python /tmp/sbom.py /tmp/sbom.json

FROM image
COPY --from=sbom /tmp/sbom.json /usr/share/quartet/
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Quartet's HTTP frontend" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
USER 10001
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=6 \
    CMD ["python", "-c", "from urllib.request import ProxyHandler, build_opener; build_opener(ProxyHandler({})).open('http://127.0.0.1:8081/health/ready', timeout=4)"]
ENTRYPOINT ["quartet"]
CMD ["serve"]
