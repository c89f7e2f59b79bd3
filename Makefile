# npm runs under the Node that the project brings, so that engine checks do not skip the servers' packages.
NODE_VERSION := 24
NPM := npm exec --yes --package=node@$(NODE_VERSION) -- npm
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
# The tests start the program some hundred times; what V8 made of its modules is kept between the starts.
export NODE_COMPILE_CACHE := $(CURDIR)/node_modules/.cache/v8

FAULT_TESTS := $(wildcard test/flows/sigterm* test/flows/a-full-disk* test/flows/a-clock* test/flows/a-connection* \
  test/flows/an-upstream-that* test/flows/a-flood* test/flows/a-client-of* test/infrastructure/embedded/full-disk*)

.DEFAULT_GOAL := help
.PHONY: help run test check bench bench-apart bench-video bench-audit bench-guards generate chaos faults tamper reconcile-seeds openapi-seeds

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-11s %s\n", $$1, $$2 }'

node_modules/.installed: package.json package-lock.json
	$(NPM) ci
	tap build # Without its TypeScript plugin: Node runs the tests as they are.
	@touch $@

run: node_modules/.installed ## Start everything: PostgreSQL, NATS, the gateway, a demo workspace
	@exec node src/main.ts serve $(ARGS)

test: node_modules/.installed ## Run the tests on embedded servers
	tap $(ARGS)

check: node_modules/.installed ## Types, lint, format, import rules, generated files
	tsc -p .
	biome check .
	depcruise --config .dependency-cruiser.cjs src
	node schemas/generate.ts --check

bench: node_modules/.installed ## Measure against a bare relay, and assert that the ledger equals the upstream's count
	node test/bench/main.ts $(ARGS)

bench-apart: node_modules/.installed ## Measure the roles apart against one process, then slow and large answers; assert both ledgers
	node test/bench/apart/main.ts $(ARGS)

bench-video: node_modules/.installed ## Measure submits with their holds, and many open video tasks; assert the ledger against the vendor's count
	node test/bench/video/main.ts $(ARGS)

bench-audit: node_modules/.installed ## Measure verify, archive, rebuild, the ledger's queries and reconcile on a million events
	node test/bench/audit/main.ts $(ARGS)

bench-guards: node_modules/.installed ## Measure limits, metrics and idempotency keys on against off; assert the ledgers
	node test/bench/guards/main.ts $(ARGS)

chaos: node_modules/.installed ## The long forms of the kill tests
	CHAOS_ROUNDS=$${CHAOS_ROUNDS:-10} tap -t 3600 -j 1 test/flows/*kill* test/flows/*stopped* test/flows/three-edges* $(ARGS)

faults: node_modules/.installed ## The long forms of the fault tests: FAULTS_STREAMS (5000), FAULTS_EVENTS (1000000)
	FAULTS_STREAMS=$${FAULTS_STREAMS:-5000} FAULTS_EVENTS=$${FAULTS_EVENTS:-1000000} tap -t 3600 -j 1 $(FAULT_TESTS) $(ARGS)

tamper: node_modules/.installed ## The long form of the tamper test: TAMPER_RUNS (10000), TAMPER_SEED
	TAMPER_RUNS=$${TAMPER_RUNS:-10000} TAMPER_SEED=$${TAMPER_SEED:-$$(date +%s)} tap -t 3600 test/audit/tamper.test.ts $(ARGS)

reconcile-seeds: node_modules/.installed ## The long form of the reconciliation test: RECONCILE_SEEDS (1000), RECONCILE_SEED
	RECONCILE_SEEDS=$${RECONCILE_SEEDS:-1000} tap -t 3600 test/audit/reconcile.test.ts $(ARGS)

openapi-seeds: node_modules/.installed ## The long form of the OpenAPI test: OPENAPI_RUNS (1000 for each operation), OPENAPI_SEED
	OPENAPI_RUNS=$${OPENAPI_RUNS:-1000} tap -t 3600 test/flows/every-documented-operation* $(ARGS)

generate: node_modules/.installed ## Write the types of the schemas
	node schemas/generate.ts
