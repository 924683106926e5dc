"""One answer everywhere: exact where it was read, the factors elsewhere."""

import numpy as np
import pytest

import fewpairs as fp
from tests.conftest import random_matrix

N = 70

CASES = {
    "symmetric": {"symmetric": True, "method": fp.SMSNystrom(8)},
    "known diagonal": {"symmetric": True, "method": fp.SiCUR(9), "diagonal": 1.0},
    "averaged": {"symmetric": False, "method": fp.Regularized(9)},
    "asymmetric": {"symmetric": False, "method": fp.SiCUR(9), "symmetrize": False},
    "independent": {"symmetric": False, "method": fp.StaCUR(9), "symmetrize": False},
    "yardstick": {"symmetric": True, "method": fp.Optimal(5)},
}


@pytest.fixture(params=CASES, ids=str)
def case(request):
    """An approximation and the matrix that it approximates."""
    options = dict(CASES[request.param])
    K = random_matrix(N, symmetric=options.pop("symmetric"))
    diagonal = options.pop("diagonal", None)
    if diagonal is not None:
        np.fill_diagonal(K, diagonal)
    similarity = fp.from_matrix(K, diagonal=diagonal)
    approx = fp.approximate(None, similarity, budget=1.0, **options)
    return approx, K if options.get("symmetrize") is False else (K + K.T) / 2


def expected(approx, K):
    """The definition: known entries exactly, left @ right.T elsewhere."""
    i, j = np.divmod(np.arange(N * N), N)
    known = approx.known.lookup(i, j)[0].reshape(N, N)
    return np.where(known, K, approx.left @ approx.right.T)


def test_dense_is_exact_where_read_and_low_rank_elsewhere(case):
    approx, K = case
    assert np.allclose(approx.dense(), expected(approx, K))


def test_pairs_block_row_and_dense_agree_entry_by_entry(case):
    approx, _ = case
    D = approx.dense()
    i, j = np.divmod(np.arange(N * N), N)
    assert np.allclose(approx.pairs(i, j).reshape(N, N), D, atol=1e-12)
    rows, columns = np.array([5, 5, 3, 60]), np.arange(10, 40)
    assert np.allclose(approx.block(rows, columns), D[np.ix_(rows, columns)])
    assert np.allclose(approx.row(17), D[17])
    assert approx.pairs(3, 4) == pytest.approx(D[3, 4])
    assert approx.pairs([[3], [4]], [1, 2]).shape == (2, 2)


def test_the_product_is_that_of_the_dense_matrix(case):
    approx, _ = case
    rng = np.random.default_rng(0)
    for shape in ((N,), (N, 3)):
        x = rng.standard_normal(shape)
        assert np.allclose(approx @ x, approx.dense() @ x)
    assert np.allclose(approx @ np.ones(N, dtype=int), approx.dense().sum(axis=1))


def test_positions_slices_and_masks_name_the_same_items(case):
    approx, _ = case
    D = approx.dense()
    mask = np.zeros(N, dtype=bool)
    mask[[2, 5]] = True
    assert np.allclose(approx.block(mask, slice(0, 4)), D[np.ix_([2, 5], range(4))])
    assert np.allclose(approx.pairs(-1, -2), D[-1, -2])
    assert approx.block([], slice(None)).shape == (0, N)
    with pytest.raises(fp.InputError, match="positions are whole numbers from 0 to 69"):
        approx.pairs(0, N)
    with pytest.raises(fp.InputError, match="does not name items"):
        approx.row(1.5)


def test_the_factored_view_is_the_formula_alone(case):
    approx, _ = case
    product = approx.left @ approx.right.T
    assert np.allclose(approx.factored.dense(), product)
    assert np.allclose(approx.factored @ np.eye(N), product)


def test_saved_and_loaded_it_answers_the_same_to_the_bit(case, tmp_path):
    approx, _ = case
    approx.save(tmp_path / "run")
    for mmap in (False, True):
        again = fp.load(tmp_path / "run", mmap=mmap)
        assert np.array_equal(again.dense(), approx.dense())
        assert np.array_equal(again.embedding(), approx.embedding())
        assert np.array_equal(again.landmarks, approx.landmarks)
        assert np.array_equal(again @ np.ones(N), approx @ np.ones(N))
        assert again.certificate == approx.certificate
        assert str(again) == str(approx)


def test_embeddings_reproduce_the_low_rank_part_and_shrink_by_magnitude():
    K = random_matrix(N, symmetric=True)
    for method in (fp.Nystrom(12), fp.SMSNystrom(12), fp.Regularized(12)):
        approx = fp.approximate(None, K, method=method, budget=1.0)
        E = approx.embedding()
        low_rank = approx.left @ approx.right.T
        assert np.allclose((E * approx.signature) @ E.T, low_rank)
        values = np.linalg.eigvalsh(low_rank)
        top = np.sort(np.abs(values))[::-1][:4]
        small = approx.embedding(dim=4)
        assert np.allclose((small**2).sum(axis=0), top)
    cur = fp.approximate(None, K, method=fp.SiCUR(12), budget=1.0)
    assert cur.signature is None
    singular = np.linalg.svd(cur.left @ cur.right.T, compute_uv=False)
    assert np.allclose((cur.embedding(dim=3) ** 2).sum(axis=0), singular[:3])
    with pytest.raises(
        fp.InputError, match="dim is 99; it can be a whole number from 1 to the rank, 6"
    ):
        cur.embedding(dim=99)


def test_sms_embedding_is_the_papers_z():
    """With a shifted, positive definite core, K ≈ Z·Zᵀ without any signs."""
    K = random_matrix(N, symmetric=True)
    approx = fp.approximate(None, K, method=fp.SMSNystrom(12), budget=1.0)
    Z = approx.embedding()
    assert (approx.signature > 0).all()
    assert np.allclose(Z @ Z.T, approx.left @ approx.right.T)


def test_dense_refuses_what_does_not_fit_and_says_how_much_it_takes(monkeypatch):
    approx = fp.approximate(None, random_matrix(N, symmetric=True), budget=0.5)
    monkeypatch.setattr("fewpairs.result.approximation._DENSE_LIMIT", 1_000)
    with pytest.raises(fp.InputError, match=r"takes 0\.0 GiB.*force=True"):
        approx.dense()
    assert approx.dense(force=True).shape == (N, N)


def test_float32_stays_float32():
    K = random_matrix(N, symmetric=True).astype(np.float32)
    approx = fp.approximate(None, K, method="nystrom", budget=0.5)
    for array in (approx.left, approx.right, approx.dense(), approx.row(0)):
        assert array.dtype == np.float32


def test_the_receipt_says_what_was_paid_and_how_far_to_trust_it():
    K = random_matrix(N, symmetric=True)
    approx = fp.approximate(None, K, method="sicur", budget=0.4)
    text = str(approx)
    for part in (
        "70 × 70 similarities",
        "matrix of float64, symmetric",
        "  next  ",
        f"{approx.evaluations:,} of 2,485 evaluations",
        "95 % interval",
        f"{approx.certificate.pairs:,} held-out pairs",
    ):
        assert part in text
    assert approx.bill.for_fit + approx.bill.for_certificate == approx.evaluations
    assert "SiCUR with" in approx.method
    assert approx.method in repr(approx)
    # How it was made is for those who ask.
    assert "SiCUR" not in text
    assert "landmarks" not in text


def test_the_receipt_says_what_to_do_next():
    X = np.random.default_rng(0).standard_normal((N, 2))
    good = fp.approximate(None, X @ X.T, budget=0.5)
    assert ".neighbors(10), .duplicates(threshold)" in str(good)
    poor = fp.approximate(None, random_matrix(N, symmetric=True), budget=0.3)
    paid = 2 * poor.evaluations / N
    assert f'or .grow("{round(2 * paid)}/item")' in str(poor)
    whole = fp.approximate(None, X @ X.T, budget=1.0)
    assert "nothing is left to pay for" in str(whole)
    two = fp.approximate(None, X[:30] @ X[30:].T, budget=0.7)
    assert ".match(k=1)" in str(two)


def test_saving_never_destroys_what_it_did_not_make(tmp_path):
    approx = fp.approximate(None, random_matrix(N, symmetric=True), budget=0.5)
    approx.save(tmp_path / "a" / "run")
    with pytest.raises(fp.InputError, match="Pass overwrite=True to replace it"):
        approx.save(tmp_path / "a" / "run")
    approx.save(tmp_path / "a" / "run", overwrite=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(fp.InputError, match="choose another path"):
        approx.save(tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").exists()
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["run"]


def test_loading_something_else_is_a_clear_error(tmp_path):
    with pytest.raises(fp.InputError, match="is not a whole saved approximation"):
        fp.load(tmp_path / "nowhere")
    approx = fp.approximate(None, random_matrix(N, symmetric=True), budget=0.5)
    approx.save(tmp_path / "run")
    index = tmp_path / "run" / "approximation.json"
    text = index.read_text()
    index.write_text(text.replace('"version": 4', '"version": 99'))
    with pytest.raises(fp.InputError, match="reads versions up to 4"):
        fp.load(tmp_path / "run")
    index.write_text(text)
    np.save(tmp_path / "run" / "left.npy", np.ones((3, 2)))
    with pytest.raises(fp.InputError, match="is not a whole saved approximation"):
        fp.load(tmp_path / "run")
    np.save(tmp_path / "run" / "left.npy", np.array([{"a": 1}]), allow_pickle=True)
    with pytest.raises(fp.InputError, match="pickle"):
        fp.load(tmp_path / "run", verify=False)
