"""`make release`: check the packages in a folder, describe what they need, and sign what they are.

    python -m checks.release dist [--key ~/.ssh/release]

Writes an SBOM (CycloneDX) of the functions, SHA256SUMS over all files, and with a key its signature
by ssh-keygen, which every OpenSSH verifies (docs/release.md).
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from ragdrop import __version__

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / ".local/env/release/bin"
DEPLOYED = ("layers/common/python", "functions/*")
SUMS = "SHA256SUMS"
NAMESPACE = "ragdrop-release"
LONG_LINE = re.compile(r"\\\n\s*")
TIMEOUT_S = 300


def merged(locks: Iterable[str]) -> str:
    r"""The requirements of several hashed lock files, each once.

    >>> merged(["a==1 \\\n    --hash=sha256:0\n# why\n", "a==1 \\\n    --hash=sha256:0\nb==2\n"])
    'a==1 --hash=sha256:0\nb==2\n'
    """
    lines = (line.strip() for lock in locks for line in LONG_LINE.sub("", lock).splitlines())
    return "".join(f"{line}\n" for line in sorted({line for line in lines if line and not line.startswith("#")}))


def checksums(folder: Path) -> str:
    """SHA-256 of every file of *folder* but the sums and their signature, as `sha256sum --check` reads them."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith((SUMS, ".")))
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def write_sbom(folder: Path, tools: Path) -> None:
    """Describe what the functions and their layer are deployed with, each package with its hashes, as CycloneDX."""
    locks = [path for each in DEPLOYED for path in sorted(ROOT.glob(f"{each}/requirements.txt"))]
    command: list[str | Path] = [tools / "cyclonedx-py", "requirements", "--pyproject", ROOT / "pyproject.toml"]
    command += ["--output-reproducible", "--validate", "-o", folder / f"ragdrop-{__version__}.cdx.json", "-"]
    text = merged(path.read_text("utf-8") for path in locks)
    subprocess.run(command, input=text, text=True, check=True, timeout=TIMEOUT_S)  # noqa: S603 - our own words


def sign(sums: Path, key: Path) -> Path:
    """Sign *sums* with a private key of OpenSSH; the signature's file."""
    signature = sums.with_name(f"{sums.name}.sig")
    signature.unlink(missing_ok=True)
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(sums)]
    subprocess.run(command, check=True, timeout=TIMEOUT_S)  # noqa: S603 - our own words
    return signature


def main(arguments: list[str] | None = None) -> int:
    """Check, describe and sign; 0 if all packages are well-formed."""
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--key", type=Path, help="private key of OpenSSH that signs; without one nothing is signed")
    parser.add_argument("--tools", type=Path, default=TOOLS)
    options = parser.parse_args(arguments)
    names = (f"ragdrop-{__version__}-py3-none-any.whl", f"ragdrop-{__version__}.tar.gz")
    packages = [str(options.folder / name) for name in names if (options.folder / name).exists()]
    command = [str(options.tools / "twine"), "check", "--strict", *packages]
    if len(packages) < len(names) or subprocess.run(command, check=False, timeout=TIMEOUT_S).returncode:  # noqa: S603
        sys.stderr.write(f"{options.folder} has no packages of {__version__} that may be published\n")
        return 1
    write_sbom(options.folder, options.tools)
    sums = options.folder / SUMS
    sums.write_text(checksums(options.folder), "utf-8")
    signed = sign(sums, options.key).name if options.key else "not signed: name a key with RELEASE_KEY="
    sys.stderr.write(f"{sums}, {signed}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
