"""The program for Haystack behind Hayhooks: a pipeline wrapper over the hybrid retriever."""

from __future__ import annotations

from typing import Any

from hayhooks import create_app
from hayhooks.server.utils.deploy_utils import deploy_pipeline_files

from benchmarks.peers.haystack_peer import Haystack
from benchmarks.peers.serving import CANDIDATES, serve

RUNNING: list[ServedHaystack] = []  # what the wrapper finds: Hayhooks makes it of its file's text
WRAPPER = """
import sys
from typing import Any

from hayhooks import BasePipelineWrapper


class PipelineWrapper(BasePipelineWrapper):
    def setup(self) -> None:
        self.haystack = sys.modules["__main__"].RUNNING[0]
        self.pipeline = self.haystack._indexing  # it wants one; what answers is the retriever

    def run_api(self, query: str, limit: int) -> list[dict[str, Any]]:
        return self.haystack.shown(query, limit)
"""


class ServedHaystack(Haystack):
    """The pipelines of the other comparisons."""

    def served(self) -> tuple[Any, str]:
        """The application of `hayhooks run` with one pipeline."""
        RUNNING.append(self)
        app = create_app()
        deploy_pipeline_files("search", {"pipeline_wrapper.py": WRAPPER}, app=app, save_files=False)
        return app, "/search/run"

    def shown(self, query: str, limit: int) -> list[dict[str, Any]]:
        """At most *limit* documents with text and score, best first, each once."""
        found = {each.meta["id"]: each for each in reversed(self.retrieve(query, CANDIDATES * limit))}
        best = sorted(found.values(), key=lambda each: -(each.score or 0.0))[:limit]
        return [{"id": each.meta["id"], "text": each.content, "score": each.score} for each in best]


if __name__ == "__main__":
    serve(ServedHaystack())
