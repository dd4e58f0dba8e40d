"""`make artifact`: the build as one folder that other tools deploy, CDK and Terraform among them.

The folder has the template as CloudFormation gets it, an archive of each function and of the layer, the nested
template, and `artifact.json`, which says where each belongs.  Whoever deploys it puts a digest of the parameters in
place of RELEASE: functions are called by their versions, and CloudFormation makes a version only under a new name.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from localstack.build import BUILD_TIMEOUT_S, archive, build_for_aws, with_release
from localstack.home import BUILD, REPOSITORY, SHARED
from localstack.processes import LaunchError
from ragdrop import __version__

BUCKET = "ArtifactBucket"
RELEASE = "ReleaseOfThisStack"  # stands in the template wherever a deployment's digest of parameters belongs
KEY_CHARACTERS = 16
SAM_PYTHON = SHARED / "env/sam/bin/python"
PROGRAM = Path(__file__).with_name("sam_transform.py")
CODE = re.compile(r"^( +)(CodeUri|ContentUri): (\w+)$", re.MULTILINE)
NESTED = re.compile(r"^( +)TemplateURL: (\w+)/template\.yaml$", re.MULTILINE)
PARAMETERS = re.compile(r"^Parameters:$", re.MULTILINE)
HASH = re.compile("[0-9a-f]{10}$")
USED_AS = {
    "AWS::Lambda::Function": "Code.S3Key",
    "AWS::Lambda::LayerVersion": "Content.S3Key",
    "AWS::CloudFormation::Stack": "TemplateURL",
}


def with_artifacts(template: str, keys: Mapping[str, str]) -> str:
    r"""The built template with its code in the bucket that a parameter names, at the key of each resource.

    >>> print(with_artifacts("Parameters:\nResources:\n   CodeUri: One\n", {"One": "k.zip"}))
    Parameters:
      ArtifactBucket: {Type: String, Description: Bucket of this release's files}
    Resources:
       CodeUri: {Bucket: {Ref: ArtifactBucket}, Key: k.zip}
    <BLANKLINE>
    """
    url = f"https://${{{BUCKET}}}.s3.${{AWS::Region}}.${{AWS::URLSuffix}}"
    text = PARAMETERS.sub(
        f"Parameters:\n  {BUCKET}: {{Type: String, Description: Bucket of this release's files}}", template, count=1
    )
    text = CODE.sub(lambda found: f"{found[1]}{found[2]}: {{Bucket: {{Ref: {BUCKET}}}, Key: {keys[found[3]]}}}", text)
    return NESTED.sub(lambda found: f"{found[1]}TemplateURL: {{Fn::Sub: '{url}/{keys[found[2]]}'}}", text)


def transformed(template: str, parameters: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """*template* for each set of values, by SAM's own translator; LaunchError if it refused the template."""
    environment = {
        **os.environ,
        "AWS_DEFAULT_REGION": "us-east-1",
        "SAM_CLI_TELEMETRY": "0",
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [str(SAM_PYTHON), str(PROGRAM)],
        input=json.dumps({"template": template, "parameters": list(parameters)}),
        env=environment,
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise LaunchError(f"the template could not be transformed:\n{done.stderr[-2_000:]}")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def renewed_with_release(template: Mapping[str, Any]) -> str:
    """*template* as JSON, in which a version, or a deployment of the API, has another name with each release.

    A function that has no RELEASE keeps the names of its versions: Lambda makes no second version of the same function.
    """
    text = json.dumps(template)
    for name, resource in template["Resources"].items():
        function = resource.get("Properties", {}).get("FunctionName", {})
        of = template["Resources"].get(function.get("Ref"), {}) if isinstance(function, dict) else {}
        is_version = resource["Type"] == "AWS::Lambda::Version" and RELEASE in json.dumps(of)
        if is_version or resource["Type"] == "AWS::ApiGateway::Deployment":
            text = text.replace(f'"{name}"', f'"{HASH.sub(RELEASE, name)}"')
    return text


def make_artifact(built: Path, folder: Path) -> dict[str, Any]:
    """Write the artifact of the build *built* into *folder*, which is emptied first; return what artifact.json has.

    Raises LaunchError if there is no build, or the translator refused its template.
    """
    template = built / "template.yaml"
    if not template.exists():
        raise LaunchError(f"{built} has no build: run `make build` first")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    text = with_release(template.read_text("utf-8"), RELEASE)
    names = [found[2] for found in CODE.findall(text)]
    for name in names:
        archive(built / name)
    sources = {name: built / f"{name}.zip" for name in names}
    sources |= {found[1]: built / found[1] / "template.yaml" for found in NESTED.findall(text)}
    files = {name: _taken(source, folder, name) for name, source in sources.items()}
    [whole] = transformed(with_artifacts(text, {name: each["key"] for name, each in files.items()}), [{}])
    made = folder / "template.json"
    made.write_text(renewed_with_release(whole), "utf-8")
    for name, resource in whole["Resources"].items():
        owner = HASH.sub("", name) if resource["Type"] == "AWS::Lambda::LayerVersion" else name
        if owner in files:
            files[owner] |= {"resource": name, "property": USED_AS[resource["Type"]]}
    found = {"version": __version__, "release": RELEASE, "template": _entry(made, "template"), "files": files}
    (folder / "artifact.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return found


def _taken(source: Path, folder: Path, name: str) -> dict[str, str]:
    copy = folder / f"{name}{source.suffix}"
    shutil.copyfile(source, copy)
    return _entry(copy, name)


def _entry(path: Path, name: str) -> dict[str, str]:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"file": path.name, "key": f"ragdrop/{name}-{digest[:KEY_CHARACTERS]}{path.suffix}", "sha256": digest}


def main(arguments: list[str] | None = None) -> int:
    """Build for a profile of samconfig.toml, and write the artifact; 0 if both succeeded."""
    parser = argparse.ArgumentParser(prog="make artifact", description=__doc__)
    parser.add_argument("environment", help="an environment of samconfig.toml, such as dev")
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "dist/artifact")
    options = parser.parse_args(arguments)
    try:
        build_for_aws(options.environment, [])
        found = make_artifact(BUILD / "build", options.folder)
    except LaunchError as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    sys.stderr.write(f"{options.folder}: {len(found['files'])} files and the template of {found['version']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
