"""What the examples on the pages take for granted: texts, a model, word vectors."""

import numpy as np
import pytest

collect_ignore_glob = ["site/*"]


@pytest.fixture(autouse=True)
def given(request, doctest_namespace, tmp_path_factory):
    """Give a page the names that it says the reader has."""
    page = request.node.path.name
    if page == "cross-encoder.md":
        pytest.importorskip("torch", reason="needs the extra torch")
        from tests import tiny_models

        folder = tmp_path_factory.mktemp("model")
        doctest_namespace["model"] = tiny_models.save_tiny(folder)
        doctest_namespace["texts"] = [
            text for text in tiny_models.texts(80) if text.strip()
        ]
        doctest_namespace["embed"] = _embed
    if page == "reranker.md":
        pytest.importorskip("torch", reason="needs the extra torch")
        from tests import tiny_models

        folder = tmp_path_factory.mktemp("models")
        kind = "xlm-roberta"
        doctest_namespace["model"] = tiny_models.save_tiny(folder / "m", kind)
        doctest_namespace["judge"] = tiny_models.save_tiny_causal(folder / "judge")
        made = tiny_models.texts(60, longest=5)
        doctest_namespace["texts"] = [text for text in made if text.strip()]
    if page == "retrieval.md" and request.node.path.parent.name == "tutorials":
        pytest.importorskip("torch", reason="needs the extra torch")
        from tests import tiny_models

        folder = tmp_path_factory.mktemp("model")
        doctest_namespace["model"] = tiny_models.save_tiny(folder)
        made = [text for text in tiny_models.texts(90) if text.strip()]
        doctest_namespace["queries"] = made[:30]
        doctest_namespace["documents"] = made[30:]
        doctest_namespace["embed"] = _embed
    if page in ("paid-judge.md", "cascade.md"):
        pytest.importorskip("httpx", reason="needs the extra judge")
        monkeypatch = request.getfixturevalue("monkeypatch")
        monkeypatch.chdir(tmp_path_factory.mktemp("ledgers"))
        doctest_namespace.update(request.getfixturevalue("judges"))
    if page == "classification.md":
        pytest.importorskip("numba", reason="needs the extra wmd")
        pytest.importorskip("sklearn", reason="needs scikit-learn")
        doctest_namespace.update(_documents())


@pytest.fixture
def judges(monkeypatch):
    """Serve chat completions of a small and a large model, with a key."""
    from tests import judge_server

    monkeypatch.setenv("OPENAI_API_KEY", judge_server.KEY)
    with judge_server.JudgeServer(model=("large-1", "small-1")) as server:
        yield {
            "url": server.url,
            "model": "large-1",
            "large": "large-1",
            "small": "small-1",
        }


def _embed(texts):
    """Embed texts by their letters: cheap, and alike where the texts are."""
    letters = [chr(ord("a") + t) for t in range(26)]
    return np.array([[1 + text.count(letter) for letter in letters] for text in texts])


def _documents():
    """Three topics, whose words lie near each other."""
    rng = np.random.default_rng(0)
    topics = {
        "food": "bread cheese wine soup apple butter salt fish".split(),
        "sea": "ship wave harbor sail captain storm anchor coast".split(),
        "court": "judge law trial jury lawyer verdict appeal crime".split(),
    }
    words = [word for topic in topics.values() for word in topic]
    centers = np.repeat(4 * np.eye(3, 10), 8, axis=0)
    vectors = centers + rng.standard_normal((24, 10))
    texts, labels = [], []
    for name, topic in topics.items():
        for _ in range(40):
            own = rng.choice(topic, size=4).tolist()
            texts.append(" ".join([*own, *rng.choice(words, size=3)]))
            labels.append(name)
    return {"texts": texts, "labels": labels, "vectors": (words, vectors)}
