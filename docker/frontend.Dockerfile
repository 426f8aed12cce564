# The HTTP frontend.
FROM python:3.12.12-slim-bookworm

WORKDIR /app
COPY frontend/requirements.txt frontend/requirements-nodeps.txt /tmp/
RUN python -m pip install --no-cache-dir -r /tmp/requirements.txt \
    && python -m pip install --no-cache-dir --no-deps -r /tmp/requirements-nodeps.txt \
    && rm /tmp/requirements.txt /tmp/requirements-nodeps.txt \
    && useradd --uid 10001 --no-create-home quartet \
    && install -d -o 10001 /usage
COPY pyproject.toml README.md /tmp/quartet/
COPY frontend /tmp/quartet/frontend
RUN python -m pip install --no-cache-dir --no-deps /tmp/quartet && rm -r /tmp/quartet

ENV PYTHONUNBUFFERED=1 QUARTET_HOST=0.0.0.0 QUARTET_PORT=8080 QUARTET_MODEL_REPOSITORY=/models \
    QUARTET_USAGE_FOLDER=/usage QUARTET_ADMIN_HOST=0.0.0.0 QUARTET_ADMIN_PORT=8081
USER 10001
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=6 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8081/health/ready', timeout=4)"]
ENTRYPOINT ["quartet"]
CMD ["serve"]
