"""Stacks by their names: what `ragdrop connect` asks AWS for, before there are any settings."""

from __future__ import annotations

from ragdrop.ports.wiring import DeployedStack


def deployed_stack(name: str) -> DeployedStack:
    """The stack *name* of the account and region that the AWS credentials lead to.

    Raises:
        ConfigurationError: There is none of that name, it is not finished, or it is not ragdrop's.
        DependencyError: AWS did not answer, or the credentials may not ask.
    """
    from ragdrop.stores.aws.deployment import read_stack

    return read_stack(name)
