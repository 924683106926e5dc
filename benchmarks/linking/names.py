"""Names, and what people make of them: a seeded model of misspelling."""

import random

__all__ = ["clean_names", "misspelt"]

_GIVEN = (
    "Ada Alan Alice Amir Ana Andre Anna Ben Bianca Boris Carla Carlos Chloe Clara "
    "Dana Daniel David Diego Elena Elif Emil Emma Erik Eva Felix Fatima Frank Gina "
    "Grace Hanna Hassan Helen Hugo Ida Igor Ines Irene Ivan Jack James Jana Jean "
    "Joan Jonas Jose Julia Karim Karl Kate Kenji Laura Lea Leo Lena Linda Louis "
    "Lucas Lucia Luis Maja Marco Maria Marie Mark Marta Martin Mary Max Mei Mia "
    "Milan Mina Mohamed Nadia Nina Noah Nora Olga Oscar Otto Paul Paula Pedro Peter "
    "Petra Rania Raul Robert Rosa Ruth Samir Sara Simon Sofia Stefan Sven Tanja "
    "Thomas Tim Tomas Vera Victor Wei William Yara Yusuf Zoe"
).split()
_STARTS = "B Br C Ch D Dr F G Gr H J K Kr L M N P R S Sch St T Tr V W Z".split()
_MIDDLES = "a e i o u ai au ei ie oo ou".split()
_JOINTS = "b ck d ff g l ll m n nn nd r rr rt s ss st t tt v x".split()
_ENDS = "a er ez in man mann ner o off owski sen ski son stein well y".split()
_NEAR = {  # keys beside each other
    "a": "sq", "b": "vn", "c": "xv", "d": "sf", "e": "wr", "f": "dg", "g": "fh",
    "h": "gj", "i": "uo", "j": "hk", "k": "jl", "l": "ko", "m": "nj", "n": "bm",
    "o": "ip", "p": "ol", "q": "wa", "r": "et", "s": "ad", "t": "ry", "u": "yi",
    "v": "cb", "w": "qe", "x": "zc", "y": "tu", "z": "xs",
}  # fmt: skip
_SOUNDS = (
    ("ck", "k"),
    ("ph", "f"),
    ("ie", "y"),
    ("ll", "l"),
    ("ss", "s"),
    ("ei", "ai"),
)


def clean_names(number: int, seed: int = 0) -> list[str]:
    """Return different names: a given one, often a second one, and a surname."""
    rng = random.Random(seed)  # noqa: S311 - nothing secret
    found: dict[str, None] = {}
    while len(found) < number:
        given = [rng.choice(_GIVEN)]
        if rng.random() < 0.6:
            given.append(rng.choice(_GIVEN))
        found.setdefault(" ".join([*given, _surname(rng)]))
    return list(found)


def _surname(rng: random.Random) -> str:
    parts = [rng.choice(_STARTS), rng.choice(_MIDDLES), rng.choice(_JOINTS)]
    if rng.random() < 0.5:
        parts += [rng.choice(_MIDDLES), rng.choice(_JOINTS)]
    return "".join([*parts, rng.choice(_ENDS)])


def misspelt(name: str, rng: random.Random) -> str:
    """Return a name as somebody typed it: one to three mistakes.

    Letters exchanged, left out, doubled or replaced by the key beside; what sounds the
    same; another case; the surname first; a second name as an initial. Mistakes are
    rarely made in a word's first letter (Pollock & Zamora 1984): here one in ten falls
    anywhere, blanks included, the others within words.
    """
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        name = rng.choice(_MISTAKES)(name, rng)
    return name


def _place(name: str, rng: random.Random) -> int:
    """Return where a mistake is made."""
    within = [t for t in range(1, len(name)) if " " not in name[t - 1 : t + 1]]
    if not within or rng.random() < 0.1:
        return rng.randrange(len(name))
    return rng.choice(within)


def _exchanged(name: str, rng: random.Random) -> str:
    at = min(_place(name, rng), len(name) - 2)
    return name[:at] + name[at + 1] + name[at] + name[at + 2 :]


def _left_out(name: str, rng: random.Random) -> str:
    at = _place(name, rng)
    return name[:at] + name[at + 1 :]


def _doubled(name: str, rng: random.Random) -> str:
    at = _place(name, rng)
    return name[:at] + name[at] + name[at:]


def _beside(name: str, rng: random.Random) -> str:
    at = _place(name, rng)
    keys = _NEAR.get(name[at].lower())
    return name if keys is None else name[:at] + rng.choice(keys) + name[at + 1 :]


def _by_ear(name: str, rng: random.Random) -> str:
    found = [(a, b) for a, b in _SOUNDS if a in name]
    return name.replace(*rng.choice(found), 1) if found else _left_out(name, rng)


def _other_case(name: str, rng: random.Random) -> str:
    return rng.choice((name.upper(), name.lower()))


def _surname_first(name: str, _: random.Random) -> str:
    first, _, last = name.rpartition(" ")
    return f"{last}, {first}" if first else name


def _initial(name: str, rng: random.Random) -> str:
    words = name.split()
    if len(words) < 3 or not words[1]:
        return _doubled(name, rng)
    return " ".join([words[0], f"{words[1][0]}.", *words[2:]])


_MISTAKES = (
    _exchanged, _left_out, _doubled, _beside, _by_ear, _other_case, _surname_first,
    _initial,
)  # fmt: skip
