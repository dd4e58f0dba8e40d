"""The model servers of the laptop, in environments of their own, which do not install ragdrop's packages."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "layers/common/python"))
