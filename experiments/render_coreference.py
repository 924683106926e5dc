"""The part of the page about coreference: figures 4 and 5."""

from pathlib import Path
from typing import Any

import numpy as np

from experiments import paper
from experiments.cells import Results
from experiments.coreference import KINDS, OF_PAPER, SHARES
from experiments.plots import COLORS, panels
from experiments.render_matrices import UNJUDGED

__all__ = ["curves"]

SHOWN = (*OF_PAPER, "default", "default, prior", "default, settled")
Case = tuple[str, str]
PLURAL = {"event": "events", "entity": "entities"}


def curves(found: Results, figures: Path) -> str:
    """Write figures 4 and 5."""
    cases = [
        (mentions, kind)
        for mentions in ("gold", "predicted")
        for kind in KINDS
        if found.one(mentions=mentions, kind=kind, method="exact")
    ]
    main = [m for m in SHOWN if m not in ("sms", "sms, core shifted", "nystrom")]
    _figure(figures / "coreference.svg", found, cases, main)
    rescaled = [m for m in SHOWN if m.startswith("sms")]
    path = figures / "coreference-rescaled.svg"
    _figure(path, found, cases, rescaled)
    runs = max(value["runs"] for _, value in found if "runs" in value)
    lines = [
        f"![CoNLL F₁ by landmarks, mean of {runs} runs](figures/coreference.svg)\n",
        (
            f"![SMS rescaled and not, mean of {runs} runs]"
            "(figures/coreference-rescaled.svg)\n"
        ),
        _SETUP.format(runs=runs),
    ]
    for case in cases:
        lines += [*_table(found, case, "conll", "CoNLL F₁"), ""]
        lines += [*_table(found, case, "error", "relative error"), ""]
    lines += [_paper_table(), "", _verdict(found, cases)]
    return "\n".join(lines) + "\n"


_SETUP = """Mean of {runs} runs. The encoder is MiniLM-L6 (the paper: RoBERTa-large, as Cattan et
al.), frozen; spans are [first word; last word; attention-pooled words; width]; the
pairwise network reads [a; b; a∘b] and has one hidden layer of 128. Average linkage within
known topics; the threshold is tuned on the dev topics with the exact matrix. CoNLL F₁ is
the mean F₁ of MUC, B³ and CEAFe, without singletons on either side. The default gets the
price of s columns; its prior is the cosine of the mentions' vectors, which the network
has to read anyway. "Settled": with the prior, a fifth of the same budget is kept for
`approx.cluster(evaluations=…)`, which reads pairs of clusters that are near the threshold;
the error is that before it.
"""


def _figure(
    path: Path,
    found: Results,
    cases: list[Case],
    methods: list[str],
) -> None:
    metric, label = "conll", "CoNLL F₁"
    with panels(path, len(cases)) as axes:
        for axis, (mentions, kind) in zip(axes, cases, strict=True):
            for method in methods:
                cells = found.find(mentions=mentions, kind=kind, method=method)
                cells.sort(key=lambda cell: cell[0]["share"])
                x = [key["share"] for key, _ in cells]
                y = [float(np.mean(value[metric])) for _, value in cells]
                axis.plot(x, y, ".-", ms=3, color=COLORS[method], label=method)
            exact = found.one(mentions=mentions, kind=kind, method="exact") or {}
            axis.axhline(exact[metric], color="black", lw=0.7, label="exact")
            axis.set(
                title=f"{PLURAL[kind]}, {mentions} mentions", xlabel="landmarks / n"
            )
            axis.set_ylabel(label)
        axes[0].legend(fontsize=5)


def _table(found: Results, case: Case, metric: str, label: str) -> list[str]:
    mentions, kind = case
    exact = found.one(mentions=mentions, kind=kind, method="exact") or {}
    head = " | ".join(f"{share:.0%}" for share in SHARES)
    title = f"{PLURAL[kind]}, {mentions} mentions ({exact['mentions']:,}): {label}"
    lines = [f"| {title} | {head} |", "|---|" + "---|" * len(SHARES)]
    if metric == "conll":
        cells = " | ".join([f"{exact['conll']:.1f}"] * len(SHARES))
        lines.append(f"| exact | {cells} |")
    for method in SHOWN:
        texts = []
        for share in SHARES:
            value = found.one(mentions=mentions, kind=kind, method=method, share=share)
            texts.append("" if value is None else _cell(value, metric, method))
        lines.append(f"| {method} | {' | '.join(texts)} |")
    if metric == "conll":
        lines.append("")
        lines.append(
            f"Exact: MUC {exact['muc']:.1f}, B³ {exact['b_cubed']:.1f}, CEAFe "
            f"{exact['ceaf_e']:.1f}; with singletons CoNLL {exact['conll, all']:.1f}; "
            f"harmonic mean of mean precision and recall {exact['harmonic']:.1f}; "
            f"threshold {exact['threshold']:g}; asymmetry ‖K − ½(K + Kᵀ)‖/‖K‖ "
            f"{exact['asymmetry']:.3f}."
        )
    return lines


def _cell(value: dict[str, Any], metric: str, method: str) -> str:
    mean = float(np.mean([np.nan if v is None else v for v in value[metric]]))
    text = f"{mean:.1f}" if metric == "conll" else f"{mean:.3f}"
    if metric == "error" and mean >= 10:
        text = f"{mean:.0e}"
    return f"**{text}**" if method.startswith("default") else text


def _paper_table() -> str:
    head = " | ".join(f"{share:.0%}" for share in SHARES)
    lines = [
        f"| the paper, F₁ (exact {paper.COREFERENCE['exact']}) | {head} |",
        "|---|" + "---|" * len(SHARES),
    ]
    for method in ("sicur", "sms, rescaled"):
        values: Any = paper.COREFERENCE[method]
        lines.append(f"| {method} | {' | '.join(f'{v:.1f}' for v in values)} |")
    return "\n".join(lines)


def _verdict(found: Results, cases: list[Case]) -> str:
    words = [
        (
            "The paper's F₁ is the harmonic mean of mean precision and mean recall, of "
            "events and entities together with predicted mentions; its levels can be "
            "compared with ours only by the distance to the exact row."
        )
    ]
    for mentions, kind in cases:
        case = {"mentions": mentions, "kind": kind}
        exact = found.one(**case, method="exact")
        told = []
        for method in ("default, prior", "default, settled", "sicur"):
            ours = found.one(**case, method=method, share=0.3)
            if exact and ours:
                told.append(f"{method} {_gaps(exact, ours)}")
        if told:
            words.append(
                f"Goal, {PLURAL[kind]}, {mentions} mentions, price of 30 % landmarks: the "
                "default within 0.5 points of the exact matrix. Below it by, without "
                f"singletons / with them: {'; '.join(told)}."
            )
    words.append(_WORDS if found.complete else UNJUDGED)
    return "\n\n".join(words)


_WORDS = """What holds of the paper: SiCUR rises slowly and needs 80 to 90 % of the landmarks to come
within a point of the exact matrix; rescaling helps SMS at every share on gold mentions.

What does not: in the paper SiCUR is ahead of rescaled SMS from 20 % on, here it is behind
nearly everywhere, and from 70 % on rescaled SMS even passes the exact matrix on events,
whose threshold was tuned for other values. The core shifted alone, as the published
program does it, is the worst of all. SMS's relative error grows with s while its clusters
improve: the error is in the landmarks' own diagonal, which no cluster looks at. For the
same reason SiCUR has the smaller relative error from 70 or 80 % on: the default does not
pay for the diagonal.

The default for clusters keeps a fifth of its budget for merges near the threshold
("settled"; the fifth was chosen on the dev topics); without that, gold events at 30 % are
0.05 points short of the goal, and the other three meet it."""


def _gaps(exact: dict[str, Any], ours: dict[str, Any]) -> str:
    """Return how far below the exact matrix, and whether that is near enough."""
    gaps = [exact[m] - float(np.mean(ours[m])) for m in ("conll", "conll, all")]
    words = ["met" if gap <= 0.5 else "missed" for gap in gaps]
    verdict = words[0] if words[0] == words[1] else " / ".join(words)
    return f"{gaps[0]:.2f} / {gaps[1]:.2f} ({verdict})"
