"""Whisper's log-mel spectrogram in NumPy: the numbers of ``transformers.WhisperFeatureExtractor``."""

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 16_000
HOP = 160
_FFT = 400
_LOG_STEP = np.log(6.4) / 27.0
_LINEAR_HERTZ = 200.0 / 3.0
_KNEE_HERTZ = 1000.0
_KNEE_MEL = _KNEE_HERTZ / _LINEAR_HERTZ

Float = NDArray[np.float32]


def _hertz_to_mel(hertz: NDArray[np.float64]) -> NDArray[np.float64]:
    above = _KNEE_MEL + np.log(np.maximum(hertz, 1e-9) / _KNEE_HERTZ) / _LOG_STEP
    return np.where(hertz < _KNEE_HERTZ, hertz / _LINEAR_HERTZ, above)


def _mel_to_hertz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    above = _KNEE_HERTZ * np.exp(_LOG_STEP * (mel - _KNEE_MEL))
    return np.where(mel < _KNEE_MEL, mel * _LINEAR_HERTZ, above)


def mel_filters(bins: int) -> Float:
    """Triangular filters [bins, 201] on Slaney's mel scale, each of unit area (Slaney, Auditory Toolbox, 1998)."""
    frequencies = np.linspace(0, SAMPLE_RATE / 2, _FFT // 2 + 1)
    highest = _hertz_to_mel(np.array([SAMPLE_RATE / 2]))[0]
    edges = _mel_to_hertz(np.linspace(0, highest, bins + 2))
    widths = np.diff(edges)
    slopes = edges[:, None] - frequencies[None, :]
    rising = -slopes[:-2] / widths[:-1, None]
    falling = slopes[2:] / widths[1:, None]
    triangles = np.maximum(0, np.minimum(rising, falling))
    filters: Float = (triangles * (2.0 / (edges[2:] - edges[:-2]))[:, None]).astype(np.float32)
    return filters


class LogMel:
    """Feature extraction for a model of ``bins`` mel bins."""

    def __init__(self, bins: int) -> None:
        self._filters = mel_filters(bins)
        self._window = np.hanning(_FFT + 1)[:-1].astype(np.float32)

    def __call__(self, audio: Float, samples: int) -> Float:
        """Features [bins, samples / 160] of ``audio`` [n], padded with silence to ``samples``."""
        padded = np.zeros(samples, np.float32)
        padded[: len(audio)] = audio
        framed = np.lib.stride_tricks.sliding_window_view(np.pad(padded, _FFT // 2, mode="reflect"), _FFT)
        spectrum = np.fft.rfft(framed[::HOP][:-1] * self._window)
        power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
        log = np.log10(np.maximum(self._filters @ power.T, 1e-10))
        features: Float = ((np.maximum(log, log.max() - 8.0) + 4.0) / 4.0).astype(np.float32)
        return features
