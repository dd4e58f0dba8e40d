"""``up``: start what does not run, build and deploy what changed, make the demo key, say where everything is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from localstack import opensearch, services
from localstack.build import NATIVE_MODELS, NO_MODELS, build, build_digest, is_built
from localstack.deploy import (
    Emulated,
    defaults_of,
    deploy,
    deployment_digest,
    local_api_url,
    seen_from,
    variables_for,
    write_sam_local,
    write_settings,
)
from localstack.home import BUILD, TEMPLATE, Home, Progress, exclusive, homes, read_json, write_json
from localstack.launch_options import PROCESSES, TOKENIZER_KEY, LaunchOptions, read_launch_options, stack_name_of
from localstack.processes import HOST, Process, read_process, stop
from localstack.seed import check_ingest, make_tenant_and_key, upload_tokenizer, warm_up

# Variable of the functions -> parameter of the template, for the addresses of servers that may run on this machine.
URLS = {
    "INDEX_URL": "IndexUrl",
    "EMBEDDING_URL": "EmbeddingUrl",
    "CHAT_URL": "ChatUrl",
    "OCR_URL": "OcrUrl",
    "RERANK_URL": "RerankUrl",
    "READER_URL": "ReaderUrl",
}


@dataclass
class Launcher:
    """Brings one home's stack up.  Everything that takes time and depends on nothing else runs side by side."""

    home: Home
    options: LaunchOptions
    tenant: str
    progress: Progress
    processes: dict[str, Process] = field(default_factory=dict)
    _noting: Lock = field(default_factory=Lock)

    def up(self) -> dict[str, Any]:
        """Bring the stack up; safe to repeat, quick where nothing changed. What stack.json has is returned.

        Raises LaunchError if a part did not come up; what runs stays, ``down`` stops it.
        """
        self.home.make()
        with exclusive(self.home.root / "up.lock"), self.progress.shown():
            self.processes = read_processes(self.home)
            self._note_lost_state()
            attached = self._attach()
            with ThreadPoolExecutor(max_workers=4) as pool:
                built = pool.submit(self._build)
                ready = pool.submit(self._emulator_url, attached)
                models = pool.submit(self._start_models)
                index = pool.submit(self._start_index)
            machine = self.options.models_host or (attached.host_of_this_machine if attached else HOST)
            return self._deploy(built.result(), ready.result(), models.result(), index.result(), machine=machine)

    def _attach(self) -> services.Attached | None:
        """The running emulator that the caller named, checked; None where the stack starts its own."""
        if self.options.emulator_url is None:
            return None
        secrets = any(value.startswith("ssm:") for value in self.options.passed_on.values())
        attached = services.attach(self.options.emulator_url, with_secrets=secrets)
        write_json(self.home.attached_file, asdict(attached))
        self.progress.say(f"Attached to {attached}. It was running already, so `make down` leaves it running.")
        return attached

    def _emulator_url(self, attached: services.Attached | None) -> str:
        if attached is not None:
            return attached.endpoint_url
        port, usual = self.start("emulator", services.emulator).port, services.USUAL_PORTS["emulator"]
        if self.home.is_default and port != usual and usual not in own_emulators(self.home.base):
            other = services.running_emulator(f"http://{HOST}:{usual}")
            if other is not None:
                self.progress.say(f"{other} was not started here. To use it: EDGE_PORT={usual} make up")
        return f"http://{HOST}:{port}"

    def _note_lost_state(self) -> None:
        """The emulator saves its state as it stops in order; where it did not, its buckets and tables are gone."""
        before = self.processes.get("emulator")
        if before is not None and not before.running:
            self.progress.say("The emulator was not stopped by `down`, so its state is lost: starting empty.")
            shutil.rmtree(self.home.emulator, ignore_errors=True)
            self.home.make()
            opensearch.forget(self.home.root)
            del self.processes["emulator"]

    def start(self, name: str, service_at: Callable[..., services.Service]) -> Process:
        """A server of the stack, which is started unless it runs; its port stays the same from one start to the next.

        One that would now be started in another way is stopped in order and started again.
        """
        service_at = partial(service_at, bind=self.options.bind)
        process = self.processes.get(name)
        if process is not None and process.running:
            service = service_at(self.home, process.port)
            if process.made_by == str(service):
                services.await_service(service, process, self.home)
                return process
            stop(process)
        ports = read_json(self.home.root / "ports.json")
        port = services.port_for(name, self.home, ports.get(name))
        service = service_at(self.home, port)
        with self.progress.step(f"{name} on port {port}"):
            if name == "emulator":
                services.move_queues(self.home, port)
            process = services.launch(service, self.home, port)
            with self._noting:
                self.processes[name] = process
                write_processes(self.home, self.processes)
            services.await_service(service, process, self.home)
        return process

    def _start_models(self) -> dict[str, int]:
        """Start the model servers that the caller did not name another for; stop those no longer requested."""
        requested = self.options.model_servers
        with self._noting:
            for name in self.processes.keys() - requested.keys() - {"emulator"}:
                stop(self.processes.pop(name))
            write_processes(self.home, self.processes)
        server = partial(services.model_server, options=self.options)
        return {name: self.start(name, partial(server, name=name)).port for name in requested}

    def _start_index(self) -> str:
        """The index's address.  The bucket index needs no server; one that the caller named has to answer."""
        if self.options.index_url is None:
            if (running := opensearch.find(self.home.root)) is not None:
                return running.url
            with self.progress.step("opensearch (its first start fetches it)"):
                return services.start_node(self.home)
        if self.options.index_url.startswith("http"):
            services.await_named(self.options.index_url)
        return self.options.index_url

    def _build(self) -> str:
        with exclusive(BUILD / "build.lock"):
            digest = build_digest(models=self._models)
            self._make_build(digest)
        return digest

    @property
    def _models(self) -> str:
        return NATIVE_MODELS if self.options.in_function else NO_MODELS

    def _make_build(self, digest: str) -> None:
        """Build what has this *digest*, unless it is there; call it under the lock of builds."""
        if not is_built(digest):
            with self.progress.step("sam build"):
                build(self.home, digest, self._models)

    def _deploy(
        self, built: str, endpoint_url: str, ports: Mapping[str, int], index_url: str, *, machine: str
    ) -> dict[str, Any]:
        """Deploy what changed; functions reach this machine, where the model servers run, as *machine*."""
        environment = services.aws_environment(endpoint_url)
        emulated = Emulated(endpoint_url, environment, stack_name_of(self.home))
        local = {name: f"http://{HOST}:{port}/v1" for name, port in ports.items()}
        embedding_url = self.options.embedding_url or local.get("models", "")  # empty: the stack's own function
        chat_url = self.options.chat_url or local.get("models", "")
        named = self.options.parameters(index_url=index_url, embedding_url=embedding_url, chat_url=chat_url)
        parameters = defaults_of(TEMPLATE.read_text("utf-8")) | named
        parameters |= {"OcrUrl": local["ocr"]} if "ocr" in local else {}
        parameters |= {"ReaderUrl": local["models"]} if self.options.serves_reader else {}
        here = {} if machine == HOST else {variable: parameters[name] for variable, name in URLS.items()}
        parameters |= {URLS[variable]: seen_from(machine, url) for variable, url in here.items()}
        document = self.options.document()
        digest = deployment_digest(built, parameters | {name: json.dumps(value) for name, value in document.items()})
        before = read_json(self.home.stack_file)
        outputs = emulated.outputs()
        fresh = not outputs
        if outputs and before.get("settings") != document:
            write_settings(emulated, outputs, document)  # before new versions of functions start
        if not outputs or before.get("deployed") != digest:
            with exclusive(BUILD / "build.lock"):
                self._make_build(built)  # another launcher may have built with other models since
                with self.progress.step("sam deploy"):
                    deploy(self.home, emulated, parameters, digest)
            outputs = emulated.outputs()
        if fresh:
            write_settings(emulated, outputs, document)
        configurations = emulated.configurations(outputs)
        variables = configurations["IngestFunction"]["Environment"]["Variables"]
        stack: dict[str, Any] = {
            "api_url": local_api_url(emulated.endpoint_url, outputs),
            "api_key": before.get("api_key", "") if before.get("tenant") == self.tenant else "",
            "tenant": self.tenant,
            "bucket": outputs["DocumentBucket"],
            "endpoint_url": emulated.endpoint_url,
            "index_url": index_url,
            "embedding_url": embedding_url,
            "chat_url": chat_url,
            "environment": variables | variables_for(document) | here | environment,
            "settings": document,
            "outputs": outputs,
            "pids": {name: process.pid for name, process in self.processes.items()},
            "log_dir": str(self.home.logs),
            "deployed": digest,
        }
        write_json(self.home.stack_file, stack)
        if document.get("embedding_tokenizer") == TOKENIZER_KEY:
            upload_tokenizer(self.home, emulated, outputs["StateBucket"])
        with self.progress.step("tenant, key and first calls"):
            stack["api_key"] = make_tenant_and_key(self.home, stack)
            write_json(self.home.stack_file, stack)
            warm_up(stack)
        with self.progress.step("canary documents through ingest"):
            check_ingest(self.home, stack, functions=PROCESSES)
        write_json(self.home.published_file, stack)
        write_sam_local(self.home, stack, configurations)
        return stack


def up(home: Home, environment: Mapping[str, str], *, index: str, tenant: str, progress: Progress) -> dict[str, Any]:
    """Bring *home*'s stack up as *environment* asks for; see Launcher.up."""
    return Launcher(home, read_launch_options(environment, index=index), tenant, progress).up()


def down(home: Home, progress: Progress) -> None:
    """Stop what ``up`` started in *home*, and nothing else.  Data and logs stay."""
    processes = read_processes(home)
    if attached := read_json(home.attached_file):
        progress.say(f"The emulator at {attached['endpoint_url']} was running before `up`, so it is left running.")
        home.attached_file.unlink()
    for name, process in sorted(processes.items(), key=lambda item: item[0] == "emulator"):  # the models first
        if process.running:
            with progress.step(f"stopping {name} ({process.pid})"):
                stopped = stop(process)
        else:
            progress.say(f"{name} was not running any more")
            stopped = False
        if stopped or name != "emulator":
            del processes[name]  # an emulator that was dead already stays noted: its state is lost
        write_processes(home, processes)
    if (node := opensearch.find(home.root)) is not None:
        with progress.step("stopping opensearch"):
            opensearch.stop(node)
    if not any(process.running for process in processes.values()):
        progress.say(f"Stopped. Data and logs stay in {home.root}.")


def own_emulators(base: Path) -> set[int]:
    """The ports of the emulators that ``up`` started below *base* and that run."""
    noted = [read_processes(home).get("emulator") for home in homes(base)]
    return {process.port for process in noted if process is not None and process.running}


def read_processes(home: Home) -> dict[str, Process]:
    """What was started, as noted; it need not run any more."""
    return {name: read_process(fields) for name, fields in read_json(home.root / "processes.json").items()}


def write_processes(home: Home, processes: Mapping[str, Process]) -> None:
    """Note what was started, before it is ready: ``down`` must know it."""
    write_json(home.root / "processes.json", {name: asdict(process) for name, process in processes.items()})
    ports = read_json(home.root / "ports.json") | {name: process.port for name, process in processes.items()}
    write_json(home.root / "ports.json", ports)
