"""The one Logger.  Ids, counts and codes only: no document text, prompt or key is ever logged."""

import logging

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging import utils

logger = Logger(service="ragdrop", use_rfc3339=True)


def configure(level: str) -> None:
    """Let the package's own loggers write through the Logger, as structured lines, from *level* up."""
    logger.setLevel(level)
    logging.getLogger("ragdrop").setLevel(level)
    utils.copy_config_to_registered_loggers(source_logger=logger, log_level=level, include={"ragdrop"})
