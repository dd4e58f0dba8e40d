"""Resolves functions' variables as `sam local invoke` does: a program for SAM's environment, which alone has the class.

Prints, by function, the variables that its container gets, and the folders of its code and layers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider

template = Path(sys.argv[1])
overrides = json.loads(Path(sys.argv[2]).read_text("utf-8")) if len(sys.argv) > 2 else {}
stacks, _ = SamLocalStackProvider.get_stacks(str(template))
provider = SamFunctionProvider(stacks)
runner = LocalLambdaRunner(None, provider, str(template.parent), str(template.parent), env_vars_values=overrides)
found = {}
for function in provider.get_all():
    config = runner.get_invoke_config(function)
    found[function.function_id] = {
        "variables": config.env_vars.resolve(),
        "code": config.code_abs_path,
        "layers": [layer.codeuri for layer in config.layers],
    }
print(json.dumps(found))
