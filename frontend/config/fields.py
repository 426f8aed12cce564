"""Every setting with its default, its bounds and what it means."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal


def setting(default: Any, help: str, *, secret: bool = False, **bounds: float) -> Any:
    """A field that a variable sets, within ``bounds`` as pydantic names them: ``ge`` and ``le``.

    A secret is not shown, and can be read from a file instead.
    """
    return field(default=default, repr=not secret, metadata={"description": help, "secret": secret, **bounds})


@dataclass(frozen=True)
class Fields:
    """What a variable or a line of the settings' file sets."""

    host: str = setting("127.0.0.1", "address to listen on")
    port: int = setting(8080, "port to listen on; 0 takes a free one", ge=0, le=65535)
    admin_port: int = setting(0, "port for health, metrics and /admin/v1; 0 leaves them on the other", ge=0, le=65535)
    admin_host: str = setting("127.0.0.1", "address to listen on for admin_port")
    workers: int = setting(1, "processes that accept requests; more than one need redis for limits", ge=1, le=256)
    connections: int = setting(8192, "connections that are open at once", ge=1)
    connections_per_address: int = setting(
        1024, "of these, from an address (IPv6: a /64) that is no trusted proxy; 0 is no bound", ge=0
    )
    trusted_proxies: str = setting("", "networks (10.0.0.0/8,fd00::/8) of proxies whose X-Forwarded-For says who calls")
    header_seconds: float = setting(10.0, "time a new connection has to send its first headers", ge=0.1)
    keepalive_seconds: float = setting(75.0, "time an idle connection is kept; longer than a proxy keeps it", ge=1)
    body_seconds: float = setting(300.0, "time a client has to send its body", ge=1)
    min_body_rate: int = setting(8192, "bytes a second below which a body is refused", ge=0)
    max_body_bytes: int = setting(4 * 1024**2, "largest JSON body", ge=1024)
    write_seconds: float = setting(30.0, "a connection ends when its answer makes no way for so long", ge=1)
    min_answer_rate: int = setting(1024, "bytes a second below which an answer is broken off in the end", ge=1)
    held_bytes: int = setting(
        1024**3, "bytes of bodies, samples and answers at once, half for one key or all bulk work", ge=64 * 1024**2
    )
    stop_delay_seconds: float = setting(
        5.0, "time from SIGTERM, when /health/ready becomes 503, to the end of listening", ge=0, le=300
    )
    drain_seconds: float = setting(0.0, "time that requests have from then on; 0 is what the longest may take", ge=0)

    database: str = setting(
        "sqlite:///data/quartet.sqlite3", "where keys are kept: sqlite:///file or postgresql://...", secret=True
    )
    database_connections: int = setting(4, "connections of a process to Postgres for keys, and for usage", ge=1, le=500)
    usage_folder: Path = setting(Path("data/usage"), "where charges lie until the database has them; on a disk")
    repeat_seconds: int = setting(600, "time in which a charge pays for repeats of its request", ge=0)
    repeat_answers: int = setting(3, "answers to one request that a charge pays for", ge=1)
    redis: str = setting(
        "", "redis://... where frontends share limits, with ?max_connections=8 if need be; else memory", secret=True
    )
    redis_outage: Literal["local", "refuse"] = setting("local", "while Redis is away: local count, or refuse")

    cors_origins: str = setting(
        "", "pages that may call from a browser: origins with commas, such as https://app.example.com; * for all"
    )
    admin_key: str = setting("", "opens /admin/v1 and /keys, 32 bytes or more; without it there are none", secret=True)
    wrong_keys_a_minute: int = setting(
        300, "wrong keys from one address (IPv6: a /64) before their refusals wait; 0 is no bound", ge=0
    )
    unpaid_seconds: float = setting(
        30.0, "processor time of a key's audio and speech for nothing, such as silence, before it is slowed", ge=0.1
    )
    jwt_secret: str = setting("", "the HS256 secret of mobile tokens, 32 bytes or more", secret=True)
    jwt_jwks: str = setting("", "file or https:// address of the keys that sign mobile tokens")
    jwt_jwks_seconds: float = setting(300.0, "time between two readings of that address", ge=1)
    jwt_leeway_seconds: float = setting(5.0, "how far clocks may differ when a token's times are checked", ge=0)
    jwt_audience: str = setting("quartet-mobile", "the aud of mobile tokens")
    jwt_issuer: str = setting("quartet", "the iss of mobile tokens")

    triton: str = setting(
        "127.0.0.1:8001", "host:port of Triton's gRPC service; several with commas between; names are resolved"
    )
    resolve_seconds: float = setting(1.0, "time between two looks for the addresses of Tritons", ge=0.1, le=60)
    dns: str = setting("", "address:port of the DNS server that is asked; else those of /etc/resolv.conf")
    zone: str = setting("", "the zone of this frontend, whose Tritons go before others")
    model_repository: Path = setting(Path("model_repository"), "where the exported models lie")
    models: str = setting("all", "models that are served: all, or names with commas, such as stt-1,embed-m3")
    voices: str = setting("all", "voices that are served: all, or names with commas")
    ready_models: str = setting("any", "models that /health/ready waits for: any, all, none, or names with commas")
    concurrency: int = setting(0, "calls of a model in flight at one Triton; 0 sets no limit but two batches", ge=0)
    frontends: int = setting(1, "frontends over the same Tritons, where no redis tells", ge=1)

    request_seconds: float = setting(300.0, "time a request has from the end of its body, and a call at most", ge=1)
    audio_second_seconds: float = setting(1.0, "time a request has besides for each second of its audio", ge=0)
    token_budget: int = setting(16384, "tokens in one request to Triton", ge=8192)
    calls_at_once: int = setting(8, "calls that one request may have under way at once", ge=1)
    windows_at_once: int = setting(0, "windows of one recording at once; 0 is what the model may have in flight", ge=0)
    queue_per_key: int = setting(256, "calls of a key that may wait for a model", ge=1)
    queue_per_tier: int = setting(4096, "calls of a tier that may wait for a model", ge=1)
    queue_age_seconds: float = setting(4.0, "a call that has waited so long may go before its turn", ge=0)
    queue_hold_seconds: float = setting(5.0, "time until an idle owner's floor is lent, an idle Triton to bulk", ge=0)

    audio_workers: int = setting(2, "processes that decode audio", ge=1, le=256)
    text_workers: int = setting(2, "processes that parse long JSON and turn text into phonemes", ge=1, le=64)
    threads: int = setting(2, "threads that tokenize, encode speech and put transcripts together", ge=1, le=256)
    max_audio_seconds: float = setting(7200.0, "longest decoded audio", ge=1)
    max_speech_seconds: float = setting(900.0, "longest speech that one request makes", ge=1)
    silence_dbfs: float = setting(-50.0, "audio whose peak lies below is silent", ge=-120, le=0)
    speech_probability: float = setting(0.5, "what the voice detector must reach for speech", ge=0, le=1)
    sentence_pause_seconds: float = setting(0.2, "silence between two spoken sentences", ge=0, le=5)
    mp3_kbps: int = setting(64, "bit rate of MP3 answers", ge=32, le=160)

    chat_upstream: str = setting("", "base address, with /v1, of an OpenAI-compatible server for chat and responses")
    chat_upstream_key: str = setting("", "the key that server wants", secret=True)
    chat_concurrency: int = setting(16, "requests to chat_upstream under way at once, shared by the workers", ge=1)
    chat_output_tokens: int = setting(4096, "tokens reserved for an answer of chat that asks for no number", ge=1)

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = setting("INFO", "least level that is logged")
    log_format: Literal["json", "plain"] = setting("json", "a log line is a JSON object, or plain text")
    otlp_endpoint: str = setting("", "http:// or https:// address of a collector that takes spans by OTLP over gRPC")
    trace_ratio: float = setting(1.0, "part of all traces that is sent", ge=0, le=1)
