# Fills the model repository once, then ends.
FROM python:3.12.12-slim-bookworm

WORKDIR /app
COPY model_repository/requirements.txt /app/model_repository/requirements.txt
COPY scripts/export_models/requirements.txt scripts/export_models/requirements-nodeps.txt /app/scripts/export_models/
RUN python -m pip install --no-cache-dir -r scripts/export_models/requirements.txt \
    && python -m pip install --no-cache-dir --no-deps -r scripts/export_models/requirements-nodeps.txt \
    && useradd --uid 10001 --create-home quartet \
    && install --directory --owner quartet /models /work
# The oldest ONNX Runtime that exports are checked on, apart from what changes more often.
COPY scripts/__init__.py /app/scripts/__init__.py
COPY scripts/export_models/__init__.py scripts/export_models/checkpoints.py /app/scripts/export_models/
COPY scripts/export_models/graphs/__init__.py scripts/export_models/graphs/runtimes.py \
    /app/scripts/export_models/graphs/
RUN python -m scripts.export_models.graphs.runtimes /opt/runtimes
COPY scripts /app/scripts
# What is offered: the export checks its own list against it.
COPY frontend/__init__.py /app/frontend/__init__.py
COPY frontend/catalogue /app/frontend/catalogue
COPY model_repository /app/model_repository
COPY docker/export.sh /app/export.sh

ENV PYTHONUNBUFFERED=1
ENV RUNTIMES_FOLDER=/opt/runtimes
USER 10001
ENTRYPOINT ["bash", "/app/export.sh"]
CMD ["--source", "demo"]
