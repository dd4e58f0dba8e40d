"""Train the reader: `python -m models.reader.train --data DIR --trunk DIR --out DIR`; a stopped run continues."""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from models.reader import data, mine, swaps
from models.reader.batches import Encoded, Encoder, arrays, batches, encode_units
from models.reader.data import Row, Unit
from models.reader.network import DEVICE, FAST, Network, Scores

CHECKPOINT_S = 300.0
SHORT = 60  # words of evidence up to which a claim of the open sets is short
WARM_UP, WEIGHT_DECAY, CLIP = 0.06, 0.01, 1.0
WEIGHTS = {
    "support": 1.0,
    "answerable": 1.0,
    "span": 0.5,
    "listwise": 1.0,
    "relevance": 0.3,
    "apart": 1.0,
    "answered_apart": 1.0,
}


def losses(scores: Scores, units: Sequence[Sequence[Encoded]]) -> dict[str, Tensor]:
    """The mean loss of each head over the rows of *units* that say something to it."""
    rows = [each for unit in units for each in unit]
    found: dict[str, Tensor] = {}
    support = functional.log_softmax(scores.support.float(), dim=1)
    parts = []
    for number, each in enumerate(rows):
        label = each.row.support
        if label == "unsupported":  # the two other classes together
            parts.append(-torch.logsumexp(support[number, 1:], dim=0))
        elif label:
            parts.append(-support[number, data.CLASSES.index(label)])
    if parts:
        found["support"] = torch.stack(parts).mean()
    found |= _of_flags("answerable", scores.answerable, [each.row.answerable for each in rows])
    found |= _of_flags("relevance", scores.relevance, [each.row.relevant for each in rows])
    # the first token is the span of a question without an answer
    known = [number for number, each in enumerate(rows) if each.row.answerable is not None]
    edges = [number for number in known if rows[number].span or not rows[number].row.answerable]
    if edges:
        places = torch.tensor([rows[number].span or (0, 0) for number in edges], device=scores.start.device)
        start = functional.cross_entropy(scores.start[edges].float(), places[:, 0])
        found["span"] = start + functional.cross_entropy(scores.end[edges].float(), places[:, 1])
    odds = scores.support[:, 0].float() - torch.logsumexp(scores.support[:, 1:].float(), dim=1)
    if (apart := _apart(odds, units, is_supported)) is not None:
        found["apart"] = apart
    if (apart := _apart(scores.answerable.float(), units, is_answered)) is not None:
        found["answered_apart"] = apart
    ranked, at = [], 0
    for unit in units:
        if len(unit) > 1 and unit[0].row.relevant:
            ranked.append(-functional.log_softmax(scores.relevance[at : at + len(unit)].float(), dim=0)[0])
        at += len(unit)
    if ranked:
        found["listwise"] = torch.stack(ranked).mean()
    return found


def _of_flags(name: str, logits: Tensor, flags: Sequence[bool | None]) -> dict[str, Tensor]:
    """The loss *name* of the *logits* whose flag is known; nothing where none is."""
    known = [number for number, flag in enumerate(flags) if flag is not None]
    if not known:
        return {}
    right = torch.tensor([float(bool(flags[number])) for number in known], device=logits.device)
    return {name: functional.binary_cross_entropy_with_logits(logits[known].float(), right)}


def is_supported(row: Row) -> bool | None:
    """Whether a claim's passage supports it; None where that is not known of either class."""
    return {"supported": True, "contradicted": False, "neutral": False}.get(row.support or "")


def is_answered(row: Row) -> bool | None:
    """Whether a question's passage answers it; None where that is not known."""
    return row.answerable


def _apart(odds: Tensor, units: Sequence[Sequence[Encoded]], of: Callable[[Row], bool | None]) -> Tensor | None:
    """How far the odds of each row of a unit that is right are from being above those of each that is wrong."""
    apart, at = [], 0
    for unit in units:
        known = [of(each.row) for each in unit]
        right = [at + place for place, each in enumerate(known) if each]
        wrong = [at + place for place, each in enumerate(known) if each is False]
        if right and wrong:
            apart.append(functional.softplus(odds[wrong][None, :] - odds[right][:, None]).mean())
        at += len(unit)
    return torch.stack(apart).mean() if apart else None


def taught(scores: Scores, teacher: Scores) -> dict[str, Tensor]:
    """The mean loss of each head against the probabilities that a *teacher* gives the same pairs."""
    ours, theirs = (Scores(*(logits.float() for logits in each)) for each in (scores, teacher))
    found = {
        name: functional.binary_cross_entropy_with_logits(getattr(ours, name), getattr(theirs, name).sigmoid())
        for name in ("relevance", "answerable")
    }
    support, start, end = (
        functional.cross_entropy(getattr(ours, name), getattr(theirs, name).softmax(dim=1))
        for name in ("support", "start", "end")
    )
    return found | {"support": support, "span": start + end}


def keep_memory() -> None:
    """Let glibc keep what is freed: a step asks for the same gigabyte again, and clearing new pages took a quarter."""
    with suppress(OSError, AttributeError):  # another C library
        library = ctypes.CDLL("libc.so.6")
        for option, value in ((-4, 0), (-1, 2**31 - 1), (-2, 2**28), (-8, 1)):  # mmap_max, trim, top_pad, arena_max
            library.mallopt(option, value)


class Training:
    """A model in the type FAST that learns, its weights in float32, the optimiser, and how far it is.

    With a *teacher*, the checkpoint of another reader, it learns that one's answers in place of the labels.
    """

    def __init__(
        self,
        trunk: Path,
        *,
        layers: int,
        rate: float,
        head_rate: float,
        steps: int,
        start: Sequence[Path],
        teacher: Path | None,
        seed: int,
    ) -> None:
        torch.manual_seed(seed)
        self.exact = Network(layers)
        self.exact.load_trunk(trunk)
        if start:
            self.exact = Network.read(*start)
        self.exact.to(DEVICE).words.weight.requires_grad_(False)
        self.teacher = Network.read(teacher).to(DEVICE, FAST).eval() if teacher else None
        self.fast = Network(len(self.exact.layers)).to(DEVICE, FAST)
        self.fast.words.weight.requires_grad_(False)
        self._copy()
        named = [(name, each) for name, each in self.exact.named_parameters() if each.requires_grad]
        new = ("features.", "heads.", "span.")
        groups = [
            {
                "params": [p for n, p in named if n.startswith(new) == is_new and (p.dim() > 1) == decays],
                "lr": head_rate if is_new else rate,
                "weight_decay": WEIGHT_DECAY if decays else 0.0,
            }
            for is_new in (False, True)
            for decays in (False, True)
        ]
        self.optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.98), fused=True)
        warm = max(1, int(WARM_UP * steps))
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer,
            lambda step: min((step + 1) / warm, max(0.02, 0.5 * (1 + math.cos(math.pi * min(1.0, step / steps))))),
        )
        self.step = 0

    def _copy(self) -> None:
        with torch.no_grad():
            for fast, exact in zip(self.fast.parameters(), self.exact.parameters(), strict=True):
                fast.copy_(exact)

    def learn(self, units: Sequence[Sequence[Encoded]]) -> dict[str, float]:
        """One step on a batch; the losses of its heads."""
        self.fast.train()
        batch = arrays([each for unit in units for each in unit])
        tokens, types, mask = (torch.from_numpy(each).to(DEVICE) for each in batch)
        scores = self.fast(tokens, types, mask)
        if self.teacher is None:
            found = losses(scores, units)
        else:
            with torch.no_grad():
                answers = self.teacher(tokens, types, mask)
            found = taught(scores, answers)
        total = torch.stack([WEIGHTS[name] * loss for name, loss in found.items()]).sum()
        total.backward()  # type: ignore[no-untyped-call]
        trained = []
        for fast, exact in zip(self.fast.parameters(), self.exact.parameters(), strict=True):
            if fast.grad is not None:
                exact.grad = fast.grad.float()
                fast.grad = None
                trained.append(exact)
        torch.nn.utils.clip_grad_norm_(trained, CLIP)
        self.optimizer.step()
        self.schedule.step()
        self._copy()
        self.step += 1
        return {name: loss.item() for name, loss in found.items()}

    def save(self, path: Path) -> None:
        part = path.with_suffix(".part")
        torch.save(
            {
                "network": self.exact.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "schedule": self.schedule.state_dict(),
                "step": self.step,
            },
            part,
        )
        part.replace(path)

    def load(self, path: Path) -> None:
        saved = torch.load(path, weights_only=True, map_location=DEVICE)
        self.exact.load_state_dict(saved["network"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.schedule.load_state_dict(saved["schedule"])
        self.step = saved["step"]
        self._copy()


def run(training: Training, epochs: list[list[list[Encoded]]], out: Path, *, until_s: float) -> bool:
    """Learn from where it is; True when all is done, False when the time *until_s* (of `time.time`) is up."""
    checkpoint, log = out / "checkpoint.pt", out / "log.jsonl"
    saved_s, said_s = time.time(), time.time()
    sums: dict[str, list[float]] = defaultdict(list)
    seen = 0
    for number, batch in enumerate(epochs):
        if number < training.step:
            continue
        for name, loss in training.learn(batch).items():
            sums[name].append(loss)
        seen += sum(len(each.tokens) for unit in batch for each in unit)
        now_s = time.time()
        if training.step % 50 == 0:
            line: dict[str, float] = {
                "step": training.step,
                "of": len(epochs),
                "tokens_s": round(seen / (now_s - said_s)),
            }
            line |= {name: round(float(np.mean(values)), 4) for name, values in sums.items()}
            with log.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(json.dumps(line), flush=True)
            sums.clear()
            seen, said_s = 0, now_s
        if now_s - saved_s > CHECKPOINT_S or now_s > until_s:
            training.save(checkpoint)
            saved_s = now_s
            if now_s > until_s:
                return False
    training.save(checkpoint)
    return True


def units_of(args: argparse.Namespace, encoder: Encoder, rng: Random) -> Iterator[list[Unit]]:
    """The units of one epoch after the other: of each source of *args.mix* the share that it asks for."""
    train, verify = args.data / "train", args.data / "verify"
    asked = data.question_rows(train)
    claims = data.support_rows(train, verify)
    if args.permissive:
        asked = [row for row in asked if row.source not in data.SHARE_ALIKE]
        claims = [row for row in claims if row.source not in data.SHARE_ALIKE]
    claims = [
        replace(row, relevant=True) if row.source in data.CLAIMS_THAT_SEARCH and row.support == "supported" else row
        for row in claims
    ]
    passages = data.own_passages("train")
    if args.own is not None:
        passages = Random(args.seed).sample(passages, min(len(passages), args.own))
    twins = [passage for passage in passages if passage["kind"] != "short"]  # true and false ones of one statement
    own = [row for _, row in data.own_rows(passages)]
    mined = _mined(args, encoder, [*asked, *claims, *own])
    texts = sorted({row.passage for row in asked} | {passage["passage"] for passage in passages})
    short = [row for row in claims if len(row.passage.split()) <= SHORT]
    long = [row for row in claims if len(row.passage.split()) > SHORT]

    def ranked(row: Row) -> Unit:
        found = mined.get(row.query, []) if row.relevant else []
        return [row, *(data.not_relevant(row, text) for text in rng.sample(found, min(1, len(found))))]

    sources: dict[str, Callable[[], Iterable[Unit]]] = {
        "questions": lambda: data.into_units(asked, mined, rng),
        "squad": lambda: ([row] for row in asked if row.source == "squad2-half"),
        "near": lambda: swaps.near_questions([*asked, *own], rng),
        "short": lambda: ([row] for row in short),
        "long": lambda: map(ranked, long),
        "swaps": lambda: swaps.units(texts, rng),
        "own": lambda: data.into_units([row for row in own if row.support is None], mined, rng),
        "asked": lambda: data.asked(passages, mined, rng),
        "contrasts": lambda: data.contrasts(passages, rng),
        "paragraphs": lambda: data.beside(data.written_for_squadshifts(asked, "train"), rng),
        "quotations": lambda: data.quotations(data.contrasts(passages, rng), rng),
        "squares": lambda: data.squares(passages, "own", "other"),
        "plain": lambda: data.squares(passages, "plain"),
        "windows": lambda: data.windows(data.squares(twins, "own", "other"), rng),
        "sides": lambda: data.sides(twins, rng),
    }
    for _ in range(args.epochs):
        units: list[Unit] = []
        for name, share in args.mix.items():
            for _ in range(int(share)):
                units += sources[name]()
            if part := share % 1:
                made = list(sources[name]())
                units += rng.sample(made, int(part * len(made)))
        yield units


def _mined(args: argparse.Namespace, encoder: Encoder, rows: list[Row]) -> dict[str, list[str]]:
    cache = args.out.parent / "mined.json"  # of all stages
    if not cache.exists():
        cache.write_text(json.dumps(mine.mine(rows, encoder, args.trunk / "model.safetensors")))
    found: dict[str, list[str]] = json.loads(cache.read_text())
    return found


def mix_of(text: str) -> dict[str, float]:
    """The share of each source.

    >>> mix_of("swaps=0.5 own=2")
    {'swaps': 0.5, 'own': 2.0}
    """
    return {name: float(share) for name, share in (each.split("=") for each in text.split())}


def main(arguments: list[str] | None = None) -> bool:
    """One stage; True when all of it is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with train/ and verify/")
    parser.add_argument("--trunk", type=Path, required=True, help="folder with model.safetensors and tokenizer.json")
    parser.add_argument("--out", type=Path, required=True, help="folder of checkpoints and the log")
    parser.add_argument(
        "--start",
        type=Path,
        nargs="+",
        default=[],
        help="checkpoints or a reader.onnx to start from; of several the mean",
    )
    parser.add_argument("--teacher", type=Path, help="the checkpoint of a reader whose answers it learns, not labels")
    parser.add_argument("--weights", type=Path, help="a safetensors or ONNX file of another trunk of the same width")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--mix", type=mix_of, required=True, help='what an epoch has, like "questions=1 swaps=0.5"')
    parser.add_argument("--own", type=int, help="how many of the project's passages (all)")
    parser.add_argument("--tokens", type=int, default=4_096, help="tokens of a batch")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--head-rate", type=float, default=4e-4)
    parser.add_argument("--minutes", type=float, default=600.0, help="stop after that time; the next run continues")
    parser.add_argument("--permissive", action="store_true", help="leave out the sets with texts under CC BY-SA")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    started_s = time.time()
    if (args.out / "done").exists():
        print(f"{args.out} is done", flush=True)
        return True
    args.out.mkdir(parents=True, exist_ok=True)
    keep_memory()
    encoder = Encoder(args.trunk / "tokenizer.json")
    rng = Random(args.seed)
    all_batches = []
    for epoch, found in enumerate(units_of(args, encoder, rng)):
        units = encode_units(found, encoder)
        all_batches += list(batches(units, args.tokens, Random(args.seed * 1_000 + epoch)))
    print(f"{len(all_batches)} steps, prepared in {time.time() - started_s:.0f} s", flush=True)
    training = Training(
        args.weights or args.trunk / "model.safetensors",
        layers=args.layers,
        rate=args.rate,
        head_rate=args.head_rate,
        steps=len(all_batches),
        start=args.start,
        teacher=args.teacher,
        seed=args.seed,
    )
    if (args.out / "checkpoint.pt").exists():
        training.load(args.out / "checkpoint.pt")
    done = run(training, all_batches, args.out, until_s=started_s + 60 * args.minutes)
    if done:
        (args.out / "done").touch()
    print("done" if done else "stopped, continues at the next start", flush=True)
    return done


if __name__ == "__main__":
    main()
