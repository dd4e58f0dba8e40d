"""`make rehearse`: the guide to deployment as a script, against the emulator, from a copy and an empty home.

It deploys by the guide, with models inside the stack, asks, moves to models behind a key, upgrades and goes back,
deletes the stack, deploys a second one whose models are a fake Bedrock's with the documents of the first, loses its
index and brings that back.  At the end each command of the guide must have run.

With AWS_ENDPOINT_URL, LOCALSTACK_HOST or EDGE_PORT it runs against the emulator that these name, in which no stack has
its names yet; its functions know no fake Bedrock, so the second stack has its models inside, too.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from localstack.build import BUILD_TIMEOUT_S, MODELS_FOR, NATIVE_MODELS
from localstack.deploy import Emulated, defaults_of, local_api_url, with_concurrency, with_first_parts
from localstack.home import REPOSITORY, SHARED, TEMPLATE, Home, Progress, read_json
from localstack.launch_options import BUCKET_URL, LaunchOptions, architecture, named_emulator, python_runtime
from localstack.launcher import Launcher, down
from localstack.processes import HOST, LaunchError, tail
from localstack.services import CREDENTIALS, INHERITED, Service, aws_environment, emulator, model_server
from tests.bedrock_server import BedrockServer, bedrock_server

GUIDE = tuple(REPOSITORY / "docs" / name for name in ("deploy.md", "deploy-choices.md"))
TOOLS = {"sam": "sam", "aws": "awscli"}  # each in its environment
STACK, SECOND, TENANT = "ragdrop-dev", "ragdrop-two", "acme"
SECRET = "ssm:/ragdrop/openai"
QUESTION = {"question": "What is the code of the pump?", "document": "team/pump.md"}
CODE = "QX-5521"
NOTE = f"# Pump\n\nThe code of the pump is {CODE}.\n"
TITAN, PROFILE = "amazon.titan-embed-text-v2:0", "eu.anthropic.claude-haiku-4-5-20251001-v1:0"
BEDROCK = {
    "ChatUrl": "bedrock:eu-west-1",
    "ChatModels": PROFILE,
    "EmbeddingUrl": "bedrock:eu-west-1",
    "EmbeddingModel": TITAN,
    "EmbeddingDimension": "256",
    "ReaderUrl": "none",
}
BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)
DEPLOY_TIMEOUT_S = 300


def commands_of(guide: str) -> list[str]:
    r"""The commands of a page's shell blocks, with those of `prod` as they are for `dev`.

    >>> commands_of("```bash\nsam build --config-env prod\nmake x ENV=prod\n```")
    ['sam build --config-env dev', 'make x ENV=dev']
    """
    lines = (line.strip() for block in BLOCK.findall(guide) for line in block.splitlines())
    return [re.sub(r"(?<=env |ENV=)prod\b", "dev", line) for line in lines if line]


class Rehearsal:
    """Runs the guide's commands in a copy of the repository, and looks at what they did.

    Args:
        place: The copy.
        emulated: The emulator in place of AWS.
        environment: What the commands run with.
        progress: Shows each step.
    """

    def __init__(self, place: Path, emulated: Emulated, environment: dict[str, str], progress: Progress) -> None:
        self.place, self.environment, self.progress = place, environment, progress
        self.ran: set[str] = set()
        self.parameters: Mapping[str, str] = {}
        self._emulated = emulated
        self._log = place.parent / "rehearsal.log"

    def run(self, command: str, *, typed: str = "", timeout_s: float = DEPLOY_TIMEOUT_S) -> str:
        """Run a command of the guide, with *typed* into it; what it said.

        Raises:
            LaunchError: It failed, or took longer.
        """
        with self.progress.step(command):
            begun = self._log.stat().st_size if self._log.exists() else 0
            with self._log.open("ab") as output:
                output.write(f"$ {command}\n".encode())
                output.flush()
                try:
                    done = subprocess.run(
                        ["bash", "-c", command],
                        cwd=self.place,
                        env=self.environment,
                        input=typed.encode(),
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        timeout=timeout_s,
                        check=False,
                    )
                except subprocess.TimeoutExpired as exc:
                    raise LaunchError(
                        f"`{command}` took longer than {timeout_s:.0f} s:\n{tail(self._log, 30)}"
                    ) from exc
            if done.returncode:
                raise LaunchError(f"`{command}` failed:\n{tail(self._log, 40)}")
        self.ran.add(command)
        return self._log.read_bytes()[begun:].decode(errors="replace")

    def build(self) -> None:
        """Build as the guide says, then what the emulator's own transform does not know (see localstack.deploy)."""
        self.run("make build ENV=dev", timeout_s=BUILD_TIMEOUT_S)

    def patch(self) -> None:
        """Give the built template what AWS would read of the parameters, and the emulator does not."""
        built = self.place / ".aws-sam/build/template.yaml"
        concurrency = defaults_of(TEMPLATE.read_text("utf-8"))["IngestConcurrency"]
        text = with_concurrency(built.read_text("utf-8"), concurrency)
        built.write_text(with_first_parts(text, self.parameters), "utf-8")

    def change(self, file: str, pattern: str, replacement: str) -> None:
        """Edit a file of the copy, as a person does between two deployments."""
        path = self.place / file
        text, count = re.subn(pattern, replacement, path.read_text("utf-8"))
        if not count:
            raise LaunchError(f"{file} has no {pattern}")
        path.write_text(text, "utf-8")

    def in_force(self, function: str, variable: str) -> str:
        """A variable of the version of *function* that callers reach."""
        client = self._emulated.client("lambda")
        names = [each["FunctionName"] for each in client.list_functions()["Functions"]]
        [name] = [each for each in names if function in each.lower()]
        configuration = client.get_function_configuration(FunctionName=name, Qualifier="live")
        return str(configuration["Environment"]["Variables"].get(variable, ""))

    def expect(self, what: str, found: object, expected: object) -> None:
        """Raises LaunchError where it is not so."""
        if found != expected:
            raise LaunchError(f"{what}: {found!r}, where {expected!r} was expected")
        self.progress.say(f"  {what}: {found}")

    def connect(self, stack: str, *options: str) -> None:
        """`ragdrop connect`; then name the API by its path, as no host name leads to an emulator's."""
        for name in ("RAGDROP_API_URL", "RAGDROP_API_KEY"):
            self.environment.pop(name, None)
        self.run(" ".join(["ragdrop connect", stack, "--tenant", TENANT, *options]))
        printed = self._emulated.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]["Outputs"]
        outputs = {each["OutputKey"]: each["OutputValue"] for each in printed}
        self.environment["RAGDROP_API_URL"] = local_api_url(self._emulated.endpoint_url, outputs)
        self.environment["RAGDROP_API_KEY"] = str(read_json(self.place / ".local/stack.json")["api_key"])

    def buckets(self) -> set[str]:
        """The names of all buckets but the one that sam keeps its packages in."""
        found = {each["Name"] for each in self._emulated.client("s3").list_buckets()["Buckets"]}
        return {name for name in found if name.startswith((STACK, SECOND))}

    def lose_index(self, stack: str) -> int:
        """Remove every segment of a stack's bucket index; how many objects that were."""
        printed = self._emulated.client("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]["Outputs"]
        [bucket] = [each["OutputValue"] for each in printed if each["OutputKey"] == "StateBucket"]
        objects = self._emulated.client("s3")
        found = objects.list_objects_v2(Bucket=bucket, Prefix="index/").get("Contents", [])
        for each in found:
            objects.delete_object(Bucket=bucket, Key=each["Key"])
        return len(found)

    def ask(self, *options: str) -> None:
        """Ask what the guide asks; the note's code must be in the answer."""
        printed = self.run(" ".join(['ragdrop ask "What is the code of the pump?" --vault team', *options]))
        self.expect("the code in the answer", CODE in printed and CODE, CODE)

    def deploy_again(self, *, options: str = "") -> None:
        """`make deploy` with what changed."""
        self.patch()
        self.run(f"make deploy ENV=dev{options}")

    def set_parameters(self, parameters: Mapping[str, str]) -> None:
        """Give the profile these, in place of those it has, and what this machine can run."""
        self.parameters = {"PythonRuntime": python_runtime(), "Architecture": architecture(), **parameters}
        given = ", ".join(json.dumps(f"{name}={value}") for name, value in {"Stage": "dev", **self.parameters}.items())
        profile = r'parameter_overrides = \[\n?\s*"Stage=dev"[^]]*\]'
        self.change("samconfig.toml", profile, f"parameter_overrides = [{given}]")


def started(place: Path, home: Home, progress: Progress, bedrock: BedrockServer) -> tuple[Rehearsal, dict[str, str]]:
    """Start emulator and models; the rehearsal, and the parameters that name models behind a key.

    The functions inherit from the emulator that is started where Bedrock answers.
    """
    home.make()
    options = LaunchOptions(None, None, BUCKET_URL, {})
    launcher = Launcher(home, options, TENANT, progress)

    def emulated(home: Home, port: int, *, bind: str) -> Service:
        service = emulator(home, port, bind=bind)
        reached = {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": bedrock.url}
        return replace(service, environment={**service.environment, **reached})

    url = named_emulator(os.environ) or f"http://{HOST}:{launcher.start('emulator', emulated).port}"
    aws = aws_environment(url)
    server = partial(model_server, name="models", options=options)
    served = f"http://{HOST}:{launcher.start('models', server).port}/v1"
    tools, empty = place.parent / "bin", place.parent / "empty-home"
    for folder in (tools, empty):
        folder.mkdir()
    for tool, name in TOOLS.items():
        (tools / tool).symlink_to(SHARED / f"env/{name}/bin/{tool}")
    environment = {
        **{name: value for name, value in os.environ.items() if name in INHERITED},
        **aws,
        "HOME": str(empty),
        "PATH": os.pathsep.join([str(place / ".venv/bin"), str(tools), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(place / "layers/common/python"), str(place / "cli")]),  # not the original's
        "SAM_CLI_TELEMETRY": "0",
        "SAM_CLI_POLL_DELAY": "0.5",
        "NO_PROXY": "127.0.0.1,localhost",
        "OPENAI_API_KEY": "a-key-of-the-rehearsal",
        MODELS_FOR: NATIVE_MODELS,  # the emulator runs functions with this machine's interpreter
    }
    behind_a_key = {"EmbeddingApiKey": SECRET, "ChatApiKey": SECRET, "EmbeddingUrl": served, "ChatUrl": served}
    return Rehearsal(place, Emulated(aws["AWS_ENDPOINT_URL"], aws), environment, progress), behind_a_key


def rehearse(rehearsal: Rehearsal, behind_a_key: Mapping[str, str], bedrock: BedrockServer | None) -> None:
    """The whole guide, in its order.

    Args:
        rehearsal: What runs it.
        behind_a_key: Parameters that name models behind a key, the same as those of the stack's own function.
        bedrock: What answers for Amazon Bedrock; None where the functions do not reach it.

    Raises:
        LaunchError: A step failed, or did not do what the guide says.
    """
    run, place = rehearsal.run, rehearsal.place
    rehearsal.set_parameters({})
    rehearsal.build()
    rehearsal.deploy_again()
    rehearsal.connect(STACK)
    inside = f"lambda:{STACK}-models:live"
    rehearsal.expect("the models that answer", rehearsal.in_force("query", "EMBEDDING_URL"), inside)
    run("ragdrop doctor")
    (place / "notes").mkdir()
    (place / "notes/pump.md").write_text(NOTE, "utf-8")
    (place / "questions.jsonl").write_text(json.dumps(QUESTION) + "\n", "utf-8")
    run("ragdrop push notes --vault team --wait")
    rehearsal.ask()
    rehearsal.ask("--no-stream")
    run(f"ragdrop key create {TENANT} --role reader --vault team")

    run("ragdrop eval questions.jsonl --save before.json")
    run('aws ssm put-parameter --name /ragdrop/openai --type SecureString --value "$OPENAI_API_KEY"')
    rehearsal.set_parameters(behind_a_key)
    rehearsal.deploy_again(options=f" TENANT={TENANT}")
    rehearsal.expect(
        "the changed models are in force", rehearsal.in_force("query", "CHAT_URL"), behind_a_key["ChatUrl"]
    )

    rehearsal.change("functions/query/app.py", r"\Z", "# the next release\n")
    rehearsal.build()
    rehearsal.deploy_again()
    run("ragdrop doctor")
    run("ragdrop eval questions.jsonl --compare before.json --gate 0.8")

    rehearsal.change("functions/query/app.py", r"# the next release\n\Z", "")
    rehearsal.set_parameters({})
    rehearsal.build()
    rehearsal.deploy_again()
    rehearsal.expect("the models of before are in force", rehearsal.in_force("query", "CHAT_URL"), inside)
    rehearsal.ask()

    buckets = rehearsal.buckets()
    run(f"aws cloudformation delete-stack --stack-name {STACK}")
    run(f"aws cloudformation wait stack-delete-complete --stack-name {STACK}")
    rehearsal.expect("buckets that stayed", len(buckets & rehearsal.buckets()), len(buckets))
    rehearsal.change("samconfig.toml", rf'stack_name = "{STACK}"', f'stack_name = "{SECOND}"')
    rehearsal.set_parameters(BEDROCK if bedrock else {})
    rehearsal.deploy_again()
    rehearsal.connect(SECOND, "--replace")
    [old] = [each for each in buckets if each.startswith(f"{STACK}-documents")]
    [new] = [each for each in rehearsal.buckets() if each.startswith(f"{SECOND}-documents")]
    rehearsal.environment |= {"OLD_BUCKET": old, "NEW_BUCKET": new}
    run('aws s3 sync "s3://$OLD_BUCKET" "s3://$NEW_BUCKET"')
    run("ragdrop sweep")
    rehearsal.ask()
    rehearsal.ask("--no-stream")
    if bedrock:
        called = {unquote(path).rpartition("/")[2] for path, _, _ in bedrock.requests}
        rehearsal.expect("calls of Bedrock", called, {"invoke", "converse", "converse-stream"})
        rehearsal.expect("calls of Bedrock with a wrong signature", bedrock.refused, 0)

    if not rehearsal.lose_index(SECOND):
        raise LaunchError("the state bucket of the second stack holds no segment")
    run("ragdrop reindex --outdated")
    rehearsal.ask()


def not_run(guide: str, ran: set[str]) -> list[str]:
    r"""Commands of the guide that the rehearsal did not run; a copy of this state has nothing to pull.

    >>> not_run("```bash\nragdrop doctor\ngit pull\nragdrop x\n```", {"ragdrop doctor"})
    ['ragdrop x']
    """
    return [each for each in commands_of(guide) if each not in ran | {"git pull"}]


@contextlib.contextmanager
def copied() -> Iterator[Path]:
    """A copy of the repository's files in a folder that goes again, with the environments of the repository."""
    with tempfile.TemporaryDirectory(prefix="ragdrop-rehearsal-", ignore_cleanup_errors=True) as folder:
        place = Path(folder) / "ragdrop"
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        names = subprocess.run(listed, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
        for name in filter(None, names.split("\0")):
            if (REPOSITORY / name).is_file():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(REPOSITORY / name, place / name)
        (place / ".local").mkdir()
        (place / ".local/env").symlink_to(SHARED / "env")
        (place / ".venv").symlink_to(REPOSITORY / ".venv")
        yield place


def main() -> int:
    """Rehearse; 0 where every step did what the guide says."""
    progress = Progress()
    begun = time.monotonic()
    try:
        with copied() as place, contextlib.ExitStack() as cleanup, progress.shown():
            bedrock = cleanup.enter_context(bedrock_server(CREDENTIALS["AWS_SECRET_ACCESS_KEY"]))
            bedrock.said = f"The code of the pump is {CODE}. [1]"
            home = Home(place.parent / "stacks", "rehearsal")
            cleanup.callback(down, home, Progress(quiet=True))
            rehearsal, behind_a_key = started(place, home, progress, bedrock)
            rehearse(rehearsal, behind_a_key, None if named_emulator(os.environ) else bedrock)
            missing = not_run("\n".join(page.read_text("utf-8") for page in GUIDE), rehearsal.ran)
    except LaunchError as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    for command in missing:
        sys.stderr.write(f"the guide has a command that was not rehearsed: {command}\n")
    progress.say(f"Rehearsed {len(rehearsal.ran)} commands in {(time.monotonic() - begun) / 60:.1f} minutes.")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
