"""Reader of ECB+: mentions of events and entities with their clusters.

Validated sentences only, in the usual split of topics. The cluster of a mention is the
``instance_id`` of its relation's target for CROSS_DOC_COREF and the relation's own
``r_id`` for INTRA_DOC_COREF; a mention without a relation is a cluster of its own.
Events are the tags ACTION… and NEG_ACTION…, entities all others.
"""

import csv
import io
import re
import tarfile
import xml.etree.ElementTree as ET
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["DEV", "TEST", "Mention", "Sentence", "read", "split_of"]

DEV = frozenset({2, 5, 12, 18, 21, 23, 34, 35})
TEST = frozenset(range(36, 46))


@dataclass(frozen=True)
class Sentence:
    """The words of a validated sentence, with those before and after it."""

    topic: int
    document: str
    number: int
    words: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class Mention:
    """Words ``start`` to ``end`` (inclusive) of a sentence, and what they refer to."""

    sentence: Sentence
    start: int
    end: int
    event: bool
    cluster: str

    @property
    def place(self) -> tuple[str, int, int, int]:
        """Where it is: the same for gold and predicted mentions of the same words."""
        return self.sentence.document, self.sentence.number, self.start, self.end


def split_of(topic: int) -> str:
    """Return train, dev or test."""
    return "dev" if topic in DEV else "test" if topic in TEST else "train"


@cache
def read(data: Path) -> tuple[tuple[Sentence, ...], tuple[Mention, ...]]:
    """Return all validated sentences, and the mentions in them."""
    sentences: list[Sentence] = []
    mentions: list[Mention] = []
    with tarfile.open(data / "ecbplus" / "ecbplus.tar.xz") as archive:
        documents, listed = {}, ""
        for member in archive:
            found = re.search(r"/(\d+)_(\d+ecb(?:plus)?)\.xml$", member.name)
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None and found:
                documents[int(found[1]), found[2]] = file.read()
            elif file is not None and member.name.endswith("sentences.csv"):
                listed = file.read().decode("utf-8-sig")
    validated = defaultdict(set)
    for row in list(csv.reader(io.StringIO(listed)))[1:]:
        topic, name, number = (cell.strip() for cell in row[:3])
        validated[int(topic), name].add(int(number))
    for key in sorted(validated):
        here, inside = _document(documents[key], key, validated[key])
        sentences += here
        mentions += inside
    return tuple(sentences), tuple(mentions)


def _document(
    text: bytes, key: tuple[int, str], numbers: set[int]
) -> tuple[list[Sentence], list[Mention]]:
    root = ET.fromstring(text)  # noqa: S314 (a corpus, read from disk)
    lines: dict[int, list[str]] = defaultdict(list)
    where: dict[str, tuple[int, int]] = {}
    for token in root.iter("token"):
        number = int(token.attrib["sentence"])
        where[token.attrib["t_id"]] = number, len(lines[number])
        lines[number].append(token.text or "")
    topic, name = key
    sentences = {
        number: Sentence(
            topic,
            f"{topic}_{name}",
            number,
            tuple(lines[number]),
            tuple(lines.get(number - 1, ())),
            tuple(lines.get(number + 1, ())),
        )
        for number in sorted(numbers)
        if number in lines
    }
    owners = _owners(root)
    mentions = []
    for mark in root.find("Markables") or ():
        anchors = [where[a.attrib["t_id"]] for a in mark.iter("token_anchor")]
        if "RELATED_TO" in mark.attrib or not anchors:
            continue  # an instance, not a mention
        number = anchors[0][0]
        if number not in sentences:
            continue
        at = [position for line, position in anchors if line == number]
        own = f"{topic}_{name}_{mark.attrib['m_id']}"
        mentions.append(
            Mention(
                sentences[number],
                min(at),
                max(at),
                "ACTION" in mark.tag,
                owners.get(mark.attrib["m_id"], own),
            )
        )
    return list(sentences.values()), mentions


def _owners(root: ET.Element) -> dict[str, str]:
    """Return the cluster of every mention that has a relation."""
    instances = {
        mark.attrib["m_id"]: mark.attrib.get("instance_id", "")
        for mark in root.find("Markables") or ()
    }
    document = root.attrib.get("doc_name", "")
    owners = {}
    for relation in root.find("Relations") or ():
        target = relation.find("target")
        own = f"{document}_{relation.attrib['r_id']}"
        if relation.tag == "CROSS_DOC_COREF" and target is not None:
            own = instances.get(target.attrib["m_id"]) or own
        for source in relation.iter("source"):
            owners[source.attrib["m_id"]] = own
    return owners
