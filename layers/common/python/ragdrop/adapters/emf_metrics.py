"""Metrics as lines of the embedded metric format: CloudWatch reads them from the function's log, nothing is called.

Dimensions are stage, function and dependency, never tenant, agent or path: each value of one is a metric that is paid
for.  Every value is told by stage alone too, so that one alarm holds for all functions.
"""

from __future__ import annotations

from collections.abc import Mapping

from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from ragdrop.domain.metric_names import NAMESPACE, UNITS


class EmfMetrics:
    """Metrics of one function of one stage.

    Args:
        function: The function's short name, such as `query`.
        stage: What tells this deployment from others in the account.
    """

    def __init__(self, *, function: str, stage: str) -> None:
        self._function = function
        self._stage = stage

    def put(self, values: Mapping[str, float], *, dependency: str | None = None) -> None:
        """Print one line with all *values*."""
        # one a line: the shared one of Powertools mixes what threads put; an empty service adds no dimension
        line = AmazonCloudWatchEMFProvider(namespace=NAMESPACE, service="")
        line.add_dimension("stage", self._stage)
        line.add_dimensions(function=self._function, stage=self._stage)
        if dependency:
            line.add_dimensions(function=self._function, stage=self._stage, dependency=dependency)
        for name, value in values.items():
            line.add_metric(name, UNITS[name], value)
        line.flush_metrics(raise_on_empty_metrics=True)
