"""Every public callable × a catalogue of wrong arguments: clear errors, no leaks.

A call with one argument replaced works, or raises a `FewpairsError`, or a `TypeError`
that names the argument. Nothing else comes out, and no warning but fewpairs' own.
"""

import math
import warnings

import numpy as np

import fewpairs as fp
from tests.public_calls import N, public_calls


class Hostile:
    """Raises when it is measured, compared or asked whether it is true."""

    __hash__ = None

    def __len__(self):
        raise RuntimeError("no length")

    def __eq__(self, other):
        raise RuntimeError("no equality")

    def __repr__(self):
        return "<hostile>"


class CallersOwnError(Exception):
    """What a function of the caller raises may come through as it is."""


def raises(*args, **options):
    raise CallersOwnError("mine")


# Wrong for most arguments; generators are used up, so each is made anew.
CATALOGUE = {
    "None": lambda: None,
    "True": lambda: True,
    "-1": lambda: -1,
    "0": lambda: 0,
    "2.5": lambda: 2.5,
    "nan": lambda: math.nan,
    "-inf": lambda: -math.inf,
    "10**30": lambda: 10**30,
    "1e300": lambda: 1e300,
    "1j": lambda: 1j,
    "np.int64": lambda: np.int64(7),
    "text": lambda: "abc",
    "empty text": lambda: "",
    "NUL": lambda: "a\0b",
    "surrogate": lambda: "\ud800",
    "bytes": lambda: b"abc",
    "empty list": list,
    "mixed list": lambda: [1, "a", None],
    "ragged": lambda: [[1.0], [1.0, 2.0]],
    "tuple": lambda: (1, 0),
    "dict": lambda: {"a": 1},
    "set": lambda: {1, 2},
    "object": object,
    "hostile": Hostile,
    "class": lambda: int,
    "function": lambda: lambda *args, **options: None,
    "raises": lambda: raises,
    "generator": lambda: (t for t in range(3)),
    "empty array": lambda: np.empty(0),
    "array of nan": lambda: np.full((N, 4), np.nan),
    "array of text": lambda: np.array(["a", "b"]),
    "array of objects": lambda: np.array([None, {}], dtype=object),
    "wrong shape": lambda: np.ones((2, 3, 4)),
    "0-d": lambda: np.array(3),
    "slice": lambda: slice(1, 2),
}


def complaint(public, argument, value):
    """What is wrong with how a call takes a wrong argument; None: nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            public.call(**{**public.given, argument: value})
    except (fp.FewpairsError, fp.FewpairsWarning, CallersOwnError):
        return None
    except TypeError as error:
        return None if argument in str(error) else repr(error)
    except Exception as error:  # noqa: BLE001 - what else comes out
        return repr(error)
    return None


def test_wrong_arguments_are_named_and_nothing_leaks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some paths work
    (tmp_path / "folder").mkdir()
    calls, complaints = 0, []
    for public in public_calls(tmp_path / "folder"):
        for argument in public.arguments:
            for label, make in CATALOGUE.items():
                calls += 1
                found = complaint(public, argument, make())
                if found is not None:
                    complaints.append(f"{public.name}({argument}={label}): {found}")
    assert not complaints, "\n".join(complaints)
    assert calls >= 1_500


def test_every_public_name_is_tried(tmp_path):
    results = {"Approximation", "Certificate", "Plan", "Scorer", "Similarity"}
    needs_a_model = {"CausalReranker", "CrossEncoder"}
    errors = {name for name in fp.__all__ if name.endswith(("Error", "Warning"))}
    tried = {public.name.split(".")[0] for public in public_calls(tmp_path)}
    assert set(fp.__all__) - errors - results - needs_a_model <= tried


def test_every_method_of_an_approximation_is_tried(tmp_path):
    tried = {public.name for public in public_calls(tmp_path)}
    verbs = {
        f"Approximation.{name}"
        for name, verb in vars(fp.Approximation).items()
        if callable(verb) and not name.startswith("_")
    }
    assert verbs - {"Approximation.reader"} <= tried
