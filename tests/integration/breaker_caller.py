"""A process that asks the embedding service as a function does: each line it reads says how often at once."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from ragdrop.app import App, build_app
from ragdrop.domain.deadlines import Deadline
from ragdrop.errors import DependencyError


def outcome(app: App) -> str:
    """The code of one call's error, or that there is none."""
    try:
        app.ports.guarded_embedder.query("pump", app.ports.settings.seed_index().space, Deadline.after(20))
    except DependencyError as exc:
        return exc.code
    return "OK"


def main() -> None:
    """Answer each line by the outcomes of so many calls, as JSON."""
    app = build_app()
    with ThreadPoolExecutor(20) as pool:
        for line in sys.stdin:
            print(json.dumps(list(pool.map(lambda _: outcome(app), range(int(line))))), flush=True)


if __name__ == "__main__":
    main()
