"""Teaching: a student learns from all pairs paid for, and says what to read next."""

from dataclasses import replace

import numpy as np

from fewpairs.methods.auto import candidates
from fewpairs.methods.auto.low_rank import LowRankStage
from fewpairs.methods.auto.proposals import propose, searching
from fewpairs.methods.auto.refinement import Last, put_under
from fewpairs.methods.auto.timed_training import TimedTraining
from fewpairs.model.model import Model
from fewpairs.model.student import Student, profiles

__all__ = ["refine_with_student"]

_RANDOM = 0.15  # share of the budget that buys random pairs
_ROUNDS = 8
# Shares of a round that go by the prior alone. A student errs most where it contradicts
# a good prior: per pair, reading those removes more error than reading its own top.
_BY_PRIOR, _BLINDLY = 0.1, 0.5
_BLIND_ROUNDS = 3  # that go half by a prior that left-out landmarks do not confirm
# Half of all steps come last: rounds need only know what to read.
_FIRST_STEPS, _ROUND_STEPS, _LAST_STEPS = 600, 200, 1_900
_OFTEN = 700_000  # pairs that a student may score anew in every round
_SCANNED = 6_000_000  # pairs that a student may look at as a whole


def refine_with_student(
    work: LowRankStage, model: Model, seconds: float, rng: np.random.Generator
) -> tuple[Model, list[str]]:
    """Train a student on everything paid for, and refine by it, in turns.

    Returns the model with its student, and what was done, in words.
    """
    spending, n = work.spending, work.spending.n
    confirmed = model.curve is not None
    if work.prior is not None:
        # A few landmarks may not confirm a prior that knows near-duplicates. What it
        # is worth the student finds out, if it is told what the prior says.
        model = replace(model, prior=work.prior)
    earlier = spending.oracle.read.uncovered()  # of a matrix that has grown
    i, j, values = spending.random_pairs(
        int(min(_RANDOM * spending.budget, spending.left))
    )
    training = work.column_pairs(model)
    training.add(model.inputs(i, j), values)
    if spending.paid:
        training.add(model.inputs(*earlier[:2]), earlier[2])
    features = profiles(spending.columns, work.prior)
    student = Student.start(features, training.values, training.inputs.cheap, rng)
    taught = replace(model, student=student)
    steps = _FIRST_STEPS + (_ROUNDS - 1) * _ROUND_STEPS + _LAST_STEPS
    timed = TimedTraining(student, spending.oracle, seconds, steps, rng)
    timed.train(training, _FIRST_STEPS, "")

    count = spending.left // spending.calls
    pairs = n * (n - 1) // 2
    # Without a prior, too many of the most similar are no candidates of the low rank:
    # the student looks at all pairs itself, where they are not too many.
    scans = work.prior is None and pairs <= _SCANNED
    depth = max(64, min(4 * (2 * count // spending.fresh) + 20, 512))
    found: candidates.Candidates | None = None
    last, read = None, 0
    for turn in range(_ROUNDS):
        anew = turn in (0, _ROUNDS // 2)
        looks = scans and (anew or pairs <= _OFTEN)
        if found is None or looks:
            known = spending.oracle.read
            spending.oracle.note("finding candidates")
            by = searching(spending.oracle)
            found = propose(taught if scans else model, known, depth, by=by)
        wanted = (count - read) // (_ROUNDS - turn)
        if not looks:
            often = anew or found.partner.size <= _OFTEN
            found.score_anew(
                student.pairs, None if often else 4 * (2 * wanted // n) + 16
            )
        by_prior = _BY_PRIOR if confirmed else _BLINDLY * (turn < _BLIND_ROUNDS)
        inputs = found.choose_by_both(wanted, spending.oracle.read, by_prior=by_prior)
        if not len(inputs):
            break
        inputs, values = spending.take(inputs)
        if not len(inputs):
            break
        read += len(inputs)
        last = Last(inputs.i, inputs.j, values)
        training.add(inputs, values)
        steps = _LAST_STEPS if turn == _ROUNDS - 1 else _ROUND_STEPS
        timed.train(training, steps, f" (round {turn + 1} of {_ROUNDS})")
    words = (
        f"a student trained on {len(training):,} pairs in {timed.spent:.0f} s; "
        f"{2 * read / n:.0f} exact neighbors per item; left, right, "
        "embedding and linkage are of the low rank, not of the student"
    )
    return put_under(taught, last), [words]
