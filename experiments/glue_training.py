"""Fine-tune a cross-encoder on STS-B, MRPC or RTE and score all pairs of its dev set.

    python -m experiments.glue_training stsb --model MODEL --encoder MODEL --out FOLDER

MODEL is a folder or a name on the Hugging Face hub: any encoder that transformers can
load for sequence classification. FOLDER gets the matrix (float16, raw outputs, not
symmetrized), the items and their embeddings in a folder as FEWPAIRS_DATA/matrices, and
the fine-tuned model; what the labeled pairs score is written into experiments/results.
"""

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

import fewpairs as fp
from experiments.cells import Results
from experiments.data import folder
from experiments.glue import scores
from experiments.glue_tasks import TASKS, Pairs, read_task
from experiments.manifest import RESULTS
from experiments.matrices import glue

__all__ = ["all_pairs", "fine_tune", "main"]


def fine_tune(
    pairs: Pairs,
    model: str,
    out: Path,
    *,
    task: str,
    epochs: int = 4,
    batch: int = 32,
    learning_rate: float = 1e-4,
    most: int | None = None,
    device: str = "cpu",
    seed: int = 0,
) -> None:
    """Train one output on labels from 0 to 1: squared error for STS-B, else entropy.

    AdamW with a linear warm-up over a tenth of the steps and a linear way down, as in
    Devlin et al. (2019); the small encoders want a higher rate than their 2e-5.
    ``most`` takes only so many pairs.
    """
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModelForSequenceClassification.from_pretrained(model, num_labels=1)
    network.float().to(device).train()  # checkpoints may be in half precision
    optimizer = torch.optim.AdamW(network.parameters(), lr=learning_rate)
    rng = np.random.default_rng(seed)
    count = min(most or len(pairs.labels), len(pairs.labels))
    total = epochs * math.ceil(count / batch)
    warm = max(1, total // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min((step + 1) / warm, (total - step) / max(1, total - warm)),
    )
    labels = torch.tensor(pairs.labels, dtype=torch.float32)
    entropy = torch.nn.functional.binary_cross_entropy_with_logits
    loss_of = torch.nn.functional.mse_loss if task == "stsb" else entropy
    chosen = rng.permutation(len(pairs.labels))[:count]
    for _ in range(epochs):
        order = rng.permutation(chosen)
        for start in range(0, count, batch):
            part = order[start : start + batch]
            inputs = _tokens(tokenizer, pairs, part).to(device)
            optimizer.zero_grad()
            logits = network(**inputs).logits[:, 0]
            loss_of(logits, labels[part].to(device)).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    network.eval().save_pretrained(out)
    tokenizer.save_pretrained(out)


def _tokens(tokenizer: Any, pairs: Pairs, part: Any) -> Any:
    return tokenizer(
        [pairs.first[t] for t in part],
        [pairs.second[t] for t in part],
        padding=True,
        truncation=True,
        return_tensors="pt",
    )


def all_pairs(
    pairs: Pairs, model: Path, encoder: str, out: Path, *, task: str, device: str
) -> None:
    """Score every sentence with every other, in both orders, and write it all."""
    texts = [*pairs.first, *pairs.second]
    m = len(pairs.first)
    scorer = fp.CrossEncoder(
        str(model), activation="identity", device=device, local_files_only=True
    ).bind(texts)
    everything = np.arange(len(texts))
    K = np.empty((len(texts), len(texts)), dtype=np.float16)
    for start in range(0, len(texts), 256):
        rows = everything[start : start + 256]
        K[rows] = scorer.block(rows, everything)
    np.save(out / f"{task}.npy", K)
    scale = 5 if task == "stsb" else 1
    with (out / f"{task}.jsonl").open("w", encoding="utf-8") as file:
        for t, text in enumerate(texts):
            gold = pairs.labels[t % m] * scale
            line = {"text": text, "pair": (t + m) % (2 * m), "gold": gold}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    from sentence_transformers import SentenceTransformer

    vectors = SentenceTransformer(encoder, device=device).encode(
        texts, show_progress_bar=False
    )
    np.save(out / f"{task}_embeddings.npy", vectors.astype(np.float16))


def main() -> None:
    """Train, score all pairs, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--model", required=True)
    parser.add_argument("--encoder", required=True, help="of the embeddings")
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--most", type=int, help="pairs to train on; all if not given")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    data = folder()
    options.out.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    model = options.out / f"{options.task}-cross-encoder"
    fine_tune(
        read_task(data, options.task, "train"),
        options.model,
        model,
        task=options.task,
        epochs=options.epochs,
        batch=options.batch,
        learning_rate=options.learning_rate,
        most=options.most,
        device=options.device,
        seed=options.seed,
    )
    trained = time.perf_counter()
    dev = read_task(data, options.task, "dev")
    all_pairs(
        dev,
        model,
        options.encoder,
        options.out,
        task=options.task,
        device=options.device,
    )
    found = _scores(options.out, options.task)
    found["seconds of training"] = trained - start
    found["seconds of all pairs"] = time.perf_counter() - trained
    found["device"] = _device(options.device)
    key = {"task": options.task, "model": Path(options.model).name}
    key |= {"epochs": options.epochs, "seed": options.seed}
    key |= {"learning rate": options.learning_rate}
    Results(RESULTS / "glue-training.jsonl").add(key, found, trained - start)
    print(key, found)


def _scores(out: Path, task: str) -> dict[str, Any]:
    """Return the metrics of the labeled pairs, as scored and symmetrized."""
    shelf = out / "matrices"
    shelf.mkdir(exist_ok=True)
    for kind in (".npy", ".jsonl", "_embeddings.npy"):
        (out / f"{task}{kind}").replace(shelf / f"{task}{kind}")
    truth = glue(out, task)
    found: dict[str, Any] = {"n": len(truth.raw)}
    for name, K in (("exact", truth.raw), ("symmetrized", truth.K)):
        found[name] = scores(task, truth.gold, K[truth.first, truth.second])
    return found


def _device(name: str) -> str:
    import torch

    return torch.cuda.get_device_name() if name.startswith("cuda") else "CPU"


if __name__ == "__main__":
    main()
