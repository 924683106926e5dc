"""The data sets: where they lie, what they must be, and where they come from."""

import hashlib
import os
from pathlib import Path

__all__ = ["HASHES", "SOURCES", "DataError", "check", "folder", "workshop"]

SOURCES = {
    "twitter": "tweets by sentiment (Sanders), as used by Kusner et al. 2015: "
    "<https://github.com/mkusner/wmd>",
    "recipe": "What's Cooking, training file: "
    "<https://www.kaggle.com/c/whats-cooking/data>",
    "ohsumed": "first 20,000 documents: <http://disi.unitn.it/moschitti/corpora.htm>",
    "20news": "20 Newsgroups by date: <http://qwone.com/~jason/20Newsgroups/>",
    "stsb": "STS benchmark: <http://ixa2.si.ehu.eus/stswiki>",
    "mrpc": "MRPC in GLUE's form: <https://gluebenchmark.com/tasks>",
    "rte": "RTE in GLUE's form: <https://gluebenchmark.com/tasks>",
    "ecbplus": "ECB+ (Cybulska & Vossen 2014): "
    "<http://www.newsreader-project.eu/results/data/the-ecb-corpus/>",
    "glove": "GloVe 6B, 100 dimensions, as `vectors.npy` and `vocab.txt`: "
    "<https://nlp.stanford.edu/projects/glove/>",
    "matrices": "made from stsb, mrpc and rte by a program like "
    "`python -m experiments.glue_training`",
}

HASHES = {
    "twitter/twitter.txt": (
        "fede45a913a2ab6e6035428c37b88c7bbfe454275cc4b439997fa86f370a4623"
    ),
    "twitter/stop_words.txt": (
        "901735f24091f99b185fcd34690280bcbe42b149835009a854ccaa3428cb5eff"
    ),
    "recipe/train.json.zip": (
        "25821171b15ff58c6c8041035aee432b0cb72b1782169e3af31950e8daf76e83"
    ),
    "ohsumed/ohsumed-first-20000-docs.tar.xz": (
        "8ee01f54e738a5d2c704ead6866612152dd8fe3242e50873049a4dccca959ba6"
    ),
    "20news/20news-bydate.tar.xz": (
        "387dc60c779b6d591caba854b5472af9c7fa52df543cac17ceb98d8dc5245785"
    ),
    "stsb/sts-dev.csv": (
        "5d7e944d8b02734b07bfdb5df67db3420c64bed153fcaa1ba47ad03480cf4234"
    ),
    "stsb/sts-train.csv": (
        "0f71910b59aa1ad973c5897f0791f3b0965a92b8f82b1a95f3eea9f4162fda82"
    ),
    "mrpc/train.tsv": (
        "122becc469405bc16f9defcb8715d2a4b7ce600e9d9381e6dc42bfdd1494c51d"
    ),
    "mrpc/dev.tsv": (
        "81c8a1a9e1dfe461dd2c1a4f98f43fe18bece44d2bf9e3d0b245b88e5aa5eaf7"
    ),
    "rte/train.tsv": (
        "81d25e323e1ab5b2ad7cd445f1a69db89f2b1c104f3e26915a9421aa4a5f4735"
    ),
    "rte/dev.tsv": ("80230dfa1347282e7b532b06a1004a76a710087541189bf874223ddf0e3819fb"),
    "ecbplus/ecbplus.tar.xz": (
        "6645bd0d66b58fee255724790887757a74267794abfed115ca5cb843cddf00ce"
    ),
    "glove/vectors.npy": (
        "5d438ab70cfe086ff20c199f3aa6807c85f9a949c70b3621519d976486633a52"
    ),
    "glove/vocab.txt": (
        "91231cd471e3e56a75c98b7b018e90615bcd3fe10f829c821beb549d010ea964"
    ),
    "matrices/mrpc.jsonl": (
        "70495d31ba365394087d0116ec6d5412a33d48baaa1cfb0faad3ea725791d806"
    ),
    "matrices/mrpc.npy": (
        "9dacdfa7cb15a7f43da9f3ed2f3f20430314f57ff5aa200645b86901e44033e7"
    ),
    "matrices/mrpc_embeddings.npy": (
        "9c2bf77cbebfee340735cffa3f5025068bd57c2a18f1ef02d8ce375f48bfe6b6"
    ),
    "matrices/rte.jsonl": (
        "08ab6a757d36d439d9fb92ebe7102f99dfbfa471e499be8e026abf2cc6ee3d6a"
    ),
    "matrices/rte.npy": (
        "df41f5b5e3cd8e4e4be610e62d96be3e6fe32c4ace87496d21ebbbb8a7092bdb"
    ),
    "matrices/rte_embeddings.npy": (
        "8b760b63927e6021e5b6372fa4f69de1268c7899fb3088842008348b3e12c628"
    ),
    "matrices/stsb.jsonl": (
        "90a5961c63f4c2ff1ec69b0ec784312b2e2584e4c530315bd9d0e144cb42d0ad"
    ),
    "matrices/stsb.npy": (
        "947917ece4438cac0c45dd71caa0dacdc31261437d03aac1303e387065b925c5"
    ),
    "matrices/stsb_embeddings.npy": (
        "b7d80804f1dbbc536656ba389f6f1787198aea7678f32a512595aae84799f9a4"
    ),
}


class DataError(Exception):
    """A data set is missing, or is not the one that the results are about."""


def folder() -> Path:
    """Return the folder that FEWPAIRS_DATA names."""
    named = os.environ.get("FEWPAIRS_DATA")
    if not named or not Path(named).is_dir():
        wanted = "\n".join(f"  {name}/  {source}" for name, source in SOURCES.items())
        msg = (
            f"FEWPAIRS_DATA is {named!r}; set it to a folder with these data sets:\n"
            f"{wanted}\nWith --toy, made-up data of the same form are used."
        )
        raise DataError(msg)
    return Path(named).resolve()


def check(data: Path, files: tuple[str, ...]) -> None:
    """Refuse data of another hash than the published results are about."""
    for name in files:
        path = data / name
        if not path.exists():
            source = SOURCES[name.partition("/")[0]]
            msg = f"{path} is missing; its source: {source}."
            raise DataError(msg)
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != HASHES[name]:
            msg = (
                f"{path} has SHA-256 {found}, not {HASHES[name]}: results would be "
                "about other data. Pass --any-data if that is meant."
            )
            raise DataError(msg)


def workshop(data: Path, *, toy: bool) -> Path:
    """Return the folder for what takes long to make and is not to be published."""
    place = data / "work" if toy else Path(__file__).parent / "work"
    place.mkdir(parents=True, exist_ok=True)
    return place
