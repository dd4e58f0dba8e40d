"""The network of the reader: the trunk of all-MiniLM-L6-v2 and a head for each of three jobs.

A text of a question or a claim and a text of a passage go through in one pass. Shapes: B pairs of at most L tokens.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from models.reader.mean import mean_of

WIDTH, HEADS, INNER, VOCABULARY, POSITIONS = 384, 12, 1536, 30_522, 512
NAMES = ("relevance", "answerable", "support")
BLOCK = 128  # weights that share a scale where they are 8 bits
EPSILON = 1e-12
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FAST = torch.bfloat16 if DEVICE == "cuda" or torch.ops.mkldnn._is_mkldnn_bf16_supported() else torch.float32
"""What is computed in: a processor without AVX-512 takes thirty times as long for bfloat16 as for float32."""


class Scores(NamedTuple):
    """What one pass gives, as logits."""

    relevance: Tensor  # B
    answerable: Tensor  # B
    support: Tensor  # B x 3, in the order of data.CLASSES
    start: Tensor  # B x L, of tokens of the passage; the first token is "no answer"
    end: Tensor  # B x L


class Layer(nn.Module):
    """A layer of BERT: attention, then two dense steps, each added to its input and normalised."""

    def __init__(self) -> None:
        super().__init__()
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)
        self.output_norm = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.inner = nn.Linear(WIDTH, INNER)
        self.outer = nn.Linear(INNER, WIDTH)
        self.outer_norm = nn.LayerNorm(WIDTH, eps=EPSILON)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        count, length, _ = hidden.shape
        parts = self.query_key_value(hidden).view(count, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(parts[0] @ parts[1].transpose(2, 3) * (WIDTH // HEADS) ** -0.5 + mask, dim=3)
        seen = weights @ parts[2]
        hidden = self.output_norm(hidden + self.output(seen.transpose(1, 2).reshape(count, length, WIDTH)))
        normed: Tensor = self.outer_norm(hidden + self.outer(functional.gelu(self.inner(hidden))))
        return normed


class Network(nn.Module):
    """Trunk and heads."""

    def __init__(self, layers: int = 6) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.types = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.features = nn.ModuleDict(
            {name: nn.Linear(3 * WIDTH, WIDTH) for name in ("relevance", "answerable", "support")}
        )
        self.heads = nn.ModuleDict(
            {"relevance": nn.Linear(WIDTH, 1), "answerable": nn.Linear(WIDTH, 1), "support": nn.Linear(WIDTH, 3)}
        )
        self.span = nn.Linear(WIDTH, 2)

    def hidden(self, tokens: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        """The last layer, B x L x WIDTH, of *tokens* (B x L) with a *mask* of 1 for tokens and 0 for padding."""
        places = self.positions.weight[: tokens.shape[1]]
        hidden: Tensor = self.norm(self.words(tokens) + places + self.types(types))
        # an additive mask: the product of attention of ONNX and of torch both take it
        closed = (1 - mask[:, None, None, :].to(hidden.dtype)) * -10_000.0
        for layer in self.layers:
            hidden = layer(hidden, closed)
        return hidden

    def forward(self, tokens: Tensor, types: Tensor, mask: Tensor) -> Scores:
        hidden = self.hidden(tokens, types, mask)
        of_passage = (types * mask)[:, :, None].to(hidden.dtype)
        of_query = ((1 - types) * mask)[:, :, None].to(hidden.dtype)
        pooled = torch.cat(
            [
                hidden[:, 0],
                (hidden * of_query).sum(1) / of_query.sum(1).clamp(min=1),
                (hidden * of_passage).sum(1) / of_passage.sum(1).clamp(min=1),
            ],
            dim=1,
        )
        out = {name: self.heads[name](torch.tanh(self.features[name](pooled))) for name in self.heads}
        edges = self.span(hidden)
        allowed = types * mask
        first = torch.zeros_like(allowed)
        first[:, 0] = 1
        edges = edges + (1 - (allowed + first)[:, :, None].to(edges.dtype)) * -10_000.0
        return Scores(
            out["relevance"].squeeze(1), out["answerable"].squeeze(1), out["support"], edges[:, :, 0], edges[:, :, 1]
        )

    @classmethod
    def read(cls, *checkpoints: Path) -> Network:
        """The network of a checkpoint or of a `reader.onnx`, or the mean of several, in float32."""
        weights = mean_of([_weights_of(each) for each in checkpoints])
        network = cls(1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers.")))
        network.load_state_dict(weights)
        return network

    def load_trunk(self, path: Path) -> None:
        """Take the trunk's weights from a file that `weights_of_trunk` reads.

        Of a deeper trunk layers at even distances are taken, the first and the last among them.
        """
        given = weights_of_trunk(path)

        def copy(target: nn.Parameter, name: str) -> None:
            target.data.copy_(given[name])

        for own, name in (("words", "word"), ("positions", "position"), ("types", "token_type")):
            copy(getattr(self, own).weight, f"embeddings.{name}_embeddings.weight")
        copy(self.norm.weight, "embeddings.LayerNorm.weight")
        copy(self.norm.bias, "embeddings.LayerNorm.bias")
        depth = 1 + max(int(name.split(".")[2]) for name in given if name.startswith("encoder.layer."))
        apart = (depth - 1) / max(1, len(self.layers) - 1)
        for number, layer in enumerate(self.layers):
            at = f"encoder.layer.{round(number * apart)}."
            for kind in ("weight", "bias"):
                parts = [given[f"{at}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
                getattr(layer.query_key_value, kind).data.copy_(torch.cat(parts))
                copy(getattr(layer.output, kind), f"{at}attention.output.dense.{kind}")
                copy(getattr(layer.output_norm, kind), f"{at}attention.output.LayerNorm.{kind}")
                copy(getattr(layer.inner, kind), f"{at}intermediate.dense.{kind}")
                copy(getattr(layer.outer, kind), f"{at}output.dense.{kind}")
                copy(getattr(layer.outer_norm, kind), f"{at}output.LayerNorm.{kind}")


def _weights_of(path: Path) -> dict[str, Tensor]:
    if path.suffix != ".onnx":
        found: dict[str, Tensor] = torch.load(path, weights_only=True, map_location="cpu")["network"]
        return found
    return weights_of_export(path)


def weights_of_export(path: Path) -> dict[str, Tensor]:
    """The weights of what `models.reader.export` wrote with 8 bits: written again they are the same file."""
    given = {each.name: numpy_helper.to_array(each).copy() for each in onnx.load(path).graph.initializer}

    def exact(name: str) -> Tensor:
        return torch.from_numpy(given[name])

    def dense(name: str) -> Tensor:
        numbers, scales = exact(f"{name}.numbers"), exact(f"{name}.scales")
        blocks = numbers.reshape(len(numbers), -1, BLOCK).float() - 128
        return (blocks * scales.reshape(len(numbers), -1, 1)).reshape(len(numbers), -1)

    found = {"words.weight": dense("words"), "positions.weight": dense("places"), "types.weight": exact("kinds.weight")}
    found |= {"norm.weight": exact("norm.g"), "norm.bias": exact("norm.b"), "span.bias": exact("span.b")}
    found["span.weight"] = exact("span.w").T
    for number in range(sum(name.endswith(".qkv.b") for name in given)):
        at, to = f"layer{number}.", f"layers.{number}."
        found[f"{to}query_key_value.weight"] = torch.cat([dense(at + part) for part in ("query", "key", "value")])
        found |= {f"{to}query_key_value.bias": exact(f"{at}qkv.b"), f"{to}inner.bias": exact(f"{at}inner.b")}
        found[f"{to}inner.weight"] = dense(f"{at}inner")
        for name, norm in (("output", "seen"), ("outer", "done")):
            found |= {f"{to}{name}.weight": dense(at + name), f"{to}{name}.bias": exact(f"{at}{norm}.b")}
            found |= {
                f"{to}{name}_norm.weight": exact(f"{at}{norm}.g"),
                f"{to}{name}_norm.bias": exact(f"{at}{norm}.n"),
            }
    features, biases = dense("features").split(WIDTH), exact("features.b").split(WIDTH)
    heads = exact("heads.w").T.split(WIDTH, dim=1)
    column = 0
    for name, feature, bias, head in zip(NAMES, features, biases, heads, strict=True):
        found |= {f"features.{name}.weight": feature, f"features.{name}.bias": bias}
        columns = slice(column, column := column + (3 if name == "support" else 1))
        found |= {f"heads.{name}.weight": head[columns], f"heads.{name}.bias": exact("heads.b")[columns]}
    return found


def weights_of_trunk(path: Path) -> dict[str, Tensor]:
    """The weights of a BERT by the names of Hugging Face, from a safetensors file or from PyTorch's ONNX of one.

    There the weight of a dense layer is turned and has a number for a name; its node still says whose it is.
    """
    if path.suffix != ".onnx":
        return {name.removeprefix("bert."): value for name, value in load_file(path).items()}
    graph = onnx.load(path).graph
    found = {each.name: torch.from_numpy(numpy_helper.to_array(each).copy()) for each in graph.initializer}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in found:
            name = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            found[f"{name}.weight"] = found[node.input[1]].T
    return found
