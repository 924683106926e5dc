"""Set similarities against their definitions on Python sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fewpairs as fp
from fewpairs.testing import check_similarity

FORMULAS = {
    "jaccard": lambda a, b: len(a & b) / len(a | b),
    "dice": lambda a, b: 2 * len(a & b) / (len(a) + len(b)),
    "overlap": lambda a, b: len(a & b) / min(len(a), len(b)),
    "cosine": lambda a, b: len(a & b) / np.sqrt(len(a) * len(b)),
}


@pytest.mark.parametrize("kind", FORMULAS)
@given(
    sets=st.lists(st.frozensets(st.integers(0, 8), max_size=6), min_size=2, max_size=8)
)
def test_values_are_those_of_python_sets(kind, sets):
    n = len(sets)
    K = fp.TokenOverlap(kind).bind(sets).block(np.arange(n), np.arange(n))
    for i, a in enumerate(sets):
        for j, b in enumerate(sets):
            if a and b:
                assert K[i, j] == pytest.approx(FORMULAS[kind](a, b))
            else:
                assert K[i, j] == float(a == b)


@pytest.mark.parametrize("kind", FORMULAS)
def test_the_contract(kind):
    texts = ["red fox", "the red fox", "fox", "", "a b c d", "d c b a", " "]
    check_similarity(fp.TokenOverlap(kind), texts)
    check_similarity(fp.TokenOverlap(kind, characters=3), texts)


def test_characters_tokens_and_tokenizers():
    at = (np.array([0]), np.array([1]))
    grams = fp.TokenOverlap("jaccard", characters=2).bind(["night", "nacht"])
    assert grams.pairs(*at)[0] == pytest.approx(1 / 7)
    lists = fp.TokenOverlap("dice").bind([["a", "b", "a"], ("b", "c")])
    assert lists.pairs(*at)[0] == pytest.approx(0.5)
    own = fp.TokenOverlap("overlap", tokenizer=lambda n: range(n)).bind([3, 6])
    assert own.pairs(*at)[0] == 1.0


def test_bad_input():
    with pytest.raises(fp.InputError, match="kind is 'tversky'; pass 'jaccard'"):
        fp.TokenOverlap("tversky")
    with pytest.raises(fp.InputError, match="characters is 0; pass a whole number"):
        fp.TokenOverlap(characters=0)
    with pytest.raises(fp.InputError, match=r"items\[1\] is None, of type NoneType"):
        fp.TokenOverlap().bind(["a", None])
