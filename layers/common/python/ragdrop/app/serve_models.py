"""Build the models of the function `models` from the files that its build put beside the handler."""

from pathlib import Path

from ragdrop.models.answerer import MODEL as ANSWERER
from ragdrop.models.answerer import answerer_calls, read_by, similarity_by
from ragdrop.models.cached_reader import MODEL as READER
from ragdrop.models.cached_reader import CachedReader
from ragdrop.models.model_protocol import ServedModels, embedding_calls, reader_calls
from ragdrop.models.onnx_embedder import OnnxEmbedder
from ragdrop.models.onnx_reader import OnnxReader

EMBEDDING = "all-MiniLM-L6-v2"


def served_from(folder: Path) -> ServedModels:
    """Load embedding model, reader and extractive answerer, which reads what was just read for the same question.

    Args:
        folder: Has the folders `all-MiniLM-L6-v2` (model.onnx, tokenizer.json) and `reader` (reader.onnx, reader.json).

    Raises:
        ConfigurationError: A package or a file is missing or damaged.
    """
    embedder = OnnxEmbedder(folder / EMBEDDING, name=EMBEDDING)
    model = OnnxReader(folder / "reader", tokenizer=folder / EMBEDDING / "tokenizer.json")
    reader = CachedReader(model)
    answers = answerer_calls(similarity_by(embedder), read_by(reader))
    calls = {EMBEDDING: embedding_calls(embedder), READER: reader_calls(reader, model.card.version), ANSWERER: answers}
    return ServedModels(calls)
