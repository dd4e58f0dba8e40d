"""The names of `ragdrop.ports`: each brings its own module, and no other port's."""

from __future__ import annotations

import ragdrop.ports
from tests.interpreters import printed


def test_asking_for_one_port_imports_no_module_of_another() -> None:
    code = (
        "import sys; from ragdrop.ports import VisitedCache;"
        "print(sorted(name for name in sys.modules if name.startswith('ragdrop.ports.')))"
    )

    assert printed(code).strip() == "['ragdrop.ports.shared_state']"


def test_every_name_that_is_promised_is_there() -> None:
    found = [getattr(ragdrop.ports, name).__name__ for name in ragdrop.ports.__all__]

    assert found == list(ragdrop.ports.__all__)
