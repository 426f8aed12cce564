"""Every setting with its default, bounds and meaning."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


def setting(default: Any, help: str, *, secret: bool = False, **bounds: float) -> Any:
    """A setting within ``bounds`` as pydantic names them: ``ge`` and ``le``.

    A secret is hidden in ``repr`` and may come from a file (``_FILE``).
    """
    return field(default=default, repr=not secret, metadata={"description": help, "secret": secret, **bounds})


@dataclass(frozen=True)
class Fields:
    """The settings that a variable or a line of the settings file can set."""

    host: str = setting("127.0.0.1", "address to listen on")
    port: int = setting(8080, "port to listen on; 0 = any free port", ge=0, le=65535)
    admin_port: int = setting(0, "port for health, metrics and /admin/v1; 0 = same port as the API", ge=0, le=65535)
    admin_host: str = setting("127.0.0.1", "address to listen on for the admin port")
    workers: int = setting(1, "worker processes that accept requests; more than one needs Redis", ge=1, le=256)
    connections: int = setting(8192, "most open connections", ge=1)
    connections_per_address: int = setting(
        1024, "most connections from one address (IPv6: /64); 0 = unlimited; trusted proxies are exempt", ge=0
    )
    trusted_proxies: str = setting("", "networks of proxies whose X-Forwarded-For is trusted (10.0.0.0/8,fd00::/8)")
    header_seconds: float = setting(10.0, "time limit for the first headers of a new connection", ge=0.1)
    keepalive_seconds: float = setting(
        75.0, "close an idle connection after this time; must exceed that of the proxy", ge=1
    )
    body_seconds: float = setting(300.0, "time limit for receiving a request body", ge=1)
    min_body_rate: int = setting(8192, "minimum upload rate in bytes per second; slower uploads are rejected", ge=0)
    max_body_bytes: int = setting(4 * 1024**2, "largest JSON body in bytes", ge=1024)
    write_seconds: float = setting(30.0, "close a connection whose response makes no progress for this long", ge=1)
    min_answer_rate: int = setting(4096, "minimum download rate in bytes per second; slower downloads are ended", ge=1)
    held_bytes: int = setting(
        1024**3, "memory for bodies, samples and responses; one key or all bulk gets half", ge=64 * 1024**2
    )
    stop_delay_seconds: float = setting(
        5.0, "after SIGTERM, keep listening for this time while /health/ready answers 503", ge=0, le=300
    )
    drain_seconds: float = setting(
        0.0, "after that, time for running requests to finish; 0 = enough for the longest", ge=0
    )

    database: str = setting(
        "sqlite:///data/quartet.sqlite3", "database of keys and usage: sqlite:///file or postgresql://...", secret=True
    )
    database_connections: int = setting(
        4, "Postgres connections per process for keys, and as many for usage", ge=1, le=500
    )
    usage_folder: Path = setting(
        Path("data/usage"), "spool of charges that are not in the database yet; must be on disk"
    )
    repeat_seconds: int = setting(600, "time within which a retry with the same X-Request-Id is free", ge=0)
    repeat_answers: int = setting(3, "responses per charge: the first one and free retries", ge=1)
    redis: str = setting(
        "", "redis://... that frontends share limits in (?max_connections=8 is allowed); empty = memory", secret=True
    )
    redis_outage: Literal["local", "refuse"] = setting(
        "local", "while Redis is down: local = count in memory, refuse = reject requests"
    )

    cors_origins: str = setting(
        "", "origins whose pages may call from a browser (https://app.example.com), comma-separated; * = all"
    )
    manual: str = setting(
        "", "where 'make docs' put the manual (https://docs.example.com), which the pages link; empty = no link"
    )
    admin_key: str = setting("", "key for /admin/v1 and /keys, at least 32 bytes; empty = both are off", secret=True)
    wrong_keys_a_minute: int = setting(
        300, "wrong keys per minute and address (IPv6: /64) before rejections are delayed; 0 = unlimited", ge=0
    )
    unpaid_seconds: float = setting(
        30.0, "seconds of uncharged work by a process or a model, such as silence, before a key is throttled", ge=0.1
    )
    jwt_secret: str = setting("", "HS256 secret of mobile tokens, at least 32 bytes", secret=True)
    jwt_jwks: str = setting("", "file or https:// address of the public keys (JWKS) of mobile tokens")
    jwt_jwks_seconds: float = setting(300.0, "time between two reads of that address", ge=1)
    jwt_leeway_seconds: float = setting(5.0, "allowed clock difference when token times are checked", ge=0)
    jwt_audience: str = setting("quartet-mobile", "required aud of mobile tokens")
    jwt_issuer: str = setting("quartet", "required iss of mobile tokens")

    triton: str = setting(
        "127.0.0.1:8001", "host:port of Triton's gRPC service; several separated by commas; host names are resolved"
    )
    triton_secret: str = setting(
        "", "secret that Triton was started with, which opens its model control; empty = it has none", secret=True
    )
    resolve_seconds: float = setting(1.0, "time between two lookups of Triton addresses", ge=0.1, le=60)
    dns: str = setting("", "address:port of the DNS server; empty = /etc/resolv.conf")
    zone: str = setting("", "zone of this frontend; it prefers Tritons of the same zone")
    model_repository: Path = setting(Path("model_repository"), "folder of the exported models")
    models: str = setting("all", "models to serve: all, or a comma-separated list (stt-1,embed-m3)")
    voices: str = setting("all", "voices to serve: all, or a comma-separated list")
    extensions: str = setting("", "extensions of the API: all, or a comma-separated list; empty = none")
    ready_models: str = setting("any", "models that /health/ready needs: any, all, none, or a comma-separated list")
    concurrency: int = setting(0, "most calls per model in flight at one Triton; 0 = two executions per instance", ge=0)
    frontends: int = setting(1, "number of frontends on the same Tritons; used only without Redis", ge=1)

    request_seconds: float = setting(
        300.0, "deadline of a request after its body; also the longest time for one call", ge=1
    )
    audio_second_seconds: float = setting(1.0, "added to the deadline per second of audio", ge=0)
    token_budget: int = setting(16384, "most tokens in one call to Triton", ge=8192)
    calls_at_once: int = setting(8, "most calls of one request in flight", ge=1)
    windows_at_once: int = setting(0, "most windows of one recording in flight; 0 = the bound of the model", ge=0)
    queue_per_key: int = setting(256, "most calls of one key that wait for a model", ge=1)
    queue_per_tier: int = setting(4096, "most calls of one tier that wait for a model", ge=1)
    queue_age_seconds: float = setting(4.0, "a call that has waited this long may go before higher tiers", ge=0)
    queue_hold_seconds: float = setting(
        5.0, "idle time after which others use what is kept for a floor or a tier, and bulk work a Triton", ge=0
    )

    audio_workers: int = setting(2, "processes that decode audio", ge=1, le=256)
    text_workers: int = setting(2, "processes that parse long JSON and turn text into phonemes", ge=1, le=64)
    threads: int = setting(2, "threads that tokenize, encode speech and assemble transcripts", ge=1, le=256)
    max_audio_seconds: float = setting(7200.0, "longest audio after decoding", ge=1)
    max_speech_seconds: float = setting(900.0, "longest speech that one request may produce", ge=1)
    silence_dbfs: float = setting(-50.0, "audio with a lower peak counts as silence", ge=-120, le=0)
    speech_probability: float = setting(0.5, "probability from which the voice detector reports speech", ge=0, le=1)
    live_sessions: int = setting(32, "most live sessions (/v1/realtime) of one key at once, per worker", ge=1)
    live_seconds: float = setting(3600.0, "longest live session", ge=1)
    live_idle_seconds: float = setting(300.0, "close a live session that sends no event for this time", ge=1)
    sentence_pause_seconds: float = setting(0.2, "silence between two spoken sentences", ge=0, le=5)
    mp3_kbps: int = setting(64, "bit rate of MP3 responses in kbit/s", ge=32, le=160)

    chat_upstream: str = setting("", "base URL, with /v1, of an OpenAI-compatible server for chat and responses")
    chat_upstream_key: str = setting("", "API key for that server", secret=True)
    chat_concurrency: int = setting(16, "most requests in flight to that server, shared by all workers", ge=1)
    chat_output_tokens: int = setting(
        4096,
        "tokens to reserve if a chat request sets no maximum; the answer to a prepaid one is limited to them",
        ge=1,
    )
    chat_reference_tokens: int = setting(
        0, "tokens to reserve per image, sound, file or stored message of a prepaid chat; 0 = refuse them", ge=0
    )

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = setting(
        "INFO", "lowest level that is logged: DEBUG, INFO, WARNING or ERROR"
    )
    log_format: Literal["json", "plain"] = setting("json", "json or plain")
    otlp_endpoint: str = setting("", "http:// or https:// address of an OTLP collector (gRPC); empty = no traces")
    trace_ratio: float = setting(1.0, "share of traces that is sent, from 0 to 1", ge=0, le=1)
