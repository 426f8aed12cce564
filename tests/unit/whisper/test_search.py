"""Searches over sentences whose every continuation has a known probability."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scripts.export_models.triton_code import recognizer_module

search = recognizer_module("search")
TOKENS = "abcde."
END = TOKENS.index(".")
NO_BIAS = np.zeros(len(TOKENS), np.float32)
# What every logit is too high by.
EXCESS = 3.0
# Probabilities of the next letter by what was said; where nothing is known the sentence ends.
Sentences = dict[str, dict[str, float]]
# The likeliest first word leads to a less likely sentence than the other one.
GARDEN: Sentences = {"": {"a": 0.6, "b": 0.4}, "a": {"c": 0.4, "d": 0.35, "e": 0.25}, "b": {"d": 0.95, "e": 0.05}}


def only(sentence: str) -> Sentences:
    """Nothing else can be said."""
    return {sentence[:at]: {letter: 1.0} for at, letter in enumerate(sentence)}


class Teller:
    """A decoder that knows what may follow in each window; it notes which of them are left out, and how many steps."""

    def __init__(self, windows: Sequence[Sentences], bias: NDArray[np.float32] = NO_BIAS) -> None:
        self._windows, self._bias = windows, bias
        self._rows = [(window, "") for window in range(len(windows))]
        self._present = list(range(len(windows)))
        self.kept: list[list[int]] = []
        self.steps = 0

    def keep(self, windows: Sequence[int]) -> None:
        self._present = [self._present[window] for window in windows]
        self.kept.append(self._present)

    def step(self, tokens: Sequence[Sequence[int]], parents: Sequence[int], bias: NDArray[np.float32]) -> Any:
        assert np.array_equal(bias, self._bias)
        self.steps += 1
        told = [self._rows[parent] for parent in parents]
        self._rows = [(window, text + TOKENS[token]) for (window, text), (token,) in zip(told, tokens, strict=True)]
        # The rows of a window lie side by side.
        width = len(tokens) // len(self._present)
        assert [window for window, _ in self._rows] == [window for window in self._present for _ in range(width)]
        return self.answer()

    def answer(self) -> Any:
        """What may follow on each row; its query is how much was said before."""
        following = [self._windows[window].get(text, {".": 1.0}) for window, text in self._rows]
        shares = np.array([[row.get(letter, 0.0) for letter in TOKENS] for row in following], np.float32)
        with np.errstate(divide="ignore"):
            logits = np.log(shares) + np.float32(EXCESS)
        biased = logits + self._bias
        order = np.argsort(-biased, axis=1, kind="stable")
        log_sum = np.log(np.exp(biased).sum(axis=1, keepdims=True))
        queries = np.array([len(text) for _, text in self._rows], np.float32).reshape(-1, 1, 1, 1)
        ranked = np.take_along_axis(biased, order, axis=1)
        return search.Step(logits, ranked, order.astype(np.int32), log_sum, queries, self._bias)


def _searched(
    windows: Sequence[Sentences],
    width: int = 1,
    most: int = 20,
    bias: NDArray[np.float32] = NO_BIAS,
    extends: Any = None,
) -> tuple[list[Any], Teller]:
    """The best hypothesis of each window, and the decoder."""
    teller = Teller(windows, bias)
    searches = [search.Search(width, END, extends or search.likeliest_first) for _ in windows]
    search.search_together(teller, searches, width, teller.answer(), most, bias)
    return [search.best() for search in searches], teller


def _said(hypothesis: Any) -> str:
    return "".join(TOKENS[each.token] for each in hypothesis.path())


def test_a_greedy_search_takes_the_likeliest_token_each_time() -> None:
    (best,), _ = _searched([GARDEN])
    assert _said(best) == "ac."


def test_a_beam_finds_a_likelier_sentence_than_a_greedy_search() -> None:
    (best,), _ = _searched([GARDEN], width=2)
    assert _said(best) == "bd."
    assert best.total == pytest.approx(math.log(0.4 * 0.95))


def test_the_log_probabilities_of_a_sentence_are_those_of_its_tokens_and_of_its_end() -> None:
    sentences = {"": {"a": 0.75, "b": 0.25}, "a": {".": 0.5, "c": 0.3, "d": 0.2}}
    (best,), _ = _searched([sentences])
    assert [each.logprob for each in best.path()] == pytest.approx([math.log(0.75), math.log(0.5)])
    assert best.total == pytest.approx(math.log(0.75 * 0.5))
    assert best.length == 2


def test_each_token_has_the_queries_of_the_one_before_it() -> None:
    (best,), _ = _searched([only("abcde.")])
    assert [each.queries.item() for each in best.path()] == [0, 1, 2, 3, 4, 5]


def test_sentences_compare_by_the_mean_of_their_tokens() -> None:
    """The short one is likelier as a whole: 0.4 beside 0.6 * 0.6 = 0.36."""
    sentences = {"": {"a": 0.6, ".": 0.4}, "a": {"b": 0.6, "c": 0.4}, "ab": only("abc.")["abc"]}
    (best,), _ = _searched([sentences], width=2)
    assert _said(best) == "ab."


def test_an_ended_sentence_is_kept_while_others_continue() -> None:
    sentences = {"": {"a": 0.6, "b": 0.4}, "a": {".": 1.0}, "b": {"c": 1.0}, "bc": {"d": 0.4, "e": 0.3, "a": 0.3}}
    (best,), _ = _searched([sentences], width=2)
    assert _said(best) == "a."


def test_a_search_is_done_when_as_many_sentences_have_ended_as_its_width() -> None:
    sentences = {"": {"a": 0.6, "b": 0.4}}
    (best,), teller = _searched([sentences], width=2)
    assert (_said(best), teller.steps) == ("a.", 1)


def test_a_beam_goes_on_until_enough_sentences_have_ended() -> None:
    """The second to end is the likelier one."""
    sentences = {
        "": {"a": 0.6, "b": 0.4},
        "a": {".": 0.4, "c": 0.3, "d": 0.3},
        "ac": {"d": 0.5, "e": 0.5},
        "b": {"c": 1.0},
        "bc": {"d": 1.0},
    }
    (best,), _ = _searched([sentences], width=2)
    assert _said(best) == "bcd."


def test_a_sentence_may_be_empty() -> None:
    (best,), teller = _searched([{}])
    assert (_said(best), teller.steps) == (".", 0)


@pytest.mark.parametrize(("most", "said", "steps"), [(1, "a", 0), (3, "abc", 2), (5, "abcde", 4), (6, "abcde.", 5)])
def test_a_search_ends_after_the_most_tokens(most: int, said: str, steps: int) -> None:
    (best,), teller = _searched([only("abcde.")], most=most)
    assert (_said(best), teller.steps) == (said, steps)


def test_of_a_beam_that_was_broken_off_the_likeliest_sentence_is_taken() -> None:
    (best,), _ = _searched([GARDEN], width=2, most=2)
    assert _said(best) == "bd"


@pytest.mark.parametrize("width", [1, 3])
def test_windows_that_are_searched_together_have_their_own_sentences(width: int) -> None:
    windows = [only("abc."), GARDEN, {}, only("eeeeeeee.")]
    together, _ = _searched(windows, width)
    alone = [_searched([window], width)[0][0] for window in windows]
    assert [_said(each) for each in together] == [_said(each) for each in alone]
    assert [each.total for each in together] == pytest.approx([each.total for each in alone])


@pytest.mark.parametrize("width", [1, 2])
def test_windows_are_removed_when_half_of_them_are_done(width: int) -> None:
    windows = [only("ab."), only("abcde."), only("b."), only("edcbaedcba."), only("c.")]
    best, teller = _searched(windows, width)
    # The third to be done is the first window; of the two that are left the next one is half.
    assert teller.kept == [[1, 3], [3]]
    assert [_said(each) for each in best] == ["ab.", "abcde.", "b.", "edcbaedcba.", "c."]


def test_windows_stay_while_less_than_half_are_done() -> None:
    _, teller = _searched([only("a."), only("abcde."), only("abcde.")])
    assert teller.kept == []


def test_a_beam_continues_from_the_right_rows_after_windows_were_removed() -> None:
    """In the last window each step prefers what follows on the second row."""
    turns: Sentences = {
        "": {"a": 0.55, "b": 0.45},
        "a": {"c": 0.6, "d": 0.4},
        "b": {"c": 0.9, "d": 0.1},
        "bc": {"d": 0.5, "e": 0.5},
        "ac": {"a": 1.0},
        "aca": {"e": 0.9, "b": 0.1},
        "bcd": {"b": 0.6, "c": 0.4},
    }
    windows = [{}, only("a."), turns]
    best, teller = _searched(windows, width=2)
    ((alone,), _) = _searched([turns], width=2)
    assert teller.kept == [[2]]
    assert (_said(best[2]), best[2].total) == (_said(alone), pytest.approx(alone.total))


def test_the_decoder_is_not_called_when_all_are_done() -> None:
    _, teller = _searched([only("a."), only("abc."), only("ab.")])
    assert teller.steps == 3


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_samples_follow_the_distribution(temperature: float) -> None:
    shares = {"a": 0.6, "b": 0.3, ".": 0.1}
    drawn = search.samples(temperature, np.random.default_rng(0))
    best, _ = _searched([{"": shares}] * 4000, most=1, extends=drawn)
    counted = Counter(map(_said, best))
    wanted = {letter: share ** (1 / temperature) for letter, share in shares.items()}
    found = [counted[letter] / 4000 for letter in wanted]
    assert found == pytest.approx([share / sum(wanted.values()) for share in wanted.values()], abs=0.025)


def test_a_sample_has_the_log_probability_that_it_has_without_a_temperature() -> None:
    drawn = search.samples(2.0, np.random.default_rng(0))
    best, _ = _searched([{"": {"a": 0.75, "b": 0.25}}] * 20, extends=drawn)
    found = {_said(each): each.total for each in best}
    assert found == {"a.": pytest.approx(math.log(0.75)), "b.": pytest.approx(math.log(0.25))}


def test_the_best_of_some_samples_is_taken() -> None:
    """One that begins with the likelier letter is among five in 31 of 32 windows."""
    sentences = {"": {"a": 0.5, "b": 0.5}, "b": {"c": 0.5, "d": 0.5}}
    drawn = search.samples(1.0, np.random.default_rng(0))
    best, _ = _searched([sentences] * 320, width=5, extends=drawn)
    assert Counter(_said(each)[0] for each in best)["a"] == pytest.approx(310, abs=9)


def test_samples_of_different_lengths_are_finished_each_by_itself() -> None:
    """The shortest comes first, and is not the best."""
    sentences = {"": {"a": 0.5, "b": 0.5}, "a": {".": 0.2, "e": 0.8}, "b": {"c": 1.0}, "bc": {"d": 1.0}}
    drawn = search.samples(1.0, np.random.default_rng(0))
    best, _ = _searched([sentences] * 20, width=5, extends=drawn)
    assert {_said(each) for each in best} == {"bcd."}


@pytest.mark.parametrize("sampled", [False, True])
def test_tokens_ruled_out_by_the_bias_never_occur(sampled: bool) -> None:
    bias = NO_BIAS.copy()
    bias[TOKENS.index("a")] = -np.inf
    drawn = search.samples(1.0, np.random.default_rng(0)) if sampled else None
    best, _ = _searched([GARDEN] * 10, bias=bias, extends=drawn)
    assert {_said(each)[0] for each in best} == {"b"}
    # What is left is all there is.
    assert [each.path()[0].logprob for each in best] == pytest.approx([0.0] * 10, abs=1e-6)
