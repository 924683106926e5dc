"""What changes the order of an item's partners has to prove itself by orders."""

from dataclasses import replace

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.evaluation import quality
from fewpairs.methods.auto.candidates import Candidates
from fewpairs.methods.auto.cautious import (
    as_high,
    as_steep,
    cautious,
    levels_by,
    share_of_base,
)
from fewpairs.methods.auto.correcting import Correcting
from fewpairs.methods.auto.couples import Couples, ahead
from fewpairs.methods.auto.guarding import _with_knee
from fewpairs.model.correction import Correction
from fewpairs.model.curve import Curve
from fewpairs.model.guard import Guard
from fewpairs.model.pair_inputs import BlockInputs, PairInputs
from fewpairs.model.training_pairs import TrainingPairs
from tests.conftest import best_of, nearest, shared

N = 300
LINE = Curve(0.0, 1.0, np.array([0.0, 1.0]))  # the prior is on the values' scale


def levels_against_order(seed=0):
    """Return values and a prior that is right in every row and wrong between them.

    Topics that the prior takes to be close are those with lower values; in each the
    prior knows, with some noise, who is nearer to whom.
    """
    rng = np.random.default_rng(seed)
    topic = np.arange(N) % 10
    same = topic[:, None] == topic
    close = np.linspace(-1, 1, 10)[topic]
    own, noise = rng.standard_normal((2, N, N))
    own, noise = own + own.T, noise + noise.T
    K = np.where(same, 4 - 2 * close, 0.0) + 0.2 * own
    cheap = np.where(same, 4 + close, 0.0) + 0.2 * own + 0.1 * noise
    return K, cheap


def read(K, cheap, base=None, *, top=2, random=900, seed=0):
    """Return random pairs and every item's first ones under the prior."""
    rng = np.random.default_rng(seed)
    base = cheap if base is None else base
    hidden = np.where(np.eye(N, dtype=bool), -np.inf, cheap)
    j = best_of(hidden, top)
    i = np.repeat(np.arange(N), top)
    first = np.unique(np.minimum(i, j.ravel()) * N + np.maximum(i, j.ravel()))
    first = rng.permutation(first)
    a, b = np.triu_indices(N, 1)
    some = rng.permutation(len(a))[:random]
    out = []
    for i, j in ((a[some], b[some]), (first // N, first % N)):
        pairs = TrainingPairs()
        pairs.add(PairInputs(i, j, base[i, j], cheap[i, j]), K[i, j])
        out.append(pairs)
    return out


def features(seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, 4)).astype(np.float32) / 2


def block_of(found, base, cheap):
    everything = np.arange(N)
    return found.block(BlockInputs(everything, everything, base.copy(), cheap))


def recall(K, score):
    hidden = np.where(np.eye(N, dtype=bool), -np.inf, score)
    return shared(nearest(K, 10), best_of(hidden, 10))


# --- what differs between rows does not put the partners of each in another order -----


def test_what_differs_between_rows_does_not_turn_the_order_within_them():
    K, cheap = levels_against_order()
    uniform, chosen = read(K, cheap)
    misled = Correcting(features(), N, np.random.default_rng(0)).fit(uniform, chosen)
    kept = Correcting(features(), N, np.random.default_rng(0), curve=LINE)
    found = kept.fit(uniform, chosen)
    by_prior = recall(K, cheap)
    assert recall(K, block_of(misled, cheap, cheap)) < by_prior - 0.3
    assert recall(K, block_of(found, cheap, cheap)) > by_prior - 0.12


def test_curves_that_put_later_pairs_in_better_order_are_used():
    rng = np.random.default_rng(1)
    f, own = features(), rng.standard_normal((N, 4)) / 2
    base = 0.3 * rng.standard_normal((N, N))
    base = base + base.T
    K = base + 1.5 * (own @ f.T + f @ own.T)
    uniform, chosen = read(K, base, top=9)
    found = Correcting(f, N, rng, curve=LINE).fit(uniform, chosen)
    careful = Correcting(f, N, rng, curve=LINE)._kept(uniform, chosen, LINE)
    gained = recall(K, block_of(found, base, base))
    assert found.curve is None  # not the cautious one
    assert gained > recall(K, block_of(careful, base, base))
    assert gained > recall(K, base) + 0.03


def test_without_training_no_budget_is_below_re_ranking_where_levels_mislead():
    K, cheap = levels_against_order()
    values, vectors = np.linalg.eigh(cheap + 30 * np.eye(N))
    prior = vectors * np.sqrt(np.maximum(values, 0))  # products are the prior's values
    prior = np.hstack([prior, np.zeros((N, 1))])
    prior[:, -1] = np.sqrt(np.max(np.sum(prior**2, axis=1)) - np.sum(prior**2, axis=1))
    unit = prior / np.linalg.norm(prior, axis=1, keepdims=True)
    simple = recall(K, unit @ unit.T)
    for per_item in (3, 6, 12):
        approx = fp.approximate(
            None,
            K,
            method=fp.Auto(student=False),
            budget=per_item * N // 2,
            prior=prior,
        )
        found = shared(nearest(K, 10), approx.neighbors(10)[0])
        assert found > simple - 0.02, per_item


# --- couples --------------------------------------------------------------------------


def test_couples_are_two_pairs_of_one_item():
    i, j = np.array([0, 0, 3, 5]), np.array([1, 2, 1, 6])
    found = Couples.among(i, j)
    ends = [{int(i[t]), int(j[t])} for t in range(4)]
    both = [(int(a), int(b)) for a, b in zip(found.first, found.second, strict=True)]
    assert sorted(both) == [(0, 1), (0, 2)]
    assert all(ends[a] & ends[b] for a, b in both)
    assert not len(Couples.among(i[3:], j[3:]))


def test_agreement_is_one_for_the_values_and_minus_one_for_their_opposite():
    rng = np.random.default_rng(0)
    i, j = rng.integers(40, size=(2, 300))
    values = rng.standard_normal(300)
    found = Couples.among(i, j)
    assert (found.agreement(values, 2 * values + 1) == 1).all()
    assert (found.agreement(values, -values) == -1).all()
    assert abs(found.agreement(values, rng.standard_normal(300)).mean()) < 0.2


def test_being_ahead_needs_more_than_one_row():
    one = np.array([1.0, 0.5, 1.0, 0.0])
    assert ahead(one, one) == 0.0
    assert ahead(one, one - 0.5 + 0.01 * np.arange(4)) > 10
    assert ahead(one[:1], one[:1] - 1) == 0.0


@pytest.mark.parametrize(("right", "share"), [("base", 1.0), ("prior", 0.0)])
def test_couples_tell_whether_low_rank_or_prior_puts_partners_in_order(right, share):
    rng = np.random.default_rng(0)
    K = rng.standard_normal((N, N))
    K = K + K.T
    other = rng.standard_normal((N, N))
    other = other + other.T
    base, cheap = (K, other) if right == "base" else (other, K)
    _, chosen = read(K, cheap, base, top=6)
    inputs = chosen.inputs
    couples = Couples.among(inputs.i, inputs.j)
    assert share_of_base(chosen, couples, inputs.cheap) == share
    assert share_of_base(chosen, Couples.among(inputs.i[:1], inputs.j[:1]), None) == 0.5


# --- the correction -------------------------------------------------------------------


def test_a_cautious_correction_keeps_the_order_of_its_mixture():
    K, cheap = levels_against_order()
    base = cheap + 0.2 * np.random.default_rng(3).standard_normal(cheap.shape)
    base = (base + base.T) / 2
    uniform, chosen = read(K, cheap, base)
    found = cautious(features(), LINE, uniform, chosen, share=0.5)
    found = replace(found, vectors=np.zeros_like(found.vectors))
    i, j = np.triu_indices(N, 1)
    inputs = PairInputs(i, j, base[i, j], cheap[i, j])
    mixture, said = found.mixture(inputs), found.pairs(inputs)
    order = np.argsort(mixture)
    assert (np.diff(said[order]) >= -1e-4).all()
    assert np.allclose(block_of(found, base, cheap)[i, j], said, atol=1e-4)


def test_values_are_calibrated():
    rng = np.random.default_rng(0)
    cheap = rng.standard_normal((N, N))
    cheap = (cheap + cheap.T) / 2
    K = np.exp(cheap) + 0.05 * (cheap + cheap.T)
    uniform, chosen = read(K, cheap)
    found = cautious(features(), LINE, uniform, chosen, share=1.0)
    i, j = np.triu_indices(N, 1)
    said = found.pairs(PairInputs(i, j, cheap[i, j], cheap[i, j]))
    missed = np.mean((said - K[i, j]) ** 2) / np.var(K[i, j])
    assert missed < 0.02 < np.mean((cheap - K)[i, j] ** 2) / np.var(K[i, j])


def test_levels_are_those_of_an_items_most_similar_candidates():
    from fewpairs.methods.auto.candidates import Candidates

    rng = np.random.default_rng(0)
    base, cheap = rng.standard_normal((2, 20, 50)).astype(np.float32)
    partner = np.zeros((20, 50), dtype=np.int32)
    found = levels_by(Candidates(partner, base.copy(), base, cheap), LINE)
    height = np.sort(np.maximum(base, cheap), axis=1)
    assert np.array_equal(found, height[:, -32])
    score = np.where(np.arange(50) < 5, base, -np.inf).astype(np.float32)
    score[3] = -np.inf  # an item without candidates
    cheap[:, 9] = -np.inf  # as candidates are that were read already
    found = levels_by(Candidates(partner, score, base, cheap), LINE)
    some = np.maximum(base, cheap)[:, :5].min(axis=1)
    assert np.array_equal(np.delete(found, 3), np.delete(some, 3))
    assert found[3] == np.inf


def test_a_cautious_correction_is_saved(tmp_path):
    K, cheap = levels_against_order()
    prior = np.linalg.svd(cheap)[0][:, :40]
    approx = fp.approximate(
        None, K, method=fp.Auto(student=False), budget=8 * N // 2, prior=prior
    )
    model = approx.model
    bent = Correction(
        np.array([-1.0, 1.0]),
        np.array([-2.0, 2.0]),
        np.empty(0),
        np.empty(0),
        np.zeros(N, dtype=np.float32),
        0.5,
        features(),
        features(1),
        LINE,
        0.25,
    )
    guard = Guard(0.1, 0.5, -50.0, 50.0, 0.3, 0.9)
    changed = replace(model, correction=bent, guard=guard, prior=model.proposer)
    replace(approx, model=changed).save(tmp_path / "run")
    loaded = fp.load(tmp_path / "run")
    i, j = np.triu_indices(N, 1)
    assert np.array_equal(
        loaded.pairs(i, j), replace(approx, model=changed).pairs(i, j)
    )
    assert loaded.model.guard == guard


# --- the guard's knee -----------------------------------------------------------------


def test_what_was_confirmed_at_the_top_is_not_shrunk_with_the_bulk():
    rng = np.random.default_rng(0)
    guess = rng.standard_normal(300)
    said = 2 + 5 * rng.random(200)
    guard = _with_knee(Guard(0.0, 0.1, -9, 9), guess, said, said + 0.1)
    assert guard.knee == pytest.approx(np.quantile(guess, 0.98))
    assert guard.steep == pytest.approx(1.0, abs=0.01)
    out = guard.apply(np.array([0.0, guard.knee, guard.knee + 1]))
    assert np.allclose(out, [0.0, 0.1 * guard.knee, 0.1 * guard.knee + guard.steep])


def test_what_was_not_confirmed_at_the_top_is():
    rng = np.random.default_rng(0)
    guard, guess = Guard(0.0, 0.1, -9, 9), rng.standard_normal(300)
    said = 2 + 5 * rng.random(200)
    assert _with_knee(guard, guess, said, rng.standard_normal(200)) == guard
    assert _with_knee(guard, guess, said[:40], said[:40]) == guard  # too few
    far = rng.standard_normal(200)
    far[3], said[3] = 500.0, 60.0  # one pair far out tells nothing
    assert _with_knee(guard, guess, said, far) == guard


# --- curves that turn -----------------------------------------------------------------


def test_a_curve_that_turns_orders_with_its_chord():
    """It falls from .2 to .5: pairs of .3 must not come before those of .5."""
    turns = Curve(0.0, 1.0, np.array([0.1, 1.0, -3.0, 2.6]))
    x = np.linspace(0.2, 0.9, 20)
    assert np.any(np.diff(turns(x)) < 0)
    rising = turns.rising(x)
    assert np.all(np.diff(rising(x)) > 0)
    np.testing.assert_allclose(rising(x[[0, -1]]), turns(x[[0, -1]]))


@pytest.mark.parametrize("weights", [[0.0, 1.0, 1.0], [0.0, -1.0], [2.0]])
def test_a_curve_that_rises_or_falls_stays(weights):
    curve, x = Curve(0.0, 1.0, np.array(weights)), np.linspace(0, 1, 20)
    np.testing.assert_allclose(curve.rising(x)(x), curve(x))


def test_a_curve_that_hardly_turns_hardly_changes():
    curve, x = Curve(0.0, 1.0, np.array([0.0, -0.01, 0.0, 5.0])), np.linspace(0, 1, 20)
    rising = curve.rising(x)
    assert np.all(np.diff(rising(x)) > 0)
    assert np.abs(rising(x) - curve(x)).max() < 0.02 * np.ptp(curve(x))


# --- after landmarks ------------------------------------------------------------------


@pytest.mark.needs_data
def test_refinement_after_landmarks_learns_item_by_item(data_folder):
    """MRPC, 36 % of the pairs: landmarks alone find .59 of the ten (`regularized`)."""
    K = np.load(data_folder / "matrices" / "mrpc.npy").astype(np.float64)
    K = (K + K.T) / 2
    E = np.load(data_folder / "matrices" / "mrpc_embeddings.npy").astype(np.float32)
    method, found, corrected = fp.Auto(student=False), [], 0
    for seed in range(3):
        approx = fp.approximate(None, K, method=method, budget=0.36, prior=E, seed=seed)
        assert len(approx.landmarks) > 8
        corrected += approx.model.correction is not None
        found.append(quality(approx, K).recall)
    assert corrected >= 2  # else the ranking that goes with it is ahead
    assert np.mean(found) > 0.92


@pytest.mark.needs_data
def test_few_items_are_read_pair_by_pair_rather_than_by_landmarks(data_folder):
    """RTE, 60 pairs per item, 11 % of all pairs."""
    K = np.load(data_folder / "matrices" / "rte.npy").astype(np.float64)
    E = np.load(data_folder / "matrices" / "rte_embeddings.npy").astype(np.float32)
    method = fp.Auto(student=False)
    found = [
        quality(
            fp.approximate(
                None, (K + K.T) / 2, method=method, budget="60/item", prior=E, seed=seed
            ),
            (K + K.T) / 2,
        )
        for seed in range(3)
    ]
    assert np.mean([one.recall for one in found]) > 0.66
    assert np.mean([one.r2 for one in found]) > 0.77


def partly_read(base, cheap, read):
    """Candidates of which the first few of every item were read before."""
    n, m = base.shape
    score = base.copy()
    score[:, :read] = -np.inf
    partner = np.tile(np.arange(m, dtype=np.int32), (n, 1))
    return Candidates(partner, score, base, cheap)


@pytest.mark.parametrize("noise", [0.01, 0.5])
def test_a_flat_curve_counts_as_much_as_what_would_drown_it(noise):
    rng = np.random.default_rng(0)
    cheap = rng.random((200, 20)).astype(np.float32)
    flat = Curve(0.0, 1.0, np.array([0.3, 0.1]))
    base = (flat(cheap) + noise * rng.standard_normal(cheap.shape)).astype(np.float32)
    found = as_steep(flat, partly_read(base, cheap, 3))
    if noise < 0.1:
        assert found is flat
        return
    spread = found(cheap).std(axis=1).mean()
    assert spread > 4 * flat(cheap).std()
    middle = np.array([np.median(cheap[:, 3:])])
    assert found(middle) == pytest.approx(flat(middle), abs=1e-6)


@pytest.mark.parametrize("above", [0.5, -0.5])
def test_a_curve_below_low_rank_is_raised_to_where_its_most_similar_lie(above):
    rng = np.random.default_rng(1)
    cheap = rng.random((100, 80)).astype(np.float32)
    curve = Curve(0.0, 1.0, np.array([0.2, 0.3]))
    base = (curve(rng.random(cheap.shape)) + above).astype(np.float32)
    raised = as_high(curve, partly_read(base, cheap, 5))
    if above < 0:
        assert raised is curve
        return
    by_base, by_prior = (
        np.median(np.sort(part[:, 5:], axis=1)[:, -32])
        for part in (base, raised(cheap))
    )
    assert by_prior == pytest.approx(by_base, abs=0.02)
