"""Composition root: Settings -> adapters -> use cases, once per execution environment.

Parts are made when they are first asked for, so that a function imports and connects only what it uses.
"""

from __future__ import annotations

from collections.abc import Mapping

from ragdrop.bootstrap.operating import OperatingParts
from ragdrop.config import Settings


class App(OperatingParts):
    """Every part of ragdrop by its name: ports first, then the use cases over them.

    A part may be given instead of made, by assigning it before it is used: `bootstrap(embedder=HashingEmbedder())`.
    """


def bootstrap(environ: Mapping[str, str] | None = None, **parts: object) -> App:
    """Compose the application.

    Args:
        environ: Where the settings come from; the process's own environment if None.
        parts: Parts of App by name, given instead of made: fakes in tests.

    Raises:
        ConfigurationError: Names every setting that is missing or wrong.
        TypeError: A part that App does not have.
    """
    app = App(Settings.from_environment(environ))
    for name, part in parts.items():
        if not hasattr(App, name) and name != "clock":
            raise TypeError(f"App has no part named {name!r}")
        app.__dict__[name] = part
    return app
