"""A function of this repository run without Lambda: its real handler, on an event file, in this process."""

from __future__ import annotations

import importlib.util
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ragdrop.errors import ConfigurationError

EXAMPLE_KEY = "rd_local_example_key"
EXAMPLE_BUCKET = "ragdrop-documents-example"
Handler = Callable[[object, "LocalContext"], object]


@dataclass(frozen=True, slots=True)
class LocalContext:
    """What Lambda hands a handler as its context; `ends_at_s` is a moment of the monotonic clock."""

    function_name: str
    ends_at_s: float
    memory_limit_in_mb: int = 512
    function_version: str = "$LATEST"
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    log_stream_name: str = "local"

    @classmethod
    def of(cls, name: str, *, timeout_s: float) -> LocalContext:
        """A context for one invocation that begins now."""
        return cls(f"ragdrop-{name}", time.monotonic() + timeout_s)

    @property
    def log_group_name(self) -> str:
        """Where Lambda would log to."""
        return f"/aws/lambda/{self.function_name}"

    @property
    def invoked_function_arn(self) -> str:
        """An ARN with the emulator's account."""
        return f"arn:aws:lambda:us-east-1:000000000000:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the invocation would be ended, never under 0."""
        return max(0, int((self.ends_at_s - time.monotonic()) * 1000))


def find_repository(folder: Path) -> Path:
    """The nearest folder from *folder* upwards that has a template and functions.

    Raises:
        ConfigurationError: There is none.
    """
    for each in (folder, *folder.parents):
        if (each / "template.yaml").is_file() and (each / "functions").is_dir():
            return each
    raise ConfigurationError(f"{folder} is not inside ragdrop's repository; invoke runs the code that is there")


def function_names(repository: Path) -> list[str]:
    """The functions that have an entrypoint."""
    return sorted(path.parent.name for path in (repository / "functions").glob("*/app.py"))


def event_names(repository: Path) -> list[str]:
    """The golden events, relative to the repository."""
    return sorted(path.relative_to(repository).as_posix() for path in (repository / "events").rglob("*.json"))


def find_event(repository: Path, folder: Path, name: str) -> Path | None:
    """An event by its path from *folder* or the repository, or by its name in `events/` without the suffix."""
    places = (folder / name, repository / name, repository / "events" / name, repository / "events" / f"{name}.json")
    return next((place for place in places if place.is_file()), None)


def filled_in(event: str, *, api_key: str, bucket: str) -> tuple[str, list[str]]:
    """The event's text with the example key and bucket replaced by real ones, and what was replaced.

    >>> filled_in('{"bucket": "ragdrop-documents-example"}', api_key="rd_x", bucket="docs")
    ('{"bucket": "docs"}', ['bucket'])
    """
    replaced: list[str] = []
    for what, example, real in (("API key", EXAMPLE_KEY, api_key), ("bucket", EXAMPLE_BUCKET, bucket)):
        if real and example in event:
            event = event.replace(example, real)
            replaced.append(what)
    return event, replaced


def load_handler(repository: Path, name: str) -> Handler:
    """Import `functions/<name>/app.py` by its path and give its `handler`; its folder never hides a package so.

    Raises:
        ConfigurationError: The module has no `handler`.  What the import itself raises is passed on.
    """
    module_name = f"ragdrop_function_{name}"
    spec = importlib.util.spec_from_file_location(module_name, repository / "functions" / name / "app.py")
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"functions/{name}/app.py cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # annotations are looked up there
    spec.loader.exec_module(module)
    handler: Handler | None = getattr(module, "handler", None)
    if handler is None:
        raise ConfigurationError(f"functions/{name}/app.py has no handler")
    return handler
