# Each target first sets up what it needs in a fresh clone. uv is installed with pip into .tools.
SHELL := /bin/bash
UV := .tools/bin/uv
# Asked once, and not each time that it is used.
ifndef PYTHON_VERSION
PYTHON_VERSION := $(shell python3.13 -c 'print("3.13")' 2>/dev/null || python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
endif
# One environment per interpreter, so that `make test-all` does not rebuild them in turn.
export UV_PROJECT_ENVIRONMENT := .venv-$(PYTHON_VERSION)
export UV_PYTHON := $(PYTHON_VERSION)
PY := $(UV_PROJECT_ENVIRONMENT)/bin/python

# Each target has a line with `##`, which `make help` prints.
.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "%-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Alike targets are a family: `make bench NAME=otlp` makes bench/otlp. NAME= without a member, or with a wrong one, names them.
MEMBERS = $(sort $(patsubst $(1)/%,%,$(filter $(1)/%,$(shell sed -n 's|^\([a-z]*/[a-z-]*\):.*|\1|p' $(MAKEFILE_LIST)))))
# A shell may have a variable of this name.
ifneq ($(origin NAME),command line)
NAME :=
endif
family = $(if $(filter $(NAME),$(call MEMBERS,$(1))),$(MAKE) --no-print-directory $(1)/$(NAME),$(error \
  NAME='$(NAME)' is not one of: $(call MEMBERS,$(1))))

.PHONY: setup
setup: $(UV) ## Set up the environment of the project
	$(UV) sync --frozen --quiet

$(UV):
	python3 -m venv .tools
	.tools/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.5'

# With a C compiler the compiled core must build, because tests would also pass after a fallback to the pure core.
# There is a worker for each processor, up to four; an idle worker takes over tests that another has not started.
WORKERS ?= -n logical --maxprocesses 4 --dist worksteal
# The tests have two parts: at least one test of each behaviour, and the long proofs, which are marked `slow`. Plain
# pytest, and ARGS='-m ""', run both.
.PHONY: test test-slow
test test-slow: export OTEL_FASTPATH_EXTENSION ?= $(shell command -v cc >/dev/null && echo require || echo auto)
test: setup lint types ## Run linters, types and tests
	$(PY) -m pytest $(WORKERS) -m "not slow" $(ARGS)

test-slow: setup ## Run the long proofs
	$(PY) -m pytest $(WORKERS) -m slow $(ARGS)

# A slice of each slow proof that is due today, in five minutes at most: tests/today/proofs.py. Within twenty days, all of
# each of them is run. make test-today DATE=2026-12-01; make test-today ARGS=--list
.PHONY: test-today
test-today: setup ## Run today's slices of the slow proofs (five minutes)
	$(PY) tests/today/today.py $(if $(DATE),--date $(DATE)) $(ARGS)

# Each Python of .python-version that is installed; the others are named at the end.
.PHONY: test-all
test-all: $(UV) ## Run both on each supported Python that is installed
	python3 tests/interpreters/run.py $(TARGETS)

# Run the tests with the newest and the lowest releases that pyproject.toml declares, in separate environments beside
# the project's: .venv-3.13-newest, .venv-3.13-lowest. The budgets' exact counts are valid for the locked releases: if
# the environment has others, tests/tools/budget/test_ours.py skips them and names them.
# Old releases use features that newer releases of other packages deprecate; these warnings are not errors there.
WARNINGS_lowest := -W ignore::DeprecationWarning -W 'ignore:Benchmarks are automatically disabled'
.PHONY: test-releases
test-releases: export OTEL_FASTPATH_EXTENSION ?= $(shell command -v cc >/dev/null && echo require || echo auto)
test-releases: setup ## Run the tests with other releases of what we use: NAME=newest, lowest
	$(PY) tests/releases/provide.py '$(NAME)'
	$(UV_PROJECT_ENVIRONMENT)-$(NAME)/bin/python -m pytest $(WORKERS) $(WARNINGS_$(NAME)) $(ARGS)

.PHONY: soak
soak: ## Run at full scale, for ten minutes to hours: NAME=core, http
	@$(call family,soak)

# Run the core's tests at full scale: each path through a span a million times without memory growth, 8 threads x
# 100,000 spans with none lost or mixed up; forks, greenlets, tasks; and 100,000 calls with each of OpenAI's two
# clients with content captured. This takes more than an hour.
soak/core: setup
	OTEL_FASTPATH_TESTS=heavy $(PY) -m pytest tests/trace tests/genai/openai_http/test_nothing_left.py --durations=0 $(ARGS)

# 200 clients of real servers for a minute with each core: no span is lost, mixed up or left open, and the memory stays as
# it was. This takes ten minutes.
soak/http: setup
	OTEL_FASTPATH_TESTS=heavy $(PY) -m pytest tests/http/real_servers/test_load.py -s $(ARGS)

# Raise an exception at each line of this package with a call, in a forked child for each, and show what reached the
# host. This takes 15 minutes on two processors. make faults ARGS="--workload spans --core c --line trace/context/scope.py"
.PHONY: faults
faults: setup ## Raise an exception at each line with a call (15 minutes)
	$(PY) tests/faults/run.py $(ARGS)

# Interrupt a host at each line of this package and at each return of a C function that it calls, or by a signal at random
# instants: make interruptions ARGS="--signals 5000 --workload sqlite3 --core stock c py"
.PHONY: interruptions
interruptions: setup ## Raise time limits inside this package (hours)
	$(PY) tests/faults/interrupt.py $(ARGS)

# Change what each function of stock returns that programs execute (replaced before or after this package is put in place, or
# another source), and compare the telemetry without and with this package; --kind call: count its calls instead.
# make mutations ARGS="--only asgi --core c --part 3/10"
.PHONY: mutations
mutations: setup ## Change each function of OpenTelemetry: telemetry must follow (half an hour)
	$(PY) tests/mutations/run.py $(ARGS)

# Run the hot paths under valgrind's memcheck; with a debug build of Python (Debian: python3.14-dbg), count leaked
# references instead. make memcheck ARGS="--only span"; make memcheck DEBUG_PYTHON=python3.14d
.PHONY: memcheck
memcheck: setup ## Run the hot paths under valgrind, or count leaked references
	$(PY) tests/memcheck/run.py $(if $(DEBUG_PYTHON),--debug-python $(DEBUG_PYTHON)) $(ARGS)

.PHONY: free-threaded
free-threaded: ## Run on a free-threaded Python: NAME=test, stress, tsan, costs
	@$(call family,free-threaded)

# Run the tests of shared objects on a free-threaded build of CPython: python3.13t or later from the PATH, or
# FREE_THREADED_PYTHON, or else one that is built from Debian's source and kept in ~/.cache/otel-fastpath.
FREE_THREADED := tests/free_threaded tests/trace tests/metrics tests/compiled
free-threaded/test: setup
	python=$$($(PY) tests/free_threaded/provide.py) && \
	  OTEL_FASTPATH_EXTENSION=require $$python -m pytest $(WORKERS) -m "not slow" $(or $(ARGS),$(FREE_THREADED))

# Eight threads use everything at the same time for ten minutes with each core: make free-threaded NAME=stress SECONDS=60
SECONDS := 600
free-threaded/stress: setup
	python=$$($(PY) tests/free_threaded/provide.py) && \
	  OTEL_FASTPATH_STRESS_SECONDS=$(SECONDS) $$python -m pytest tests/free_threaded/test_stress.py $(ARGS)

# The tests of shared objects with CPython and the compiled core built with ThreadSanitizer: no race may be in our code. The
# first time, CPython is built, too (ten minutes of CPU). make free-threaded NAME=tsan ARGS="--seconds 600"
free-threaded/tsan: setup
	$(PY) tests/free_threaded/tsan.py $(ARGS)

# What spans and measurements cost on the free-threaded build, beside the build with the lock, and in two threads.
free-threaded/costs: setup
	python=$$($(PY) tests/free_threaded/provide.py) && $(PY) tests/free_threaded/costs.py $$python $(ARGS)

.PHONY: lint
lint: setup ## Run the linter and the formatter
	$(PY) -m ruff check
	$(PY) -m ruff format --check

.PHONY: types
types: setup ## Run the type checker
	$(PY) -m mypy

# Check the workflows. actionlint is a program in Go; without it on the PATH, Go fetches and runs it.
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
.PHONY: workflows
workflows: setup ## Check the GitHub workflows
	$(UV_PROJECT_ENVIRONMENT)/bin/zizmor --offline --no-progress .github
	$$(command -v actionlint || echo go run $(ACTIONLINT))

# The files of a release, in dist/: `make release NAME=build` makes the source distribution and the wheel of this interpreter, or
# with ARGS=--pure the pure wheel; NAME=check checks all files there; NAME=test runs the tests from the wheel that fits this
# interpreter: make release NAME=test ARGS="--pure -- -k scope"; NAME=tag checks that a tag can be released: TAG=v0.2.0. CI
# builds the other wheels with cibuildwheel.
DIST ?= dist
.PHONY: release
release: ## Build and check the files of a release: NAME=build, check, test, tag
	@$(call family,release)

release/build: setup
	$(PY) tests/releases/wheels.py build $(DIST) $(ARGS)

release/check: setup
	$(PY) tests/releases/wheels.py check $(DIST)

release/test: setup
	$(PY) tests/releases/wheels.py test $(DIST) $(ARGS)

release/tag: setup
	$(PY) tests/releases/tag.py "$(TAG)"

# Generate the pages that are made from the source: docs/patches*.md, docs/telemetry-*.md and others. `make test` checks that they are up to date.
.PHONY: docs-tables
docs-tables: setup ## Write the tables that are generated from the source
	$(PY) docs/tables.py

# The site, in build/site: build/site/index.html is its first page. A broken link is an error. Each page in a browser:
# make test-slow ARGS=tests/docs/test_site_in_browser.py
.PHONY: docs
docs: setup ## Build the site
	$(PY) -m mkdocs build --quiet --strict

# Two services, in six minutes: make demo ARGS="--only orders --runs 2 --rounds 1"
.PHONY: demo
demo: setup ## Measure two services under load: bare, with OpenTelemetry, with otel-fastpath
	$(PY) -m examples.demo $(ARGS)

.PHONY: example
example: ## Measure an example service: NAME=guard, founding-case, inventory, gevent
	@$(call family,example)

# The example service under a step of five times the load, with a limit on telemetry's CPU; writes build/guard/result.svg.
# make example NAME=guard ARGS="--limit 20% --seconds 60"
example/guard: setup
	$(PY) -m examples.guard.live $(ARGS)

# The service that spent most of its CPU on version lookups: make example NAME=founding-case ARGS="--metrics"
example/founding-case: setup
	$(PY) -m examples.founding_case $(ARGS)

# An inventory service, aiohttp and asyncpg, under three loads: CPU per request and requests per second without telemetry,
# with OpenTelemetry and with otel-fastpath. make example NAME=inventory ARGS="--rounds 5"
example/inventory: setup
	$(PY) -m examples.inventory $(ARGS)

# 1,000 users in Cassandra under gevent, one by one and in a pool, with four latencies: make example NAME=gevent ARGS="--latencies 1 5"
example/gevent: setup
	$(PY) -m examples.gevent_cassandra $(ARGS)

# What `otel-fastpath profile` says about the example services and about kinds of services, beside the truth: the same services
# without telemetry, under the same load. Half an hour for all; Celery needs redis-server. What the project's own environment
# does not have is installed beside it. make profile-truth ARGS="--service django-threads --rounds 30"
PROFILE_TRUTH := build/profile-truth/packages
.PHONY: profile-truth
profile-truth: setup ## Compare profiles with the truth on services of many kinds (half an hour)
	.tools/bin/uv pip install --quiet --python $(PY) --target $(PROFILE_TRUTH) --no-deps -r tests/tools/profile/kinds.txt
	$(PY) tests/tools/profile/truth.py $(ARGS)

# OpenTelemetry's own test suites, with and without this package: make upstream ARGS="--otel-version 1.40.0 --suite sdk --core py";
# those of opentelemetry-python-contrib's packages: make upstream ARGS="--contrib --suite redis --core c"
.PHONY: upstream
upstream: setup ## Run OpenTelemetry's own tests with and without this package
	$(PY) tests/upstream/run.py $(ARGS)

# The environment of other tracing libraries, in a separate environment.
PEERS := .cache/peers-$(PYTHON_VERSION)
.PHONY: $(PEERS)
$(PEERS): setup
	[ -x $(PEERS)/bin/python ] || $(UV) venv --quiet --python $(PYTHON_VERSION) $(PEERS)
	UV_PROJECT_ENVIRONMENT= $(UV) pip install --no-config --quiet --python $(PEERS)/bin/python -r benchmarks/peers.txt -e .

.PHONY: suite
suite: ## Run other projects' tests with them wrapped: NAME=psycopg, redis, ...
	@$(call family,suite)

# Run asyncpg's own tests that need only one server, with asyncpg wrapped: make suite NAME=asyncpg ARGS="test_pool.py"
suite/asyncpg: setup
	$(PY) tests/driver_suites/run_asyncpg.py $(ARGS)

# Run psycopg's own tests with psycopg wrapped. They are not in its source distribution: they are taken from the tag of its
# repository, or from a clone: make suite NAME=psycopg ARGS="--source ../psycopg test_cursor.py"
suite/psycopg: setup
	$(PY) tests/driver_suites/run_psycopg.py $(ARGS)

# Run SQLAlchemy's own tests of engines and dialects with it and its driver wrapped: make suite NAME=sqlalchemy ARGS="--driver psycopg"
suite/sqlalchemy: setup
	$(PY) tests/driver_suites/run_sqlalchemy.py $(ARGS)

# Run redis-py's own tests with it wrapped; needs redis-server: make suite NAME=redis ARGS="test_pipeline.py"
suite/redis: setup
	$(PY) tests/driver_suites/run_redis.py $(ARGS)

# Run the tests of Cassandra's driver that need a real Cassandra. Maven brings it (66 MB, kept in ~/.cache/otel-fastpath); it
# takes 600 MB of memory. make suite NAME=cassandra ARGS="-k page"
suite/cassandra: setup
	OTEL_FASTPATH_TESTS=cassandra $(PY) -m pytest tests/db/cassandra_driver/test_real_server.py $(ARGS)

# The same tests as for cassandra-driver, in an environment of their own, because both drivers are the package `cassandra`.
# Newer releases ask a server for columns of its own tables that Simulacron does not answer.
SCYLLA := $(UV_PROJECT_ENVIRONMENT)-scylla
suite/scylla: setup
	UV_PROJECT_ENVIRONMENT=$(SCYLLA) $(UV) sync --frozen --quiet --no-install-package cassandra-driver
	UV_PROJECT_ENVIRONMENT= $(UV) pip install --no-config --quiet --python $(SCYLLA)/bin/python scylla-driver==3.29.3
	$(SCYLLA)/bin/python -m pytest $(WORKERS) tests/db/cassandra_driver $(ARGS)

# Replay the recordings of the stock OpenAI instrumentation's own tests with it and with otel-fastpath's.
suite/openai: $(PEERS)
	$(PEERS)/bin/python tests/equivalence_openai/replay.py $(ARGS)

# The real OpenTelemetry Collector, built by its own builder (which needs Go): what arrives there equals stock's. This
# takes a quarter of an hour. make collector-test ARGS="--seconds 10 --protocol grpc"
.PHONY: collector-test
collector-test: setup ## Compare what arrives at a real Collector (a quarter of an hour)
	$(PY) tests/collector/run.py $(ARGS)

# Compare what the packages of other vendors send with otel-fastpath to what they send without it, each in an environment
# of its own with its newest releases, and measure the gain: make vendors ARGS="--only sentry".
.PHONY: vendors
vendors: export OTEL_FASTPATH_EXTENSION ?= require
vendors: setup ## Compare what vendors' packages send, and measure the gain
	$(PY) tests/vendors/run.py $(ARGS)

.PHONY: sources
sources: ## Sources of releases: NAME=core, others, statements, one, replay, try, unknown
	@$(call family,sources)

# Read every release of OpenTelemetry's core again: write the fingerprints that the guards accept, and print what each new
# release changed. A source that no patch declares is named in TARGETS. make sources NAME=core ARGS="--since 1.44.0";
# make sources NAME=core ARGS=--history writes docs/keeping-up.md.
sources/core: setup
	$(PY) tests/upstream/follow.py $(TARGETS) $(ARGS)

# The same for the patches of other instrumentations: of libraries, FastAPI and Starlette in the releases that their files
# do not name yet, else in the releases that the patches name.
sources/others: setup
	$(PY) tests/others/lookup_fingerprints.py
	$(PY) tests/others/openai_fingerprints.py
	$(PY) tests/others/library_fingerprints.py otel_fastpath/http/sources.json
	$(PY) tests/others/library_fingerprints.py otel_fastpath/db/dbapi/sources.json
	$(PY) tests/others/library_fingerprints.py otel_fastpath/others/genai_calls/sources.json
	$(PY) tests/others/library_fingerprints.py otel_fastpath/others/suppression/sources.json
	$(PY) tests/others/library_fingerprints.py otel_fastpath/messaging/celery/sources.json
	$(PY) tests/others/library_fingerprints.py otel_fastpath/genai/anthropic/sources.json
	$(PY) tests/others/library_fingerprints.py otel_fastpath/messaging/kafka_python/sources.json
	$(PY) tests/others/library_fingerprints.py otel_fastpath/messaging/aiokafka/sources.json
	$(PY) tests/others/library_fingerprints.py otel_fastpath/messaging/confluent_kafka/sources.json
	$(PY) tests/others/library_fingerprints.py otel_fastpath/messaging/pika/sources.json
	$(PY) tests/others/library_fingerprints.py otel_fastpath/messaging/aio_pika/sources.json
	$(PY) tests/others/library_fingerprints.py otel_fastpath/rpc/grpc/sources.json
	$(PY) tests/others/library_fingerprints.py otel_fastpath/cloud/botocore/sources.json
	$(PY) tests/others/library_fingerprints.py otel_fastpath/others/propagators/sources.json

# The digests of the statements of all known functions, which `otel-fastpath prove` compares with those of new releases.
sources/statements: setup
	$(PY) tests/others/known_statements.py

# What `otel-fastpath prove` would have said on the first day of the last releases.
sources/replay: setup
	$(PY) tests/upstream/replay.py $(ARGS)

# The fingerprint of a patch's target in each release: make sources NAME=one TARGETS="opentelemetry.sdk.trace:Span.end"
sources/one: setup
	$(PY) tests/upstream/fingerprints.py $(TARGETS) $(ARGS)

# Try the newest releases: prove, the mutations of what changed, stock's suites (an hour). What the sources are is recorded.
sources/try: setup
	$(PY) tests/upstream/new_release.py

# The same for all patches: write an issue about sources that no guard knows yet, which is empty if there are none.
sources/unknown: setup
	$(PY) tests/upstream/new_sources.py build/new-sources.md

# Check what hooks may cost (benchmarks/budgets.toml). `make test` checks the bytecodes and allocations of one
# scenario of each feature, `make test-slow` those of all, and the instructions of these.
COUNTS := bytecodes,calls,allocations,instructions
BUDGET := $(PY) -m otel_fastpath budget
BUDGETS := --file benchmarks/budgets.toml
.PHONY: budget
budget: NAME := check
budget: ## Check what hooks cost; NAME=calibrate, compare, accelerated, proof
	@$(call family,budget)

budget/check: setup
	$(BUDGET) check $(BUDGETS) --metrics $(COUNTS) $(ARGS)

# After an intended change, record what this version costs, in counts and in times.
budget/calibrate: setup
	$(BUDGET) calibrate $(BUDGETS) $(ARGS)

# Record the exact counts for every version of Python.
budget/calibrate-all:
	for version in 3.10 3.11 3.12 3.13 3.14; do \
	  $(MAKE) budget/calibrate PYTHON_VERSION=$$version ARGS="--metrics $(COUNTS)" || exit; done

# Run the timed gates: compare this tree with another version and with the frozen reference. make budget NAME=compare BASE=v0.1.0
BASE ?= HEAD
budget/compare: setup
	PATH="$(CURDIR)/.tools/bin:$$PATH" $(BUDGET) compare $(BUDGETS) --base $(BASE) --build --metrics regression $(ARGS)
	$(BUDGET) check $(BUDGETS) --metrics overhead $(ARGS)

# Measure what OpenLLMetry's and OpenInference's instrumentations cost with and without our patches, in separate
# environments.
ACCELERATED := openai-recent:openllmetry openinference:openinference
budget/accelerated: setup
	for each in $(ACCELERATED); do \
	  bin=$$($(PY) -c 'import sys; from examples.founding_case.environment import provide; print(provide(sys.argv[1]))' \
	    $${each%%:*}) && $$bin/python -m otel_fastpath budget $(or $(COMMAND),check) \
	    --file benchmarks/accelerated.toml --only "$${each##*:}*" || exit; done

# Verify the gates beside two busy processes: they detect an injected slowdown in 20 of 20 runs, and fail 0 of 40 runs
# without a change. This takes half an hour.
budget/proof: setup
	$(PY) tests/tools/budget/proof.py $(ARGS)

# Measure the tables of the documentation and insert them into their pages; nothing else may run meanwhile. The first time,
# environments are set up besides. make tables ARGS=--help: the parts and their minutes; make tables ARGS="spans openai"
.PHONY: tables
tables: setup ## Measure the documentation's tables and insert them (half an hour)
	$(PY) benchmarks/pages.py $(ARGS)

.PHONY: bench
bench: NAME := spans
bench: ## Measure: NAME=spans, processors, otlp, django, openai, asyncpg, ...
	@$(call family,bench)

# The tables: stock, pure and compiled core side by side.
bench/spans: setup
	$(PY) benchmarks/bench_span.py $(ARGS)

# What a span costs beside other processors, samplers and id generators.
bench/processors: setup
	mkdir -p build/bench
	$(PY) benchmarks/bench_processors.py --no-times --markdown build/bench/processors.md $(ARGS)

# Measure encoding spans to OTLP, and what exporting them costs a busy application; nothing else may run meanwhile.
bench/first-sights: setup
	$(PY) benchmarks/first_sights_table.py $(ARGS)

# Its environment has wagtail, and this package: make bench NAME=django ARGS="--only wagtail"
DJANGO := .cache/django-$(PYTHON_VERSION)
bench/django: setup
	[ -x $(DJANGO)/bin/python ] || $(UV) venv --quiet --python $(PYTHON_VERSION) $(DJANGO)
	UV_PROJECT_ENVIRONMENT= $(UV) pip install --no-config --quiet --python $(DJANGO)/bin/python -r benchmarks/django.txt -e .
	$(DJANGO)/bin/python benchmarks/django_site.py --markdown build/bench/django.md $(ARGS)

bench/otlp: setup
	$(PY) benchmarks/bench_otlp.py $(ARGS)

bench/gil: setup
	$(PY) benchmarks/bench_export_gil.py $(ARGS)

# What it costs to start a program in each way, in an environment with 20 instrumentations.
STARTUP := .cache/startup-$(PYTHON_VERSION)
bench/startup: setup
	mkdir -p build/bench
	[ -x $(STARTUP)/bin/python ] || $(UV) venv --quiet --python $(PYTHON_VERSION) $(STARTUP)
	UV_PROJECT_ENVIRONMENT= $(UV) pip install --no-config --quiet --python $(STARTUP)/bin/python -r benchmarks/startup.txt -e .
	$(STARTUP)/bin/python benchmarks/bench_startup.py --markdown build/bench/startup.md $(ARGS)

bench/peers: $(PEERS)
	$(PEERS)/bin/python benchmarks/bench_peers.py $(ARGS)

# A call of OpenAI's client: the stock instrumentation, OpenLLMetry's, OpenInference's and otel-fastpath's.
bench/openai: $(PEERS)
	$(PEERS)/bin/python benchmarks/openai_table.py $(ARGS)

# A query of asyncpg on its own PostgreSQL server or that of DATABASE_URL: bare, with the stock instrumentation and
# with otel-fastpath's.
bench/asyncpg: setup
	$(PY) benchmarks/asyncpg_table.py $(ARGS)

# A query of psycopg, and a select of SQLAlchemy on it, likewise.
bench/drivers: setup
	$(PY) benchmarks/drivers_table.py $(ARGS)
