"""What a function serves, made again when the settings document changes."""

import logging
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ragdrop.app import App, Ports, compose, deployed_settings
from ragdrop.errors import ConfigurationError, DependencyError
from ragdrop.observability import configure

logger = logging.getLogger(__name__)

REREAD_S = 60.0  # a changed document is in force everywhere after this long

T = TypeVar("T")


class Reloaded(Generic[T]):
    """What a function serves.  The settings document is read again at most once a minute, before a request.

    If it changed, everything is composed again, as in a new execution environment.  An invalid document stops a new
    environment; one that runs keeps its settings and logs an error.

    Args:
        function: The name of the function in metrics.
        make: Makes what is served of the application.
        clock: Seconds, for the time between two reads.
    """

    def __init__(self, function: str, make: Callable[[App], T], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._function = function
        self._make = make
        self._clock = clock
        self._settings = deployed_settings()
        self._read_at_s = clock()
        self.app, self._served = self._made()

    def __call__(self) -> T:
        """What is served by the settings in force."""
        if self._clock() - self._read_at_s >= REREAD_S:
            self._read_at_s = self._clock()
            self._reread()
        return self._served

    async def asgi(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request, if what is served is an ASGI application."""
        await self()(scope, receive, send)  # type: ignore[operator]

    def _made(self) -> tuple[App, T]:
        app = compose(Ports(self._settings, function=self._function))
        configure(self._settings.log_level)
        return app, self._make(app)

    def _reread(self) -> None:
        try:
            settings = deployed_settings(quick=True)
        except DependencyError as exc:
            logger.warning("could not read the settings document", extra={"service": exc.service})
        except ConfigurationError:
            logger.exception("the settings document is not usable, the previous settings stay in force")
        else:
            if settings != self._settings:
                self._settings = settings
                self.app, self._served = self._made()
                logger.info("changed settings are in force")
