"""PairMLP equals the plain network, however it is asked."""

import sys
from itertools import pairwise

import numpy as np
import pytest

import fewpairs as fp
from fewpairs.testing import check_similarity


def layers(d, *hidden, seed=0):
    rng = np.random.default_rng(seed)
    widths = (3 * d, *hidden, 1)
    return [
        (rng.standard_normal((out, fan)) / np.sqrt(fan), rng.standard_normal(out) / 2)
        for fan, out in pairwise(widths)
    ]


def vectors(n, d, seed=1):
    return np.random.default_rng(seed).standard_normal((n, d))


def plain_torch(weights, X, i, j):
    """The network as it is usually run: concatenate, then forward, in float64."""
    torch = pytest.importorskip("torch", reason="is the reference; torch extra")
    X = torch.from_numpy(np.asarray(X, dtype=np.float64))
    a, b = X[i], X[j]
    h = torch.cat([a, b, a * b], dim=1)
    for t, (weight, bias) in enumerate(weights):
        h = torch.relu(h) if t else h
        h = torch.nn.functional.linear(
            h, torch.from_numpy(weight), torch.from_numpy(bias)
        )
    return torch.sigmoid(h)[:, 0].numpy()


@pytest.mark.parametrize("hidden", [(7,), (16, 8), (16, 8, 4)])
@pytest.mark.parametrize("symmetric", [True, False])
def test_keeps_the_contract(hidden, symmetric):
    X = vectors(30, 5)
    mlp = fp.PairMLP(layers(5, *hidden), X, symmetric=symmetric)
    check_similarity(mlp, range(30))
    logits = fp.PairMLP(layers(5, *hidden), symmetric=symmetric, activation="identity")
    check_similarity(logits, X)
    assert mlp.symmetric is symmetric
    assert mlp.proven is symmetric


@pytest.mark.parametrize("hidden", [(32,), (32, 16)])
def test_equals_a_plain_torch_forward(hidden):
    X, weights = vectors(50, 12), layers(12, *hidden)
    i, j = np.divmod(np.arange(2_500), 50)
    expected = plain_torch(weights, X, i, j)
    scorer = fp.PairMLP(weights).bind(X)
    assert np.ptp(expected) > 0.1
    assert np.abs(scorer.pairs(i, j) - expected).max() < 1e-5
    block = scorer.block(np.arange(50), np.arange(50))
    assert np.abs(block.ravel() - expected).max() < 1e-5
    both = fp.PairMLP(weights, symmetric=True, activation="sigmoid").bind(X)
    logit = np.log(expected / (1 - expected)).reshape(50, 50)
    mean = 1 / (1 + np.exp(-(logit + logit.T) / 2))
    assert np.abs(both.block(np.arange(50), np.arange(50)) - mean).max() < 1e-5


@pytest.mark.parametrize("shape", [(1, 1), (3, 1100), (1100, 3), (5, 1024), (0, 4)])
def test_blocks_of_every_shape_agree_with_pairs(shape):
    X = vectors(1_100, 4)
    scorer = fp.PairMLP(layers(4, 6)).bind(X)
    rng = np.random.default_rng(0)
    rows, columns = (rng.permutation(1_100)[:k] for k in shape)
    block = scorer.block(rows, columns)
    assert block.shape == shape
    assert block.dtype == np.float32
    pairs = scorer.pairs(np.repeat(rows, shape[1]), np.tile(columns, shape[0]))
    assert np.allclose(block.ravel(), pairs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("library", ["there", "missing"])
def test_large_blocks_in_lanes_agree_with_small_ones(monkeypatch, library):
    if library == "missing":
        monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    scorer = fp.PairMLP(layers(4, 6)).bind(vectors(100, 4))
    monkeypatch.setattr("fewpairs.similarity.pair_mlp.scorer._ROWS", 64)
    small = scorer.block(np.arange(100), np.arange(90))
    monkeypatch.setattr("fewpairs.similarity.pair_mlp.scorer._LARGE", 0)
    assert np.array_equal(scorer.block(np.arange(100), np.arange(90)), small)


def test_large_logits_do_not_overflow():
    weights = [(np.full((1, 3), 1e4), np.zeros(1)), (np.array([[1e4]]), np.zeros(1))]
    negative = [weights[0], (np.array([[-1e4]]), np.zeros(1))]
    for net, value in ((weights, 1.0), (negative, 0.0)):
        scorer = fp.PairMLP(net).bind([[1.0], [2.0]])
        assert scorer.pairs(np.array([0]), np.array([1]))[0] == value


def test_saved_networks_come_back_the_same(tmp_path):
    pytest.importorskip("safetensors", reason="needs the torch extra")
    X = vectors(12, 4)
    for options in ({}, {"symmetric": True, "activation": "identity"}):
        mlp = fp.PairMLP(layers(4, 6, 5), X, **options)
        mlp.save(tmp_path / "m.safetensors")
        again = fp.PairMLP.from_safetensors(tmp_path / "m.safetensors", X)
        everything = np.arange(12)
        one, two = (m.bind(X).block(everything, everything) for m in (mlp, again))
        assert np.array_equal(one, two)
        assert again.symmetric == mlp.symmetric


def test_layers_of_foreign_files_are_taken_in_order(tmp_path):
    library = pytest.importorskip("safetensors.numpy", reason="needs the torch extra")
    weights = layers(2, *[3] * 11)
    tensors = {}
    for t, (weight, bias) in enumerate(weights):
        tensors[f"mlp.{2 * t}.weight"] = weight.astype(np.float32)
        tensors[f"mlp.{2 * t}.bias"] = bias.astype(np.float32)
    library.save_file(tensors, str(tmp_path / "m.safetensors"))
    loaded = fp.PairMLP.from_safetensors(tmp_path / "m.safetensors")
    for (weight, _), (mine, _) in zip(weights, loaded.layers):
        assert np.array_equal(weight.astype(np.float32), mine)


def test_bad_files_are_refused(tmp_path):
    library = pytest.importorskip("safetensors.numpy", reason="needs the torch extra")
    with pytest.raises(fp.InputError, match="cannot read"):
        fp.PairMLP.from_safetensors(tmp_path / "none.safetensors")
    (tmp_path / "junk").write_bytes(b"junk")
    with pytest.raises(fp.InputError, match="cannot read"):
        fp.PairMLP.from_safetensors(tmp_path / "junk")
    odd = {"a.weight": np.zeros((2, 3), np.float32), "b": np.zeros(1, np.float32)}
    library.save_file(odd, str(tmp_path / "odd"))
    with pytest.raises(fp.InputError, match=r"expected a weight and a bias a layer"):
        fp.PairMLP.from_safetensors(tmp_path / "odd")


@pytest.mark.parametrize(
    "bad",
    [
        [],
        [(np.ones((1, 3)), np.ones(1))],
        [(np.ones((2, 4)), np.ones(2)), (np.ones((1, 2)), np.ones(1))],
        [(np.ones((2, 3)), np.ones(2)), (np.ones((1, 3)), np.ones(1))],
        [(np.ones((2, 3)), np.ones(2)), (np.ones((2, 2)), np.ones(2))],
        [(np.ones((2, 3)), np.ones(3)), (np.ones((1, 2)), np.ones(1))],
    ],
)
def test_layers_that_do_not_fit_are_refused(bad):
    with pytest.raises(fp.InputError, match="layers of shapes"):
        fp.PairMLP(bad)


def test_bad_vectors_and_options_are_refused():
    weights = layers(3, 4)
    with pytest.raises(fp.InputError, match=r"needs an \(n, 3\) array.*\(2, 4\)"):
        fp.PairMLP(weights, np.ones((2, 4)))
    with pytest.raises(fp.InputError, match="needs an"):
        fp.PairMLP(weights).bind(["a", "b"])
    with pytest.raises(fp.InputError, match="needs an"):
        fp.PairMLP(weights).bind([[1.0], [1.0, 2.0]])
    with pytest.raises(fp.InputError, match="row 1 is not finite"):
        fp.PairMLP(weights).bind([[1.0, 2, 3], [np.nan, 1, 1]])
    with pytest.raises(fp.InputError, match="2 vectors for 3 items"):
        fp.PairMLP(weights, np.ones((2, 3))).bind(range(3))
    with pytest.raises(fp.InputError, match="activation is 'tanh'"):
        fp.PairMLP(weights, activation="tanh")
    weights[0][0][0, 0] = np.inf
    with pytest.raises(fp.InputError, match="weight is not finite"):
        fp.PairMLP(weights)


def test_missing_extras_are_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    install = r'pip install "fewpairs\[torch\]"'
    with pytest.raises(fp.MissingExtraError, match=install):
        fp.PairMLP.from_safetensors(tmp_path / "m")
    with pytest.raises(fp.MissingExtraError, match=install):
        fp.PairMLP(layers(2, 3)).save(tmp_path / "m")
    with pytest.raises(fp.MissingExtraError, match=install):
        fp.train_pair_mlp(np.ones((2, 2)), [[0, 1]], [1])


def mentions(seed=0):
    """Vectors around a few centers; two belong together when their center is one."""
    rng = np.random.default_rng(seed)
    cluster = np.arange(60) % 4
    X = rng.standard_normal((4, 8))[cluster] + 0.1 * rng.standard_normal((60, 8))
    pairs = rng.integers(60, size=(2_000, 2))
    return X, pairs, cluster[pairs[:, 0]] == cluster[pairs[:, 1]]


@pytest.mark.parametrize("symmetric", [True, False])
def test_training_learns_which_mentions_belong_together(symmetric):
    torch = pytest.importorskip("torch", reason="needs the torch extra")
    X, pairs, labels = mentions()
    state = torch.random.get_rng_state()
    options = {"hidden": [32], "epochs": 30, "batch": 64, "symmetric": symmetric}
    mlp = fp.train_pair_mlp(X, pairs[:1500], labels[:1500], **options)
    assert mlp.symmetric is symmetric
    assert torch.equal(torch.random.get_rng_state(), state)
    scores = mlp.bind(X).pairs(pairs[1500:, 0], pairs[1500:, 1])
    assert ((scores > 0.5) == labels[1500:]).mean() > 0.97
    again = fp.train_pair_mlp(X, pairs[:1500], labels[:1500], **options)
    for (one, _), (two, _) in zip(mlp.layers, again.layers):
        assert np.array_equal(one, two)
    other = fp.train_pair_mlp(X, pairs[:99], labels[:99], epochs=1, hidden=[4], seed=1)
    assert not np.array_equal(other.layers[0][0][:, :4], mlp.layers[0][0][:4, :4])


def test_training_stops_early_and_returns_the_best_weights():
    pytest.importorskip("torch", reason="needs the torch extra")
    X, pairs, labels = mentions()
    rng = np.random.default_rng(0)
    noise = rng.random(200) < 0.5
    options = {"hidden": [64], "learning_rate": 0.01, "validation": 0.5, "patience": 1}
    stopped = fp.train_pair_mlp(X, pairs[:200], noise, epochs=200, **options)
    longer = fp.train_pair_mlp(X, pairs[:200], noise, epochs=400, **options)
    assert np.array_equal(stopped.layers[0][0], longer.layers[0][0])
    kept = fp.train_pair_mlp(X, pairs, labels, validation=0.0, epochs=1, hidden=[4])
    assert kept.width == 8


def test_training_refuses_what_it_cannot_learn_from():
    pytest.importorskip("torch", reason="needs the torch extra")
    X = np.ones((4, 2))
    for pairs in ([[0, 4]], [[-1, 0]], [0, 1], [[0.5, 1.0]], np.empty((0, 2), int)):
        with pytest.raises(fp.InputError, match=r"pairs has shape.*0 to 3"):
            fp.train_pair_mlp(X, pairs, [1])
    for labels in ([2.0], [1, 0], ["a"], [np.nan]):
        with pytest.raises(fp.InputError, match="1 numbers between 0 and 1"):
            fp.train_pair_mlp(X, [[0, 1]], labels)
    with pytest.raises(fp.InputError, match="leaves none to learn"):
        fp.train_pair_mlp(X, [[0, 1]], [1], validation=1.0)
