"""Sweep: every hour compare bucket, registry and index of each tenant; every ten minutes check indexes alone."""

from __future__ import annotations

import gc

gc.disable()  # while modules are imported: they make no garbage, and the search for it takes a tenth of a cold start

from dataclasses import asdict
from typing import Any

from ragdrop.app import Reloaded
from ragdrop.domain.deadlines import Deadline
from ragdrop.observability import logger

served = Reloaded("sweep", lambda app: app.operate)  # once per execution environment
app = served.app
gc.freeze()  # what there is now stays: no later collection looks through it
gc.enable()


class SweepError(Exception):
    """A sweep failed or refused: the function fails, so that its alarm reaches an operator.  The log names it."""


@logger.inject_lambda_context
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Sweep the tenants, or check their indexes where the event asks for that alone."""
    deadline = Deadline.after(context.get_remaining_time_in_millis() / 1_000)
    operate = served()
    if event.get("check") == "index":
        if failures := operate.sweep_tenants.check_indexes(deadline):
            raise SweepError(f"the indexes of {len(failures)} tenants could not be checked")
        return {"checked": True}
    done = operate.sweep_tenants(deadline)
    if not done.sound:
        refused = sum(len(report.refused) for report in done.reports)
        raise SweepError(f"{len(done.failures)} tenants failed, {refused} vaults were refused")
    return {"tenants": [{**asdict(report), "names": None} for report in done.reports]}
