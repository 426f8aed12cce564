"""What a deployment can switch on in addition to the contract. Without any, the contract holds to the letter."""

from collections.abc import Mapping

SPEECH_STREAMING, SPEECH_FORMATS, SPEECH_SPEED = "speech_streaming", "speech_formats", "speech_speed"
TRANSCRIPT_STREAMING, SUBTITLES, TRANSLATIONS = "transcript_streaming", "subtitles", "translations"
REALTIME, RERANK_DIALECTS, VOICE_LIST = "realtime", "rerank_dialects", "voice_list"
CHAT_MODELS, CLIENT_PARAMETERS, MORE_AUDIO = "chat_models", "client_parameters", "more_audio"
TRANSCRIPT_USAGE, TRANSCRIPT_HINTS = "transcript_usage", "transcript_hints"
LARGE_BATCHES, TOKEN_ARRAYS, SPARSE_EMBEDDINGS = "large_batches", "token_arrays", "sparse_embeddings"

# What each extension adds, for the docs and the pages.
EXTENSIONS: Mapping[str, str] = {
    SPEECH_STREAMING: "speech is sent sentence by sentence: `stream_format` may be `audio` or `sse`",
    SPEECH_FORMATS: "`response_format` of speech may also be `opus`, `aac`, `flac` or `pcm`",
    SPEECH_SPEED: "`speed` changes how fast a voice speaks, without a change of pitch",
    TRANSCRIPT_STREAMING: "`stream=true` sends a transcript as events while the audio is read",
    TRANSCRIPT_USAGE: "`usage` in the JSON of transcripts has the seconds that are charged",
    TRANSCRIPT_HINTS: "transcriptions take `keywords[]`, such as names, and several `languages[]` to choose from",
    SUBTITLES: "`response_format` of transcriptions may also be `srt` or `vtt`",
    TRANSLATIONS: "`POST /v1/audio/translations` translates speech into English text, with `stt-1-hd`",
    REALTIME: "`/v1/realtime` transcribes live audio over a WebSocket",
    SPARSE_EMBEDDINGS: "`outputs` of embeddings may have `sparse`: how much each token weighs, for models that say it",
    RERANK_DIALECTS: "`/v2/rerank`, `/rerank`, `/embed` and `/similarity` accept the requests of Cohere, Jina and TEI",
    LARGE_BATCHES: "embeddings and rerank take up to 2,048 texts or documents in a request",
    TOKEN_ARRAYS: "`input` of embeddings may also be tokens of OpenAI's models, as LangChain and others send it",
    VOICE_LIST: "`GET /v1/audio/voices` lists language, gender, sample rate and a sample of each voice",
    CHAT_MODELS: "`GET /v1/models` lists the models of the chat server too",
    MORE_AUDIO: "transcriptions also take QuickTime, as iPhones record (`.mov`, `.qta`), and AAC without a container",
    CLIENT_PARAMETERS: "parameters that popular clients send are taken, or ignored if they have no effect here",
}


def parse(names: str) -> frozenset[str]:
    """``all``, or names with commas; empty is none. Raises ``ValueError`` for an unknown name."""
    if names.strip() == "all":
        return frozenset(EXTENSIONS)
    chosen = frozenset(name for each in names.split(",") if (name := each.strip()))
    if unknown := chosen - EXTENSIONS.keys():
        raise ValueError(f"there is no extension {min(unknown)!r}; there are {', '.join(EXTENSIONS)}")
    return chosen
