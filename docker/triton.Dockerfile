# Triton with the packages that its Python models import. The ONNX Runtime backend is the image's own C++ one.
# The base has no digest here, because its registry could not be reached.
ARG BASE=nvcr.io/nvidia/tritonserver:26.09-py3

# hadolint ignore=DL3006
FROM ${BASE} AS image
# The second file has cuBLAS 12, for which CTranslate2's CUDA build looks; the image is on CUDA 13.
COPY model_repository/requirements.txt model_repository/requirements-gpu.txt /tmp/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    python3 -m pip install --no-cache-dir --break-system-packages --no-deps --require-hashes -r /tmp/requirements.txt \
    -r /tmp/requirements-gpu.txt && rm /tmp/requirements*.txt
ENV LD_LIBRARY_PATH=/usr/local/lib/python3.12/dist-packages/nvidia/cublas/lib:${LD_LIBRARY_PATH}
COPY model_repository/triton.args model_repository/triton.env docker/triton.sh /opt/quartet/
# The cache of machine code that the GPU's driver compiles.
RUN install --directory --owner 1000 /cuda
# Code that fits threads and instances to the container.
COPY scripts/__init__.py scripts/machine.py /app/scripts/
COPY scripts/local_triton/__init__.py scripts/local_triton/checks.py /app/scripts/local_triton/
COPY scripts/run/__init__.py scripts/run/fit.py scripts/run/fit_overrides.py scripts/run/model_configs.py \
    /app/scripts/run/
COPY frontend/__init__.py /app/frontend/
COPY frontend/catalogue /app/frontend/catalogue

FROM image AS sbom
COPY docker/sbom.py docker/requirements.txt /tmp/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf python3 /tmp/sbom.py /tmp/sbom.json

FROM image
COPY --from=sbom /tmp/sbom.json /usr/share/quartet/
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Triton for Quartet" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
# The base image has this user, named triton-server.
USER 1000
EXPOSE 8000 8001 8002
HEALTHCHECK --interval=10s --timeout=5s --start-period=300s --retries=6 \
    CMD ["curl", "-fsS", "http://127.0.0.1:8000/v2/health/ready"]
ENTRYPOINT ["/opt/quartet/triton.sh"]
