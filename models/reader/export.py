"""Write a trained network as ONNX with 8-bit weights: `python -m models.reader.export CHECKPOINT... TARGET`.

Of several checkpoints the mean is written.

The graph is put together by hand from the operators of ONNX Runtime that join what a layer of BERT does (attention,
the sum with its norm), as exporters write dozens of small ones in their place.  Weights are 8 bits with a scale for
each BLOCK of them; what runs through is quantised by the same blocks, so that a pair's numbers do not depend on its
batch.  With one scale for all that runs through, probabilities moved by up to 0.23, with blocks by up to 0.06.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from models.reader.network import BLOCK, EPSILON, HEADS, NAMES, WIDTH, Network

OPSET = 17
FUSED = "com.microsoft"  # the domain of ONNX Runtime's own operators


class Graph:
    """Nodes and weights of a graph that grows; with *exact* the weights stay float32."""

    def __init__(self, *, exact: bool) -> None:
        self.exact = exact
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, value: Any) -> str:
        array = value.detach().numpy() if isinstance(value, torch.Tensor) else value
        self.weights.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def node(self, operator: str, inputs: list[str], name: str, *, fused: bool = False, **attributes: object) -> str:
        domain = FUSED if fused else None
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, domain=domain, **attributes))
        return name

    def dense(self, name: str, given: str, weight: torch.Tensor) -> str:
        """The product with *weight* (out x in) alone: what comes next adds the bias."""
        if self.exact:
            return self.node("MatMul", [given, self.weight(f"{name}.weight", weight.T)], name)
        rows, columns = weight.shape
        numbers, scales = in_blocks(weight.detach().numpy())
        inputs = [given, self.weight(f"{name}.numbers", numbers), self.weight(f"{name}.scales", scales.reshape(-1))]
        # accuracy level 4: products of 8-bit integers
        shape = {"K": columns, "N": rows, "bits": 8, "block_size": BLOCK, "accuracy_level": 4}
        return self.node("MatMulNBits", inputs, name, fused=True, **shape)

    def rows(self, name: str, numbers: str, weight: torch.Tensor) -> str:
        """The rows of *weight* that *numbers* names."""
        if self.exact:
            return self.node("Gather", [self.weight(f"{name}.weight", weight), numbers], name)
        values, scales = in_blocks(weight.detach().numpy())
        inputs = [self.weight(f"{name}.numbers", values.reshape(len(values), -1)), numbers]
        inputs.append(self.weight(f"{name}.scales", scales))
        return self.node(
            "GatherBlockQuantized", inputs, name, fused=True, bits=8, block_size=BLOCK, gather_axis=0, quantize_axis=1
        )


def in_blocks(weight: Any) -> tuple[Any, Any]:
    """*weight* (N x K) as bytes around 128, N x blocks x BLOCK, and the scale of each block, N x blocks."""
    blocks = weight.reshape(len(weight), -1, BLOCK)
    scales = np.abs(blocks).max(axis=2, keepdims=True) / 127
    scales[scales == 0] = 1.0
    numbers = (np.round(blocks / scales) + 128).astype(np.uint8)
    return numbers, scales[:, :, 0].astype(np.float32)


def graph_of(network: Network, *, exact: bool) -> onnx.ModelProto:
    """The network with inputs `tokens`, `types`, `mask` (int32, B x L), outputs `scores` (B x 5), `edges` (B x L x 2).

    The columns of `scores` are relevance, answerable, supported, contradicted and neutral; those of `edges` the first
    and the last token of the answer, where the first token of all stands for "no answer".  All are logits.
    """
    g = Graph(exact=exact)
    zero, one = g.weight("zero", np.array(0, np.int64)), g.weight("one_at", np.array(1, np.int64))
    length = g.node("Gather", [g.node("Shape", ["tokens"], "shape"), one], "length")
    numbers = g.node("Range", [zero, length, one], "numbers")
    places = g.rows("places", numbers, network.positions.weight)
    kinds = g.node("Gather", [g.weight("kinds.weight", network.types.weight), "types"], "kinds")
    total = g.node("Add", [g.rows("words", "tokens", network.words.weight), kinds], "words_and_kinds")
    norm = [g.weight("norm.g", network.norm.weight), g.weight("norm.b", network.norm.bias)]
    total = g.node("Add", [total, places], "sum")
    hidden = g.node("LayerNormalization", [total, *norm], "embedded", epsilon=EPSILON)
    for number, layer in enumerate(network.layers):
        at = f"layer{number}."
        merged = layer.query_key_value
        parts = [
            g.dense(at + name, hidden, merged.weight[place * WIDTH : (place + 1) * WIDTH])
            for place, name in enumerate(("query", "key", "value"))
        ]
        inputs = [*parts, g.weight(at + "qkv.b", merged.bias), "mask"]
        seen = g.node("MultiHeadAttention", inputs, at + "attention", fused=True, num_heads=HEADS)
        seen = g.dense(at + "output", seen, layer.output.weight)
        hidden = _add_and_norm(g, at + "seen", seen, hidden, layer.output, layer.output_norm)
        inner = g.dense(at + "inner", hidden, layer.inner.weight)
        inner = g.node("BiasGelu", [inner, g.weight(at + "inner.b", layer.inner.bias)], at + "gelu", fused=True)
        outer = g.dense(at + "outer", inner, layer.outer.weight)
        hidden = _add_and_norm(g, at + "done", outer, hidden, layer.outer, layer.outer_norm)
    _heads(g, network, hidden)
    dense = [
        helper.make_tensor_value_info(name, TensorProto.INT32, ["pairs", "length"])
        for name in ("tokens", "types", "mask")
    ]
    out = [
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["pairs", 5]),
        helper.make_tensor_value_info("edges", TensorProto.FLOAT, ["pairs", "length", 2]),
    ]
    graph = helper.make_graph(g.nodes, "reader", dense, out, g.weights)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def _add_and_norm(g: Graph, name: str, given: str, skip: str, dense: torch.nn.Linear, norm: torch.nn.LayerNorm) -> str:
    inputs = [given, skip, g.weight(name + ".g", norm.weight), g.weight(name + ".n", norm.bias)]
    return g.node(
        "SkipLayerNormalization", [*inputs, g.weight(name + ".b", dense.bias)], name, fused=True, epsilon=EPSILON
    )


def _heads(g: Graph, network: Network, hidden: str) -> None:
    one = g.weight("one", np.array(1, np.int32))
    middle = g.weight("middle", np.array([1], np.int64))
    zero = "zero"
    passage = g.node("Mul", ["types", "mask"], "of_passage")
    query = g.node("Mul", [g.node("Sub", [one, "types"], "not_passage"), "mask"], "of_query")
    parts = [g.node("Gather", [hidden, zero], "first", axis=1)]
    for name, part in (("query", query), ("passage", passage)):
        as_float = g.node("Cast", [part], name + "_float", to=TensorProto.FLOAT)
        count = g.node("ReduceSum", [as_float, middle], name + "_count", keepdims=1)
        share = g.node("Div", [as_float, count], name + "_share")
        total = g.node("MatMul", [g.node("Unsqueeze", [share, middle], name + "_row"), hidden], name + "_total")
        parts.append(g.node("Squeeze", [total, middle], name + "_mean"))
    pooled = g.node("Concat", parts, "pooled", axis=1)
    weights = torch.cat([network.features[name].weight for name in NAMES])
    biases = torch.cat([network.features[name].bias for name in NAMES])
    features = g.dense("features", pooled, weights)
    features = g.node(
        "Tanh", [g.node("Add", [features, g.weight("features.b", biases)], "features_sum")], "features_tanh"
    )
    last = np.zeros((3 * WIDTH, 5), np.float32)
    column = 0
    for number, name in enumerate(NAMES):
        weight = network.heads[name].weight.detach().numpy()
        last[number * WIDTH : (number + 1) * WIDTH, column : column + len(weight)] = weight.T
        column += len(weight)
    biases = torch.cat([network.heads[name].bias for name in NAMES])
    product = g.node("MatMul", [features, g.weight("heads.w", last)], "heads")
    g.node("Add", [product, g.weight("heads.b", biases)], "scores")
    product = g.node("MatMul", [hidden, g.weight("span.w", network.span.weight.T)], "span")
    edges = g.node("Add", [product, g.weight("span.b", network.span.bias)], "span_sum")
    # the first token and those of the passage may be an edge
    is_first = g.node("Cast", [g.node("Equal", ["numbers", zero], "is_first_flag")], "is_first", to=TensorProto.FLOAT)
    allowed = g.node("Max", [is_first, "passage_float"], "allowed")
    closed = g.node("Sub", [allowed, g.weight("one_float", np.array(1, np.float32))], "closed")
    closed = g.node("Mul", [closed, g.weight("far", np.array(10_000, np.float32))], "closed_far")
    g.node(
        "Add",
        [edges, g.node("Unsqueeze", [closed, g.weight("last", np.array([2], np.int64))], "closed_column")],
        "edges",
    )


def export(checkpoints: Sequence[Path], target: Path, *, exact: bool = False) -> str:
    """Write the mean of *checkpoints* to *target*; with *exact* the weights stay float32.  The SHA-256 of the file."""
    onnx.save(graph_of(Network.read(*checkpoints).eval(), exact=exact), target)
    return hashlib.sha256(target.read_bytes()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoints", type=Path, nargs="+")
    parser.add_argument("target", type=Path)
    parser.add_argument("--exact", action="store_true", help="float32 weights, to compare with")
    args = parser.parse_args()
    print(export(args.checkpoints, args.target, exact=args.exact), f"{args.target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
