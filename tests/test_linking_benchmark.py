"""The benchmark of linking: its noise model, its scores and its page."""

import json
import random

import pytest
from benchmarks.linking.febrl import alike, scores
from benchmarks.linking.names import clean_names, misspelt
from benchmarks.linking.page import PAGE, render
from experiments.cells import Results

RESULTS = PAGE.parents[1] / "benchmarks" / "results" / "linking.jsonl"


def test_names_are_different_and_follow_from_the_seed():
    names = clean_names(3_000, seed=1)
    assert len(set(names)) == 3_000
    assert names == clean_names(3_000, seed=1)
    assert names != clean_names(3_000, seed=2)


def test_a_misspelt_name_is_nearly_always_another_one_and_not_far_off():
    rng = random.Random(0)
    names = clean_names(500)
    typed = [misspelt(name, rng) for name in names]
    assert sum(a != b for a, b in zip(names, typed)) > 480
    assert all(0.4 * len(a) < len(b) < 1.5 * len(a) for a, b in zip(names, typed))
    again = random.Random(0)
    assert typed == [misspelt(name, again) for name in names]


def test_records_are_compared_by_the_fields_that_both_have():
    fields = "given_name surname address_1 address_2 suburb".split()
    fields += "street_number postcode date_of_birth soc_sec_id".split()
    nothing = dict.fromkeys(fields, "")
    ann = {**nothing, "given_name": "ann", "postcode": "4223"}
    assert alike(ann, ann) == 1.0
    assert alike(ann, {**ann, "postcode": "4224"}) == pytest.approx((1 + 0.75) / 2)
    assert alike(ann, nothing) == 0.0


def test_scores_count_links_that_are_right():
    truth = {("a", "x"), ("b", "y"), ("c", "z")}
    found = scores({("a", "x"), ("b", "z")}, truth)
    assert found == {
        "precision": 0.5,
        "recall": pytest.approx(1 / 3),
        "f1": pytest.approx(0.4),
    }
    assert scores(set(), truth)["f1"] == 0.0


def test_the_page_is_what_was_measured():
    results = Results(RESULTS)
    assert PAGE.read_text("utf-8") == render(results)
    lines = [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()]
    assert {line["key"]["part"] for line in lines} == {"febrl", "names"}
