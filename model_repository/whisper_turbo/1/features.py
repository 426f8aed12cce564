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


def _mel_to_hertz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    above = _KNEE_HERTZ * np.exp(_LOG_STEP * (mel - _KNEE_MEL))
    return np.where(mel < _KNEE_MEL, mel * _LINEAR_HERTZ, above)


def mel_filters(bins: int) -> Float:
    """Triangular filters [bins, 201] on Slaney's mel scale, each of unit area (Slaney, Auditory Toolbox, 1998)."""
    frequencies = np.linspace(0, SAMPLE_RATE / 2, _FFT // 2 + 1)
    highest = _KNEE_MEL + np.log(SAMPLE_RATE / 2 / _KNEE_HERTZ) / _LOG_STEP
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
        filters = mel_filters(bins)
        self._low, self._high = filters[:, : _FFT // 4 + 1], filters[:, : _FFT // 4 : -1].copy()
        window = np.hanning(_FFT + 1)[: _FFT // 2 + 1, None]
        turns = 2 * np.pi / _FFT * np.outer(np.arange(_FFT // 2 + 1), np.arange(_FFT // 4 + 1))
        cosines, sines = ((window * wave(turns)).astype(np.float32) for wave in (np.cos, np.sin))
        self._cosines, self._sines = (cosines[0::2], cosines[1::2]), (sines[2:-1:2], sines[1::2])

    def __call__(self, audio: Float, samples: int) -> Float:
        """Features [bins, samples / 160] of ``audio`` [n], padded with silence to ``samples``."""
        padded = np.zeros(samples, np.float32)
        padded[: len(audio)] = audio
        framed = np.lib.stride_tricks.sliding_window_view(np.pad(padded, _FFT // 2, mode="reflect"), _FFT)
        low, high = self._power(framed[::HOP][:-1])
        features = self._low @ low.T
        features += self._high @ high[:, :-1].T
        np.log10(np.maximum(features, 1e-10, out=features), out=features)
        np.maximum(features, features.max() - 8.0, out=features)
        return (features + 4.0) / 4.0

    def _power(self, frames: Float) -> tuple[Float, Float]:
        """The power of ``frames`` [n, 400] in bins 0 to 100, and in bins 200 down to 100, each [n, 101].

        This is the Fourier transform of real, windowed frames in single precision: NumPy's works in double precision
        and takes twice as long. The cosines of a real transform are the same forwards and backwards, and those of bin
        200 - k equal those of bin k with every second one negated. Folded both ways, the transform is four small matrix
        products (the first two steps of a real decimation in time).
        """
        middle = _FFT // 2
        ahead = (frames[:, 2:middle:2], frames[:, 1:middle:2])
        behind = (frames[:, _FFT - 2 : middle : -2], frames[:, _FFT - 1 : middle : -2])
        edges = (frames[:, :1], frames[:, middle : middle + 1])
        real_even = np.concatenate([edges[0], ahead[0] + behind[0], edges[1]], axis=1) @ self._cosines[0]
        real_odd = (ahead[1] + behind[1]) @ self._cosines[1]
        imaginary_even, imaginary_odd = ((ahead[i] - behind[i]) @ self._sines[i] for i in (0, 1))
        low = (real_even + real_odd) ** 2 + (imaginary_even + imaginary_odd) ** 2
        high = (real_even - real_odd) ** 2 + (imaginary_even - imaginary_odd) ** 2
        return low, high
