"""The paper's methods on the real STS-B cross-encoder matrix."""

import numpy as np
import pytest

import fewpairs as fp

pytestmark = pytest.mark.needs_data

# Mean relative Frobenius error, diagonal included, of the formula as printed
# (left @ right.T, without the exact entries that fewpairs puts in), over 6 seeds.
FIGURES = [
    (fp.SMSNystrom(240), 0.76, 0.06),
    (fp.SMSNystrom(240, shift="core"), 0.51, 0.03),
    (fp.SiCUR(240), 0.22, 0.02),
    (fp.StaCUR(240), 0.91, 0.08),
    (fp.SMSNystrom(90), 0.50, 0.03),
    (fp.SiCUR(90), 0.29, 0.02),
    (fp.StaCUR(90), 1.04, 0.08),
]


def mean_error(method, K):
    norm = np.linalg.norm(K)
    errors = []
    for seed in range(6):
        approx = fp.approximate(None, K, method=method, budget=None, seed=seed)
        errors.append(np.linalg.norm(K - approx.left @ approx.right.T) / norm)
    return errors


@pytest.mark.parametrize(("method", "figure", "tolerance"), FIGURES, ids=repr)
def test_errors_on_stsb_are_those_measured_before(stsb, method, figure, tolerance):
    assert np.mean(mean_error(method, stsb)) == pytest.approx(figure, abs=tolerance)


def test_nystrom_is_unstable_on_stsb(stsb):
    errors = mean_error(fp.Nystrom(240), stsb)
    assert max(errors) > 2 * min(errors)
    assert 0.3 < np.median(errors) < 4


def test_the_default_beats_every_method_of_the_paper_on_stsb(stsb):
    def answered(method):
        approx = fp.approximate(None, stsb, method=method, budget=0.06)
        return np.linalg.norm(stsb - approx.dense())

    rivals = [answered(name) for name in ("nystrom", "sms", "sicur", "stacur")]
    assert answered("auto") < min(rivals)


def test_the_asymmetric_matrix_works_unsymmetrized(data_folder):
    K = np.load(data_folder / "matrices" / "mrpc.npy")
    approx = fp.approximate(None, K, method="sicur", budget=0.2, symmetrize=False)
    read = approx.known.lookup(*np.divmod(np.arange(816 * 5), 816))
    assert np.array_equal(read[1][read[0]], K[:5].ravel()[read[0]])
    assert approx.bill.similarity.endswith("asymmetric")
