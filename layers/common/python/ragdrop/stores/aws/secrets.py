"""Read secrets by reference: a Secrets Manager ARN, `ssm:NAME`, or a literal on the laptop."""

from __future__ import annotations

import re

from ragdrop.errors import ConfigurationError

SECRET_MAX_AGE_S = 300
_SECRET_ARN = re.compile(r"arn:aws[\w-]*:secretsmanager:")


def read_secret(reference: str | None) -> str | None:
    """The secret that *reference* names; kept for five minutes.

    Raises:
        ConfigurationError: It cannot be read; names the reference, never the secret.
    """
    if not reference:
        return None
    if not (reference.startswith("ssm:") or _SECRET_ARN.match(reference)):
        return reference
    from aws_lambda_powertools.utilities import parameters

    try:
        if reference.startswith("ssm:"):
            return str(parameters.get_parameter(reference.removeprefix("ssm:"), decrypt=True, max_age=SECRET_MAX_AGE_S))
        return str(parameters.get_secret(reference, max_age=SECRET_MAX_AGE_S))
    except parameters.GetParameterError as exc:
        raise ConfigurationError(
            f"the secret {reference!r} cannot be read: check its name and the function's policy"
        ) from exc
