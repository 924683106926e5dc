"""Candidates on a device: torch does what NumPy does, here on the cores."""

from dataclasses import replace
from operator import attrgetter

import numpy as np
import pytest
from benchmarks.hidden import Rough

import fewpairs as fp
from fewpairs.kernels.linalg.mixed_effects import MixedEffects
from fewpairs.matrix.entries import Entries
from fewpairs.methods.auto import (
    correction_scorer,
    few,
    proposals,
    reading_rounds,
    round_steps,
)
from fewpairs.methods.auto.best_values import best_values, with_new
from fewpairs.methods.auto.borderline import borderline
from fewpairs.methods.auto.candidates import Candidates
from fewpairs.methods.auto.cautious import Halfway, levels_by
from fewpairs.methods.auto.correcting import Correcting
from fewpairs.methods.auto.errors_by_prior import ErrorsByPrior
from fewpairs.methods.auto.expansion import best_known, expand
from fewpairs.model.correction import Correction, Fade, Form
from fewpairs.model.curve import Curve
from fewpairs.model.low_rank import LowRank
from fewpairs.model.model import Model
from fewpairs.model.pair_inputs import PairInputs
from fewpairs.model.product_vectors import product_vectors
from fewpairs.model.student import Student
from fewpairs.similarity.priors import Prior

torch = pytest.importorskip("torch", reason="needs the torch extra")

from fewpairs.kernels.linalg import (  # noqa: E402
    broken_line,
    broken_line_torch,
    item_ridges,
    item_ridges_torch,
    selection,
    selection_torch,
    top_products,
    top_products_torch,
)
from fewpairs.methods.auto import candidates_on_device, items_on_device  # noqa: E402
from fewpairs.methods.auto.candidates_on_device import CandidatesOnDevice  # noqa: E402
from fewpairs.methods.auto.items_on_device import (  # noqa: E402
    ItemsOnDevice,
    scorer_on_device,
)
from fewpairs.methods.auto.read_on_device import ReadOnDevice  # noqa: E402
from fewpairs.methods.auto.steps_on_device import ON_DEVICE  # noqa: E402

N, M, D = 150, 24, 5
FORM = Form(
    np.random.default_rng(7).standard_normal((N, 6)).astype(np.float32),
    np.array([1.0, -0.5, 2.0, 0.3], dtype=np.float32),
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Nothing may depend on how much is looked at at once."""
    monkeypatch.setattr(candidates_on_device, "NUMBERS", 700)
    monkeypatch.setattr(items_on_device, "_NUMBERS", 90)
    monkeypatch.setattr(items_on_device, "_ASKED", 50)


def a_model(rng, n=N):
    """Return a model of signed low rank, embeddings and a curve."""
    unit = rng.standard_normal((n, 7)).astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    left = rng.standard_normal((n, 4)).astype(np.float32) / 4
    low_rank = LowRank(left, signature=np.array([1.0, -1.0, 1.0, 1.0]))
    curve = Curve(0.1, 0.4, np.array([0.2, 0.3, 0.1, -0.02]))
    none = np.empty(0, dtype=np.int64)
    return Model(low_rank, none, "", prior=Prior.of_embeddings(unit), curve=curve)


def a_correction(rng, n=N, **options):
    features = rng.standard_normal((n, D)).astype(np.float32)
    options.setdefault("curve", Curve(0.0, 0.5, np.array([0.1, 0.4, 0.2])))
    options.setdefault("mixed", 0.25)
    return Correction(
        np.array([-1.0, -0.2, 0.3, 0.3, 1.5]),
        np.array([-0.8, 0.0, 0.2, 0.4, 1.1]),
        *options.pop("cheap_line", (np.array([-0.5, 0.5]), np.array([0.0, 0.3]))),
        np.append(rng.random(n - 1), np.inf).astype(np.float32),
        0.4,
        features,
        rng.standard_normal((n, D)).astype(np.float32),
        **options,
    )


def some_read(rng, n=N, pairs=600, lines=()):
    """Return entries of a few pairs, with ties, and of whole lines."""
    known = Entries(n, symmetric=True)
    i, j = rng.integers(n - 10, size=(2, pairs))  # of the last ten nothing is read
    known.add_pairs(i, j, np.round(rng.random(pairs), 2))
    if len(lines):
        known.add_lines(np.array(lines), rng.random((len(lines), n)))
    return known


def both_kinds(rng, model, *, n=N, m=M, ties=True):
    """Return the same candidates twice: of every item some others, some dead."""
    partner = np.argsort(rng.random((n, n)) + 2 * np.eye(n), axis=1)[:, :m]
    score = rng.standard_normal((n, m)).astype(np.float32)
    if ties:
        score = np.round(score, 1)
    score[rng.random((n, m)) < 0.2] = -np.inf
    score[3] = -np.inf  # an item without any
    base, cheap = rng.standard_normal((2, n, m)).astype(np.float32)
    host = Candidates(partner.astype(np.int32), score, base, cheap, mixed=True)
    items = ItemsOnDevice(model, "cpu")
    arrays = (torch.tensor(a) for a in (host.partner, score, base, cheap))
    return host, CandidatesOnDevice(items, *arrays, mixed=True)


def test_largest_of_rows_are_those_that_numpy_finds_with_ties_and_without(rng):
    scores = np.round(rng.standard_normal((50, 30)), 1).astype(np.float32)
    scores[rng.random(scores.shape) < 0.5] = -np.inf
    there = torch.tensor(scores)
    for count in (1, 7, 30):
        expected = selection.largest(scores, count)
        found = selection_torch.largest(there, count).numpy()
        assert np.array_equal(found, expected)
        falling = selection_torch.falling(there, count).numpy()
        assert np.array_equal(np.sort(falling, axis=1), expected)
        in_order = np.take_along_axis(scores, falling, axis=1)
        assert (in_order[:, 1:] <= in_order[:, :-1]).all()


def test_the_largest_of_every_group_come_by_rank():
    group = torch.tensor([2, 0, 2, 2, 0])
    values = torch.tensor([1.0, 5.0, 3.0, 3.0, 5.0])
    place, rank = selection_torch.ranked(group, values, 2)
    assert place.tolist() == [1, 4, 2, 3]
    assert rank.tolist() == [0, 1, 0, 1]


def test_a_key_is_among_sorted_ones_or_it_is_not():
    rising = torch.tensor([2, 5, 9])
    keys = torch.tensor([1, 2, 9, 10])
    assert selection_torch.among(keys, rising).tolist() == [False, True, True, False]
    assert not selection_torch.among(keys, rising[:0]).any()


def test_equal_keys_have_the_same_first_place():
    keys = torch.tensor([7, 3, 7, 3, 1])
    first, same = selection_torch.first_of_equals(keys)
    assert first.tolist() == [4, 1, 0]
    assert same.tolist() == [2, 1, 2, 1, 0]


def test_a_broken_line_is_the_same_with_knots_that_single_precision_ties(rng):
    knots = np.array([1e4, 1e4 + 1e-6, 1e4 + 1, 1e4 + 3])
    levels = np.array([0.0, 0.5, 2.0, -1.0])
    x = (1e4 + 5 * rng.random(200) - 1).astype(np.float32)
    expected = broken_line.broken_line(x, knots, levels)
    found = broken_line_torch.broken_line(torch.tensor(x), knots, levels).numpy()
    assert np.allclose(found, expected, atol=1e-5)
    assert np.ptp(found) > 2


@pytest.mark.parametrize("of_curve", [True, False])
def test_what_is_predicted_of_pairs_is_the_same(rng, of_curve):
    model = a_model(rng)
    model = model if of_curve else replace(model, curve=None)
    i, j = rng.integers(N, size=(2, 500))
    expected = model.inputs(i, j)
    found = ItemsOnDevice(model, "cpu").inputs(torch.tensor(i), torch.tensor(j))
    assert np.allclose(found.base.numpy(), expected.base, atol=1e-5)
    assert np.allclose(found.cheap.numpy(), expected.cheap, atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"curve": None, "mixed": 0.0},
        {"mixed": 0.0},
        {"fade": Fade(-0.5, 0.8, 0.3)},
        {"bulk": Fade(-0.5, 0.8, 0.3)},
        {"form": FORM},
        {"cheap_line": (np.empty(0), np.empty(0))},
    ],
)
def test_a_correction_says_the_same(rng, options):
    model, bent = a_model(rng), a_correction(rng, **options)
    i, j = rng.integers(N, size=(2, 500))
    i[:5] = N - 1  # whose level is infinite
    expected = bent.pairs(inputs := model.inputs(i, j))
    there = PairInputs(*map(torch.tensor, inputs))
    found = scorer_on_device(bent, "cpu")(there).numpy()
    assert np.allclose(found, expected, atol=1e-5)
    assert np.std(found) > 0.1


@pytest.mark.parametrize("with_prior", [True, False])
def test_a_student_says_there_what_it_says_on_the_host(rng, with_prior):
    inputs = a_model(rng).inputs(*rng.integers(N, size=(2, 500)))
    if not with_prior:
        inputs = PairInputs(inputs.i, inputs.j, inputs.base, None)
    features = rng.standard_normal((N, 6))
    student = Student.start(features, 3 + 2 * inputs.base, inputs.cheap, rng)
    score, there = student.as_it_is("torch"), top_products.gpu() or "cpu"
    tensors = [x if x is None else torch.tensor(x, device=there) for x in inputs]
    found = scorer_on_device(score, there)(PairInputs(*tensors))
    assert isinstance(found, torch.Tensor)
    expected = student.pairs(inputs)
    assert np.std(expected) > 0.01
    found = found.cpu().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(score(inputs), expected, rtol=1e-4, atol=1e-5)


def test_a_scorer_that_knows_no_device_is_asked_on_the_host(rng):
    inputs = a_model(rng).inputs(*rng.integers(N, size=(2, 500)))
    asked = []

    def score(some):
        asked.append(len(some))
        return some.base - some.cheap

    found = scorer_on_device(score, "cpu")(PairInputs(*map(torch.tensor, inputs)))
    assert np.array_equal(found.numpy(), inputs.base - inputs.cheap)
    assert asked == [50] * 10


@pytest.mark.parametrize("numbers", [1, 400, 1 << 20])
def test_items_regressions_come_out_the_same(rng, numbers, monkeypatch):
    monkeypatch.setattr(item_ridges_torch, "_NUMBERS", numbers)
    i, j = rng.integers(N - 10, size=(2, 900))  # the last ten have no pair
    i[:200] = 3
    weights, values = rng.random((2, 900)).astype(np.float32)
    features = rng.standard_normal((N, D)).astype(np.float32)
    for items in (None, rng.random(N) < 0.3):
        given = {"ridges": (0.5, 20.0), "items": items}
        data = i, j, weights, values, features
        expected = item_ridges.item_ridges(*data, **given)
        found = item_ridges_torch.item_ridges(*data, **given, device="cpu")
        for one, other in zip(found, expected, strict=True):
            assert np.allclose(one, other, atol=1e-4)
            assert not one[-10:].any()
            assert np.abs(one[:-10]).max() > 0.05


def test_effects_of_items_come_out_the_same(rng):
    i, j = rng.integers(N - 10, size=(2, 900))  # the last ten have no pair
    X = rng.standard_normal((900, 4))
    effects = rng.standard_normal(N)
    y = X @ [0.5, 0.0, 0.2, 0.1] + effects[i] + effects[j]
    y += 0.3 * rng.standard_normal(900)
    y /= y.std()
    found = []
    for device in (None, "cpu"):
        fitted = MixedEffects(N, np.array([-1, 0, 0, 1]), device)
        fitted.add(lambda part: X[part], i, j, y)
        found.append(fitted.solve())
    for name in ("weights", "items", "noise", "spread"):
        both = (getattr(one, name) for one in found)
        assert np.allclose(*both, atol=1e-4), name
    assert np.corrcoef(found[1].items[:-10], effects[:-10])[0, 1] > 0.9


def test_what_a_scorer_says_of_pairs_comes_back_to_the_host(rng):
    inputs = a_model(rng).inputs(*rng.integers(N, size=(2, 500)))
    bent = a_correction(rng)
    for scorer in (bent, Halfway(bent.curve), attrgetter("base")):
        found = ON_DEVICE.said(scorer, inputs)
        assert isinstance(found, np.ndarray)
        assert np.allclose(found, scorer(inputs), atol=1e-5)


@pytest.mark.parametrize("form", [None, FORM])
def test_product_vectors_have_the_same_products(rng, form):
    model = a_model(rng)
    if form is not None:
        bent = a_correction(rng, form=form, slopes=(0.5, 0.2))
        model = replace(model, correction=bent)
    products = []
    for vectors, signs in (
        product_vectors(model),
        (x.numpy() for x in ItemsOnDevice(model, "cpu").product_vectors(model)),
    ):
        products.append((vectors * signs) @ vectors.T)
    assert np.allclose(*products, atol=1e-4)
    assert np.std(products[0]) > 0.1


@pytest.mark.parametrize("lines", [(), (4, 17)])
def test_what_is_read_is_known_in_both_orders(rng, lines):
    known = some_read(rng, lines=lines)
    i, j = rng.integers(N, size=(2, 5_000))
    i, j = i[i != j], j[i != j]
    read = ReadOnDevice(known, "cpu")
    found = read.holds(torch.tensor(i), torch.tensor(j)).numpy()
    assert np.array_equal(~found, known.unread(i, j))
    assert 0 < found.mean() < 1


def test_nothing_read_is_nothing_known():
    read = ReadOnDevice(Entries(N, symmetric=True), "cpu")
    assert not read.holds(torch.arange(9), torch.arange(9) + 1).any()
    assert read.best(3).tolist() == [[item] * 3 for item in range(N)]
    assert (read.best_values(2) == -torch.inf).all()


@pytest.mark.parametrize("lines", [(), (4, 17)])
def test_the_best_that_was_read_is_the_same(rng, lines):
    known = some_read(rng, lines=lines)
    expected = best_known(known, N, 6)
    assert np.array_equal(ReadOnDevice(known, "cpu").best(6).numpy(), expected)
    best = best_values(known, N, 4)
    there = ON_DEVICE.best_values(known, N, 4)
    assert np.array_equal(there.cpu().numpy(), best)
    i, j = rng.integers(N, size=(2, 300))
    new = i, j, np.round(rng.random(300), 2)
    found = ON_DEVICE.with_new(there, *new).cpu().numpy()
    assert np.array_equal(found, with_new(best, *new))
    assert (found > best).any()
    assert np.array_equal(ON_DEVICE.lowest(there), best[:, -1])


@pytest.mark.parametrize("sure", [True, False])
def test_the_same_pairs_are_in_doubt(rng, sure, monkeypatch):
    for module in ("borderline", "steps_on_device"):
        monkeypatch.setattr(f"fewpairs.methods.auto.{module}.LOOKED_AT", 16)
    host, there = both_kinds(rng, a_model(rng))
    read = -np.sort(-rng.standard_normal((N, 10)), axis=1).astype(np.float32)
    read[:20, 4:] = -np.inf
    read[3] = -np.inf  # neither candidates nor anything read
    errors = ErrorsByPrior(np.array([-1.0, 0.0, 1.0]), np.array([0.05, 0.2, 0.6]))
    expected = borderline(host, read, errors, sure=sure)
    found = ON_DEVICE.borderline(there, torch.tensor(read), errors, sure=sure)
    live = np.isfinite(expected.worth)
    assert np.array_equal(np.isfinite(found.worth.numpy()), live)
    assert np.allclose(found.worth.numpy()[live], expected.worth[live], atol=2e-3)
    assert (found.chance is None) == (not sure)
    if sure:
        some = live & (np.abs(expected.chance) < 5)
        both = found.chance.numpy()[some], expected.chance[some]
        assert np.allclose(*both, atol=2e-2)


@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize("lines", [(), (4, 17)])
def test_the_same_pairs_are_chosen_and_none_twice(rng, mixed, lines):
    known = some_read(rng, lines=lines)
    # Not in turns those of one score come in any order.
    host, there = both_kinds(rng, a_model(rng), ties=mixed)
    host.mixed = there.mixed = mixed
    for count in (40, 700):
        by = rng.standard_normal((N, M)).astype(np.float32)
        expected = host.choose_by_several(
            known, [(count, host.cheap), (count // 2, by), (10, None)]
        )
        by_there = torch.tensor(by)
        found = there.choose_by_several(
            known, [(count, there.cheap), (count // 2, by_there), (10, None)]
        )
        for name in ("i", "j", "base", "cheap"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name
        assert np.array_equal(there.score.numpy(), host.score)
        assert there.taken == host.taken
        assert known.unread(found.i, found.j).all()


def test_a_pair_that_both_of_its_items_look_for_is_chosen_once(rng):
    """Most of what looks best is read, so that choosing takes several looks."""
    host, there = both_kinds(rng, a_model(rng, n=40), n=40, m=39)
    known = Entries(40, symmetric=True)
    known.add_pairs(*rng.integers(40, size=(2, 900)), rng.random(900))
    expected = host.choose_by_several(known, [(200, None)])
    found = there.choose_by_several(known, [(200, None)])
    assert len(found) == 200
    assert len(set(zip(found.i.tolist(), found.j.tolist(), strict=True))) == 200
    assert np.array_equal(found.i, expected.i)
    assert np.array_equal(found.j, expected.j)


def test_choosing_goes_on_where_the_last_choice_ended(rng):
    host, there = both_kinds(rng, a_model(rng))
    host.rotates = there.rotates = True
    known = some_read(rng)
    for _ in range(2):
        expected = host.choose_by_several(known, [(60, None)])
        found = there.choose_by_several(known, [(60, None)])
        assert np.array_equal(found.i, expected.i)


def test_where_fewer_are_left_fewer_are_chosen(rng):
    host, there = both_kinds(rng, a_model(rng))
    known = some_read(rng)
    number = len(host.choose_by_several(known, [(10**6, None)]))
    assert len(there.choose_by_several(known, [(10**6, None)])) == number
    assert not there.score.isfinite().any()
    assert len(there.choose_by_several(known, [(5, None)])) == 0


@pytest.mark.parametrize("depth", [None, 5])
def test_candidates_are_scored_anew_as_on_the_host(rng, depth):
    host, there = both_kinds(rng, a_model(rng))
    bent = a_correction(rng)
    before = host.score.copy()
    host.score_anew(bent, depth)
    there.score_anew(bent, depth)
    live = np.isfinite(host.score)
    assert np.array_equal(np.isfinite(there.score.numpy()), live)
    assert np.allclose(there.score.numpy()[live], host.score[live], atol=1e-5)
    assert 0 < np.mean(host.score[live] != before[live]) <= 1
    assert (depth is None) == (np.mean(host.score[live] != before[live]) > 0.9)


def test_where_an_items_most_similar_begin_is_the_same(rng):
    host, there = both_kinds(rng, a_model(rng), m=60)
    curve = Curve(0.0, 1.0, np.array([0.1, 0.8, 0.1]))
    expected = levels_by(host, curve)
    assert np.allclose(there.levels_by(curve), expected, atol=1e-5)
    assert np.isinf(expected[3])
    placed = []
    for found in (host, there):
        own = Correcting(None, N, rng, curve=curve)
        own.place(found)
        placed.append((own.levels, own.curve.coefficients))
        assert own._device == (None if found is host else "cpu")
    for one, other in zip(*placed, strict=True):
        assert np.allclose(one, other, atol=1e-5)


def in_order(found):
    """Return partners and scores of every item, sorted, as arrays."""
    partner, score = (
        a if isinstance(a, np.ndarray) else a.cpu().numpy()
        for a in (found.partner, found.score)
    )
    partner = np.where(np.isfinite(score), partner, -1)
    order = np.lexsort((score, partner), axis=1)
    return [np.take_along_axis(a, order, axis=1) for a in (partner, score)]


def shared(one, other):
    """Return which share of every item's are among those that another one has."""
    return np.mean([np.isin(a, b).mean() for a, b in zip(one, other, strict=True)])


def test_neighbors_of_neighbors_join_as_on_the_host(rng):
    model, bent, known = a_model(rng), a_correction(rng), some_read(rng, lines=(4,))
    host, there = both_kinds(rng, model, ties=False)
    for found in (host, there):  # so that both know the same of what they have
        found.score_anew(bent)
    for _ in range(2):  # the second time only through what is new
        expand(host, model, known, bent, 4)
        ON_DEVICE.expand(there, model, known, bent, 4)
        expected, found = in_order(host), in_order(there)
        assert shared(expected[0], found[0]) > 0.99  # products are rounded otherwise
        live = (expected[0] == found[0]) & np.isfinite(expected[1])
        assert np.allclose(found[1][live], expected[1][live], atol=1e-4)
        assert shared(there.near.numpy(), host.near) > 0.99


def test_candidates_are_proposed_as_on_the_host(rng, monkeypatch):
    monkeypatch.setattr(proposals, "EXACT", 10)
    model, known = a_model(rng), some_read(rng, lines=(4,))
    host = proposals.propose(model, known, 20, by="blocks")
    there = ON_DEVICE.propose(model, known, 20, by="cuda")
    expected, found = in_order(host), in_order(there)
    assert shared(expected[0], found[0]) > 0.99
    assert there.depth == host.depth
    before = there.nearest
    there.forget()
    bent = replace(model, correction=a_correction(rng, slopes=(1.0, 3.0)))
    again = ON_DEVICE.propose(bent, known, 20, by="cuda", before=there)
    assert again.nearest is before
    host = proposals.propose(bent, known, 20, by="blocks", before=host)
    assert shared(in_order(host)[0], in_order(again)[0]) > 0.99


def test_only_what_a_gpu_finds_stays_there(rng):
    model, known = a_model(rng), some_read(rng)
    assert round_steps.steps_by("cuda", model, known, 50) is ON_DEVICE
    grown, holes = some_read(rng), some_read(rng)
    grown.earlier = object()
    holes.add_partial(np.array([3]), np.full((1, N), np.nan))
    plain = Prior(model.prior._cheap, "no vectors", symmetric=True)
    two_sided = LowRank(model.left, other=model.left.copy())
    for by, some, entries in [
        ("index", model, known),
        (None, model, known),
        ("cuda", replace(model, prior=plain), known),
        ("cuda", replace(model, prior=None), known),
        ("cuda", replace(model, low_rank=two_sided), known),
        ("cuda", model, Entries(N, symmetric=False)),
        ("cuda", model, Entries(N, symmetric=True, split=9)),
        ("cuda", model, grown),
        ("cuda", model, holes),
    ]:
        assert round_steps.steps_by(by, some, entries, 50).expand is expand


def test_what_a_gpu_has_no_room_for_stays_on_the_host(rng, monkeypatch):
    model, known = a_model(rng), some_read(rng)
    monkeypatch.setattr(top_products, "gpu", lambda: None)
    assert round_steps.gpu_memory() == np.inf
    monkeypatch.setattr(round_steps, "_ASIDE", 0)
    monkeypatch.setattr(round_steps, "gpu_memory", lambda: 60.0 * 40 * N)
    assert round_steps.steps_by("cuda", model, known, 20) is ON_DEVICE
    assert round_steps.steps_by("cuda", model, known, 50).expand is expand


@pytest.mark.parametrize("per_item", [3, 12])
def test_a_whole_run_reads_what_it_reads_on_the_host(monkeypatch, per_item):
    """Torch on the cores stands in for the GPU, from the search to the choice."""
    monkeypatch.setattr(candidates_on_device, "NUMBERS", 1 << 24)
    monkeypatch.setattr(items_on_device, "_NUMBERS", 1 << 27)
    for module in (proposals, correction_scorer):
        monkeypatch.setattr(module, "EXACT", 500)
    monkeypatch.setattr(proposals, "gpu", lambda: "cuda")
    monkeypatch.setattr(few, "gpu", lambda: "cpu")
    search = top_products_torch.ProductsOnDevice
    monkeypatch.setattr(
        top_products_torch, "ProductsOnDevice", lambda rows, _: search(rows, "cpu")
    )
    n = 2_000
    similarity = Rough(n)

    def run():
        return fp.approximate(
            range(n),
            similarity,
            method=fp.Auto(student=False),
            budget=per_item * n // 2,
            prior=similarity.prior,
        )

    there, again = run(), run()
    used = []

    def on_cores(by, *rest):
        used.append(by)
        return round_steps.steps_by(None, *rest)

    monkeypatch.setattr(reading_rounds, "steps_by", on_cores)
    host = run()
    assert used == ["cuda"]
    assert there.evaluations == host.evaluations
    read = [np.sort(one.known.scattered()[0]) for one in (there, again, host)]
    assert np.array_equal(read[0], read[1])
    assert np.isin(read[0], read[2]).mean() > 0.95  # products are rounded otherwise
    found = [one.neighbors(10).indices for one in (there, host)]
    assert shared(*found) > 0.95
    base = attrgetter("base")
    assert scorer_on_device(base, "cpu") is base
