"""The pair network: its gradient, its predictions, and that it learns."""

import functools
import importlib.util
import subprocess
import sys
import time

import numpy as np
import pytest

from fewpairs.kernels.linalg.blas_threads import Threads
from fewpairs.kernels.pair_network import network as pair_network
from fewpairs.kernels.pair_network import torch_prediction, torch_training
from fewpairs.kernels.pair_network.adam import (
    Adam,
    Group,
    averaging_weight,
    rate_factor,
)
from fewpairs.kernels.pair_network.gradient import Part, views
from fewpairs.kernels.pair_network.network import (
    PairNetwork,
    arrays,
    from_arrays,
    predict,
    predict_block,
    train,
)
from fewpairs.kernels.pair_network.row_steps import RowSteps

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed"
)
TRAINERS = [
    pytest.param(train, id="numpy"),
    pytest.param(torch_training.train, id="torch", marks=needs_torch),
]


def small_network(n=30, d=6, scalars=2, hidden=(20, 9), seed=0):
    rng = np.random.default_rng(seed)
    return PairNetwork.start(rng.standard_normal((n, d)), scalars, hidden, rng=rng)


def some_pairs(network, m, seed=1):
    rng = np.random.default_rng(seed)
    i, j = rng.integers(len(network.items), size=(2, m))
    return i, j, rng.standard_normal((m, network.scalars)).astype(np.float32)


def by_the_formula(network, i, j, scalars):
    p = {name: array.astype(float) for name, array in arrays(network).items()}
    a, b = p["items"][i], p["items"][j]
    x = np.hstack([a * b, abs(a - b), a + b, scalars])
    h = np.maximum(x @ p["first"] + p["first_bias"], 0)
    h = np.maximum(h @ p["second"] + p["second_bias"], 0)
    return h @ p["last"] + p["last_bias"]


def hidden_products(n=200, d=8, m=20_000, seed=0):
    """Pairs whose target is the product of vectors that the features only hint at."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, d)) / np.sqrt(d)
    i, j = rng.integers(n, size=(2, m))
    features = hidden + 0.2 * rng.standard_normal((n, d))
    targets = (hidden[i] * hidden[j]).sum(axis=1) * np.sqrt(d)
    return features, i, j, np.zeros((m, 0)), targets


def r_squared(network, i, j, scalars, targets):
    residual = predict(network, i, j, scalars) - targets
    return 1 - np.mean(residual**2) / np.var(targets)


# Predictions


def test_predicts_what_the_formula_says():
    network = small_network()
    i, j, scalars = some_pairs(network, 1_300)
    expected = by_the_formula(network, i, j, scalars)
    np.testing.assert_allclose(predict(network, i, j, scalars), expected, atol=1e-5)


@needs_torch
def test_torch_predicts_the_same(monkeypatch):
    monkeypatch.setattr(torch_prediction, "_PAIRS", 16)  # in several pieces
    network = small_network()
    pairs = some_pairs(network, 50)
    by_torch = torch_prediction.TorchPredictor(network)
    np.testing.assert_allclose(by_torch(*pairs), predict(network, *pairs), atol=1e-5)
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    there = by_torch.there(*(torch.tensor(part, device=device) for part in pairs))
    there = there.cpu().numpy()
    np.testing.assert_allclose(there, predict(network, *pairs), atol=1e-5)
    assert len(by_torch(*some_pairs(network, 0))) == 0


@needs_torch
def test_torch_predicts_by_the_network_as_it_was():
    network = small_network()
    pairs = some_pairs(network, 50)
    by_torch = torch_prediction.TorchPredictor(network)
    before = predict(network, *pairs)
    network.last += 1
    np.testing.assert_allclose(by_torch(*pairs), before, atol=1e-5)


def test_is_symmetric():
    network = small_network()
    i, j, scalars = some_pairs(network, 200)
    there, back = predict(network, i, j, scalars), predict(network, j, i, scalars)
    np.testing.assert_array_equal(there, back)


@pytest.mark.parametrize("shape", [(7, 20), (20, 7), (1, 1), (0, 5), (70, 1_100)])
@pytest.mark.parametrize("scalars", [0, 3])
def test_blocks_agree_with_pairs(shape, scalars):
    network = small_network(n=1_200, scalars=scalars)
    rng = np.random.default_rng(2)
    rows, columns = (rng.integers(1_200, size=size) for size in shape)
    known = rng.standard_normal((*shape, scalars)).astype(np.float32)
    i, j = (p.ravel() for p in np.meshgrid(rows, columns, indexing="ij"))
    expected = predict(network, i, j, known.reshape(len(i), scalars)).reshape(shape)
    block = predict_block(network, rows, columns, list(np.moveaxis(known, 2, 0)))
    assert block.shape == shape
    assert block.flags.c_contiguous
    np.testing.assert_allclose(block, expected, rtol=0, atol=1e-5)


def test_arrays_make_the_round_trip():
    network = small_network()
    copy = from_arrays(arrays(network))
    for name, array in arrays(network).items():
        assert getattr(copy, name).dtype == np.float32
        assert not np.shares_memory(getattr(copy, name), array)
        np.testing.assert_array_equal(getattr(copy, name), array)


def test_wrong_pairs_are_refused():
    network = small_network()
    i, j, scalars = some_pairs(network, 10)
    with pytest.raises(ValueError, match=r"positions must be from 0 to 29"):
        predict(network, i - 30, j, scalars)
    with pytest.raises(ValueError, match=r"scalars \(m, 2\) needed"):
        predict(network, i, j, scalars[:, :1])
    with pytest.raises(ValueError, match="2 scalars per pair needed, got 0"):
        predict_block(network, i, j, [])


# Gradient


def gradient_of(network, i, j, scalars, targets, dropout=0.0):
    """Return the gradients of the mean squared error, by name, and the part."""
    vector = np.concatenate([p.ravel() for p in arrays(network).values()])
    shapes = {name: p.shape for name, p in arrays(network).items()}
    joined = {**shapes, "first": (shapes["first"][0] + 1, shapes["first"][1])}
    del joined["first_bias"]
    ends = np.empty((2, len(i), network.items.shape[1]), np.float32)
    part = Part(
        views(vector, joined),
        ends,
        np.stack([i, j]).astype(np.int32),
        share=1 / len(i),
        dropout=dropout,
        rng=np.random.default_rng(5),
    )
    part.differentiate(scalars, targets)
    del shapes["items"]
    found = views(part.gradient, shapes)
    found["items"] = np.zeros_like(network.items)
    np.add.at(found["items"], i, ends[0])
    np.add.at(found["items"], j, ends[1])
    return found, part


@needs_torch
def test_gradient_is_that_of_autograd():
    import torch

    network = small_network()
    i, j, scalars = some_pairs(network, 100)
    assert (i == j).any()  # |a − b| has a corner there
    targets = np.random.default_rng(3).standard_normal(100).astype(np.float32)
    found, _ = gradient_of(network, i, j, scalars, targets)
    p = {
        name: torch.tensor(array, dtype=torch.float64, requires_grad=True)
        for name, array in arrays(network).items()
    }
    a, b = p["items"][i], p["items"][j]
    x = torch.cat([a * b, (a - b).abs(), a + b, torch.tensor(scalars)], dim=1)
    h = (x @ p["first"] + p["first_bias"]).relu()
    h = (h @ p["second"] + p["second_bias"]).relu()
    y = h @ p["last"] + p["last_bias"]
    ((y - torch.tensor(targets)) ** 2).mean().backward()
    for name, parameter in p.items():
        expected = parameter.grad.numpy()
        scale = abs(expected).max()
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e-5 * scale)


@pytest.mark.parametrize("name", arrays(small_network()))
def test_gradient_is_that_of_differences(name):
    network = small_network()
    i, j, scalars = some_pairs(network, 100)
    targets = np.random.default_rng(3).standard_normal(100).astype(np.float32)
    found, _ = gradient_of(network, i, j, scalars, targets)

    def loss(change):
        moved = from_arrays(arrays(network))
        setattr(moved, name, getattr(network, name) + change)
        return np.mean((by_the_formula(moved, i, j, scalars) - targets) ** 2)

    direction = found[name].astype(float)
    step = 1e-4 / np.linalg.norm(direction)
    slope = (loss(step * direction) - loss(-step * direction)) / (2 * step)
    assert slope == pytest.approx(np.sum(direction**2), rel=2e-2)


def test_dropout_keeps_the_expected_gradient():
    """The last bias sees 2·(mean of y − target), whatever is dropped, on average."""
    network = small_network(hidden=(200, 60))
    network.second_bias[:] = 1.0  # few corners, so E[y] is nearly y
    network.first_bias[:] = 3.0
    i, j, scalars = some_pairs(network, 400)
    targets = np.zeros(400, np.float32)
    expected, _ = gradient_of(network, i, j, scalars, targets)
    with_dropout, part = gradient_of(network, i, j, scalars, targets, dropout=0.1)
    drawn = [with_dropout["last_bias"][0]]
    for _ in range(20):
        part.differentiate(scalars, targets)
        drawn.append(with_dropout["last_bias"][0])
    assert np.std(drawn) > 0
    assert np.mean(drawn) == pytest.approx(expected["last_bias"][0], rel=0.03)
    assert np.mean(part._open1 == 0) == pytest.approx(0.1, abs=0.03)


# Optimizer


def test_the_rate_warms_up_and_falls():
    rates = [rate_factor(t, 1_000) for t in range(1_000)]
    assert rates[0] == pytest.approx(1 / 50)
    assert np.argmax(rates) == 49
    assert 0 < rates[-1] < 0.04


def test_averaging_begins_after_two_fifths():
    weights = [averaging_weight(t, 1_000, 0.995) for t in range(1_000)]
    assert weights[399] == 0.0
    assert weights[400:403] == [1.0, 1 / 2, 1 / 3]
    assert weights[-1] == pytest.approx(0.005)


@needs_torch
def test_adam_is_that_of_torch():
    import torch

    rng = np.random.default_rng(0)
    start = rng.standard_normal(40_000).astype(np.float32)
    gradients = rng.standard_normal((6, 2, 40_000)).astype(np.float32)
    handed = list(gradients[0])
    groups = [
        Group(30_000, handed, 0, 1e-2, 0.1),
        Group(10_000, handed, 30_000, 1e-3, 0),
    ]
    ours = Adam(start.copy(), groups)
    theirs = [torch.tensor(p) for p in np.split(start, [30_000])]
    optimizer = torch.optim.AdamW(
        [
            {"params": [theirs[0]], "lr": 1e-2, "weight_decay": 0.1},
            {"params": [theirs[1]], "lr": 1e-3, "weight_decay": 0.0},
        ]
    )
    visited = []
    for k, parts in enumerate(gradients):
        handed[:] = list(parts)
        ours.step(Threads(None), 1.0, max(0, 1 / (k - 1)) if k > 1 else 0.0)
        for p, g in zip(theirs, np.split(parts.sum(axis=0), [30_000])):
            p.grad = torch.tensor(g)
        optimizer.step()
        visited.append(np.concatenate([p.numpy() for p in theirs]))
        np.testing.assert_allclose(ours.values, visited[-1], rtol=0, atol=2e-6)
    np.testing.assert_allclose(ours.result, np.mean(visited[2:], axis=0), atol=2e-6)


# Training


@pytest.mark.parametrize("trainer", TRAINERS)
def test_the_same_seed_gives_the_same_network(trainer):
    features, *samples = hidden_products(m=3_000)
    trained = []
    for _ in range(2):
        rng = np.random.default_rng(4)
        network = PairNetwork.start(features, 0, (32, 16), rng=rng)
        assert trainer(network, *samples, steps=12, batch=700, rng=rng) == 12
        trained.append(arrays(network))
    for name in trained[0]:
        np.testing.assert_array_equal(trained[0][name], trained[1][name])


@functools.cache
def learned(trainer):
    """Train on three quarters; return R² of the rest, and how far vectors moved."""
    features, *samples = hidden_products()
    rng = np.random.default_rng(0)
    network = PairNetwork.start(features, 0, (64, 32), rng=rng)
    seen = []
    trainer(
        network,
        *(array[:15_000] for array in samples),
        steps=300,
        batch=512,
        dropout=0.02,
        rng=rng,
        on_step=seen.append,
    )
    assert seen == list(range(1, 301))
    moved = np.abs(network.items - features).max()
    return r_squared(network, *(array[15_000:] for array in samples)), moved


@pytest.mark.parametrize("trainer", TRAINERS)
def test_learns_products_of_hidden_vectors(trainer):
    explained, moved = learned(trainer)
    assert explained > 0.9
    assert moved > 0.05


@needs_torch
def test_both_trainers_reach_the_same_loss():
    ours, theirs = learned(train)[0], learned(torch_training.train)[0]
    assert 1 - ours == pytest.approx(1 - theirs, rel=0.3)


@pytest.mark.parametrize("trainer", TRAINERS)
def test_a_deadline_in_the_past_changes_nothing(trainer):
    network = small_network()
    before = from_arrays(arrays(network))
    i, j, scalars = some_pairs(network, 50)
    rng = np.random.default_rng(0)
    past = time.monotonic() - 1.0
    done = trainer(
        network, i, j, scalars, scalars[:, 0], steps=9, rng=rng, deadline=past
    )
    assert done == 0
    for name, array in arrays(before).items():
        np.testing.assert_array_equal(getattr(network, name), array)


@pytest.mark.parametrize("trainer", TRAINERS)
@pytest.mark.parametrize("last", [2, 6])
def test_a_deadline_stops_early_with_what_was_learned(monkeypatch, trainer, last):
    network = small_network()
    before = network.first.copy()
    i, j, scalars = some_pairs(network, 50)
    done = []
    monkeypatch.setattr(time, "monotonic", lambda: float(len(done)))
    count = trainer(
        network,
        i,
        j,
        scalars,
        scalars[:, 0],
        steps=10,
        batch=64,
        rng=np.random.default_rng(0),
        deadline=float(last),
        on_step=done.append,
    )
    assert count == last
    assert (network.first != before).any()
    assert all(np.isfinite(array).all() for array in arrays(network).values())


def test_importing_the_trainers_imports_no_torch():
    module = "fewpairs.kernels.pair_network.torch_training"
    code = f"import sys, {module}; print('torch' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "False"


# --- rows that a batch touches ------------------------------------------------


def test_rows_that_are_touched_in_every_step_take_those_of_rmsprop_and_average():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((5, 3)).astype(np.float32)
    steps = RowSteps(values.copy(), 0.1)
    theta, square = values.astype(np.float64), np.zeros((5, 3))
    average = None
    for t, weight in enumerate([0.0, 0.0, 1.0, 0.5, 0.25]):
        g = rng.standard_normal((2, 5, 3)).astype(np.float32)
        positions = np.tile(np.arange(5, dtype=np.int32), 2)
        steps.step(positions, g.reshape(10, 3), 1.0, weight)
        total = g.sum(axis=0)
        square = 0.999 * square + 0.001 * total**2
        theta = theta - 0.1 * total / np.sqrt(square / (1 - 0.999 ** (t + 1)))
        if weight:
            average = theta if average is None else average + weight * (theta - average)
    np.testing.assert_allclose(steps.values, theta, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(steps.result, average, rtol=1e-4, atol=1e-5)


def test_the_average_of_a_row_that_rests_is_made_up_for():
    steps = RowSteps(np.zeros((2, 1), np.float32), 1.0)
    average = np.zeros(2)
    for t, weight in enumerate([1.0, 0.5, 0.3, 0.2, 0.1]):
        row = 0 if t in (1, 4) else 1  # row 0 rests for two steps
        steps.step(np.array([row], np.int32), np.ones((1, 1), np.float32), 1.0, weight)
        average += weight * (steps.values[:, 0] - average)
    np.testing.assert_allclose(steps.result[:, 0], average, rtol=1e-5)


def test_moving_only_what_is_touched_learns_as_much(monkeypatch):
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((600, 6))
    i, j = rng.integers(600, size=(2, 8_000))
    targets = np.tanh(np.einsum("td,td->t", hidden[i], hidden[j]))
    seen = hidden + 0.3 * rng.standard_normal(hidden.shape)
    errors = []
    for many in (10**9, 0):
        monkeypatch.setattr(pair_network, "_MANY", many)
        network = PairNetwork.start(
            seen.astype(np.float32), 0, hidden=(32, 16), rng=np.random.default_rng(1)
        )
        nothing = np.empty((8_000, 0), np.float32)
        pair_network.train(
            network,
            i[1_000:],
            j[1_000:],
            nothing[1_000:],
            targets[1_000:],
            steps=400,
            batch=256,
            rng=np.random.default_rng(2),
        )
        found = pair_network.predict(network, i[:1_000], j[:1_000], nothing[:1_000])
        errors.append(np.mean((found - targets[:1_000]) ** 2))
    assert errors[1] < 1.15 * errors[0] < 0.5 * np.var(targets)
