"""Whisper for windows of many callers.

Steps for a batch: compute features and encoder output of every window; detect missing languages from that output, and
cut windows where the language changes; decode windows with equal length, prompt length and temperature together;
recognise those that look wrong again with all of their silence, and then at higher temperatures; place each word in
time; decode speech without words again.

Decoding uses no timestamp tokens, because with them Whisper sometimes skips a sentence.
"""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np
from encoding import WindowEncoder
from engines import Float
from features import SAMPLE_RATE
from languages import changes
from loading import load_engine, run_once
from tokens import Tokens
from transcript import decode_pieces, place_words, unheard
from windows import Attempt, InvalidWindowError, Job, Transcript, Window, joined

_FALLBACK_TEMPERATURES = (0.2, 0.4, 0.6, 0.8, 1.0)
# A window is decoded in each language of at least this probability, and in at most so many.
_LIKELY_LANGUAGE = 0.05
_MOST_LANGUAGES = 3
# The log probability from which on another language is believed in a stretch of a window.
_SURE_OF_LANGUAGE = math.log(0.5)
# Tokens that may come. People need at most eight a second; a first attempt that needs more is made again. Languages of
# many tokens need up to 38 and are never tried with fewer.
_TOKENS_PER_SECOND, _TOKENS_PER_SECOND_AT_FIRST, _MANY_TOKENS_PER_SECOND = 25, 10, 50
_LEAST_TOKENS = 24


class Recognizer:
    """The Whisper that ``scripts/export_models/whisper.py`` wrote to ``folder``.

    ``second_passes`` counts the windows that were recognised again with all of their silence.
    """

    def __init__(
        self,
        folder: Path,
        *,
        device: str = "cpu",
        device_index: int = 0,
        compute_type: str = "default",
        threads: int = 1,
        beam_size: int = 1,
    ) -> None:
        settings = json.loads((folder / "quartet.json").read_text(encoding="utf-8"))
        self.second_passes = 0
        self._context = int(settings["max_target_positions"])
        self._tokens = Tokens(folder, settings)
        self._engine = load_engine(
            folder,
            settings,
            self._tokens,
            device=device,
            device_index=device_index,
            compute_type=compute_type,
            threads=threads,
            beam_size=beam_size,
        )
        self.encoder = WindowEncoder(self._engine, settings, threads)
        self._run_once = partial(run_once, self._engine, self._tokens, settings)

    def works(self) -> bool:
        """Whether the engine still computes: after some errors of CUDA, a process cannot use its GPU again."""
        try:
            self._run_once()
        except Exception:  # An exception that left here would end Triton.
            return False
        return True

    def transcribe(self, windows: Sequence[Window]) -> list[Transcript]:
        """One transcript per window, in order."""
        found = dict(self.answers(windows))
        return [found[place] for place in range(len(windows))]

    def answers(
        self, windows: Sequence[Window], is_gone: Callable[[int], bool] = lambda place: False
    ) -> Iterator[tuple[int, Transcript]]:
        """The place of each window with its transcript, as soon as that is done; nobody waits for another's bad window.

        A window whose caller is gone is left out from the next pass on. Raises ``InvalidWindowError`` before the first.
        """
        for window in windows:
            self.check(window)
        # The parts of windows that need another pass, and of those in which only speech without words is left to hear.
        waiting: dict[int, list[Job]] = {}
        gaps: dict[int, list[Job]] = {}
        samples = list(map(self.encoder.samples, windows))
        # Windows of one length together, short ones first.
        for _, alike in groupby(sorted(range(len(windows)), key=samples.__getitem__), key=samples.__getitem__):
            here = [place for place in alike if not is_gone(place)]
            jobs = self._ranked(self.encoder.at_first([windows[place] for place in here]))
            waiting |= zip(here, map(self._by_language, jobs), strict=True)
            self._replace([waiting[place] for place in here], self._attempted)
            yield from self._settled(waiting, gaps)
        for again in self._passes():
            yield from self._filled(gaps, is_gone)
            for place in [place for place in waiting if is_gone(place)]:
                del waiting[place]
            self._replace(waiting.values(), again)
            yield from self._settled(waiting, gaps)
        yield from self._settled(waiting, gaps, last=True)
        yield from self._filled(gaps, is_gone)

    def _passes(self) -> list[Callable[[list[Job]], list[Job]]]:
        """What is done after a first attempt with those of some jobs that look wrong."""
        return [self._with_silence, *(partial(self._sampled, heat) for heat in _FALLBACK_TEMPERATURES)]

    @staticmethod
    def _replace(parts: Collection[list[Job]], recognised: Callable[[list[Job]], list[Job]]) -> None:
        """Recognise the parts of all windows together."""
        jobs = iter(recognised([job for some in parts for job in some]))
        for some in parts:
            some[:] = [next(jobs) for _ in some]

    def _settled(
        self, waiting: dict[int, list[Job]], gaps: dict[int, list[Job]], *, last: bool = False
    ) -> Iterator[tuple[int, Transcript]]:
        """Take out the windows that need no other pass: answer them, or leave them in ``gaps``."""
        done = [place for place, jobs in waiting.items() if last or all(job.settled for job in jobs)]
        settled = {place: waiting.pop(place) for place in done}
        self._place_words([job for jobs in settled.values() for job in jobs if not job.best.silent])
        for place, jobs in settled.items():
            if any(job.unheard for job in jobs):
                gaps[place] = jobs
            else:
                yield place, joined(jobs)

    def _filled(self, gaps: dict[int, list[Job]], is_gone: Callable[[int], bool]) -> Iterator[tuple[int, Transcript]]:
        """Take out the windows that have gaps, and answer them."""
        for place in list(gaps):
            jobs = gaps.pop(place)
            if not is_gone(place):
                self._decode_gaps(jobs)
                yield place, joined(jobs)

    def encoder_output(self, window: Window) -> Float:
        """The encoder's output for a whole window, [frames, width]. Exports are compared by it."""
        (job,) = self.encoder.whole([window])
        output: Float = np.asarray(job.encoded.output)[0]
        return output

    def check(self, window: Window) -> None:
        """Raise ``InvalidWindowError`` if the model cannot hear the window."""
        if not 0 < len(window.audio) <= self.encoder.longest:
            raise InvalidWindowError(f"a window holds 1 to {self.encoder.longest} samples, not {len(window.audio)}")
        for language in (window.language, *window.among):
            if language:
                self._tokens.task(language)

    def _by_language(self, job: Job) -> list[Job]:
        """The job, or one for each part of its window that is in one language."""
        audio = job.window.audio
        cuts = changes(self._engine, job.encoded, job.ranking, audio)
        if not cuts:
            return [job]
        ends = [*cuts, len(audio)]
        windows = [replace(job.window, audio=audio[a:b]) for a, b in zip([0, *cuts], ends, strict=True)]
        parts = self._ranked(self.encoder.at_first(windows))
        for part, start in zip(parts, [0, *cuts], strict=True):
            part.start = start / SAMPLE_RATE
        return parts

    def _with_silence(self, jobs: list[Job]) -> list[Job]:
        """The jobs, of which those that look wrong for want of silence were recognised again with all of it."""
        wrong = [place for place, job in enumerate(jobs) if job.wants_silence]
        self.second_passes += len(wrong)
        again = self._attempted(self._ranked(self.encoder.whole([jobs[place].window for place in wrong])))
        for place, job in zip(wrong, again, strict=True):
            job.start = jobs[place].start
            jobs[place] = job
        return jobs

    def _sampled(self, temperature: float, jobs: list[Job]) -> list[Job]:
        """The jobs, of which those that are still doubtful were decoded at a temperature."""
        self._decode([job for job in jobs if job.doubtful], partial(_always, temperature))
        return jobs

    def _attempted(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs in their languages, each after a first attempt."""
        in_languages = [self._in_languages(job) for job in jobs]
        for job in (job for group in in_languages for job in group):
            earlier = self._tokens.earlier(job.window.prompt, self._context // 2)
            job.prompt = earlier + self._tokens.task(job.language, translate=job.window.translate)
        self._decode([job for group in in_languages for job in group], lambda job: job.window.sampling_temperature)
        return [max(group, key=lambda job: job.logprob_with_language) for group in in_languages]

    def _ranked(self, jobs: list[Job]) -> list[Job]:
        """The jobs, with a ranking of languages where none is given."""
        if len(self._tokens.languages) == 1:
            return [replace(job, ranking={self._tokens.languages[0]: 1.0}) for job in jobs]
        for batch in self._batches([job for job in jobs if not job.language], lambda _: None):
            for job, ranking in zip(batch, self._engine.languages([job.encoded for job in batch]), strict=True):
                job.ranking = self._tokens.among(job.window.among, ranking)
        return jobs

    def _in_languages(self, job: Job) -> list[Job]:
        """A job per likely language; the transcripts show which one is right."""
        if job.language:
            return [job]
        likely = [pair for pair in job.ranking.items() if pair[1] >= _LIKELY_LANGUAGE][:_MOST_LANGUAGES]
        return [
            replace(job, language=self._tokens.language_of(token), language_logprob=math.log(probability), attempts=[])
            for token, probability in likely or list(job.ranking.items())[:1]
        ]

    def _batches(self, jobs: Iterable[Job], alike: Callable[[Job], Hashable]) -> Iterator[list[Job]]:
        """Groups of jobs of one length that are ``alike`` and that the engine can decode together."""
        groups: dict[Hashable, list[Job]] = defaultdict(list)
        for job in jobs:
            groups[job.samples, alike(job)].append(job)
        most = self._engine.decodes_together
        return (group[at : at + most] for group in groups.values() for at in range(0, len(group), most))

    def _decode(self, jobs: list[Job], temperature_of: Callable[[Job], float]) -> None:
        def alike(job: Job) -> Hashable:
            return len(job.prompt), temperature_of(job), job.seed is None, job.needs_many_tokens

        for batch in self._batches(jobs, alike):
            most = self._most_tokens(batch)
            windows, prompts = [job.encoded for job in batch], [job.prompt for job in batch]
            decoded = self._engine.decode(windows, prompts, most, temperature_of(batch[0]), [job.seed for job in batch])
            for job, text in zip(batch, decoded, strict=True):
                job.attempts.append(Attempt(text, self._tokens.decode(text.tokens), len(text.tokens) >= most))

    def _most_tokens(self, batch: Sequence[Job]) -> int:
        """The most tokens to decode for windows that are decoded together; it bounds a loop."""
        per_second, seconds = _TOKENS_PER_SECOND, max(job.seconds for job in batch)
        if batch[0].is_short:
            # The same alone and in company.
            per_second = _TOKENS_PER_SECOND_AT_FIRST
            seconds = batch[0].samples / SAMPLE_RATE - self.encoder.silence_seconds
        if batch[0].needs_many_tokens:
            per_second = _MANY_TOKENS_PER_SECOND
        return min(int(_LEAST_TOKENS + per_second * seconds), self._context // 2, self._context - len(batch[0].prompt))

    def _place_words(self, jobs: list[Job]) -> None:
        for batch in self._batches(jobs, lambda job: (job.language, job.window.translate)):
            windows, decoded = [job.encoded for job in batch], [job.best.decoded for job in batch]
            task = self._tokens.task(batch[0].language, translate=batch[0].window.translate)
            seconds = [job.seconds for job in batch]
            aligned = self._engine.align(windows, task, decoded, seconds)
            for job, timed in zip(batch, aligned, strict=True):
                pieces = decode_pieces(job.best.decoded.tokens, self._tokens.decode)
                job.words = place_words(pieces, timed.starts, timed.probabilities, job.language_of_words)
                # A translation may have the words in another order than the speech, with gaps where nothing is missing.
                if not job.window.translate:
                    job.unheard = unheard(pieces, timed.starts, job.seconds, job.language)

    def _decode_gaps(self, jobs: Iterable[Job]) -> None:
        """Decode each stretch of speech without words again, and insert its words."""
        for job, (start, end) in [(job, job.unheard) for job in jobs if job.unheard]:
            audio = job.window.audio[int(start * SAMPLE_RATE) : int(end * SAMPLE_RATE)]
            # It may be without words because it is in another language.
            found = self._attempted(self._ranked(self.encoder.at_first([replace(job.window, audio=audio)])))
            for again in self._passes():
                found = again(found)
            self._place_words([each for each in found if not each.best.silent])
            (heard,) = found
            is_sure = heard.language in ("", job.language) or heard.language_logprob > _SURE_OF_LANGUAGE
            # In silence, Whisper often finds a likely word.
            if is_sure and heard.words and heard.best.passes and not heard.best.speechless:
                # The previous word's end may overlap the stretch.
                before = [word.until(start) for word in job.words if word.start < start]
                after = [word for word in job.words if word.start >= end]
                job.words = [*before, *(word.later(start) for word in heard.words), *after]


def _always(temperature: float, _: Job) -> float:
    return temperature
