/** Which folder may import which. */
const only = (name, packages, folder) => ({
  name,
  severity: 'error',
  from: { path: '^src/', pathNot: folder },
  to: { path: packages.map((each) => `(^|node_modules/)${each}(/|$)`).join('|') },
})

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: { path: '^(src|sandbox)/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'events-import-nothing',
      severity: 'error',
      from: { path: '^src/events/' },
      to: { pathNot: '^src/events/' },
    },
    {
      name: 'domain-is-pure',
      comment: 'Decisions import the vocabulary and each other: no package, no node:, no adapter.',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { pathNot: '^src/(domain|events|errors)/' },
    },
    {
      name: 'foundations-import-no-role',
      severity: 'error',
      from: { path: '^src/(encoding|errors)/' },
      to: { path: '^src/', pathNot: '^src/(encoding|errors|runtime)/' },
    },
    {
      name: 'no-role-imports-a-role',
      severity: 'error',
      from: { path: '^src/roles/([^/]+)/' },
      to: { path: '^src/roles/[^/]+/', pathNot: '^src/roles/$1/' },
    },
    {
      name: 'only-the-command-line-imports-adapters',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(cli|adapters|embedded)/|^src/main\\.ts$' },
      to: { path: '^src/(adapters|embedded)/' },
    },
    {
      name: 'nothing-imports-the-command-line',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(cli/|main\\.ts$)' },
      to: { path: '^src/(cli/|main\\.ts$)' },
    },
    {
      name: 'configuration-is-passed-down',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(cli|config)/|^src/main\\.ts$' },
      to: { path: '^src/config/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'queries-never-write',
      severity: 'error',
      from: { path: '^src/projections/' },
      to: { path: '^src/(roles|adapters|cli)/' },
    },
    {
      name: 'sandbox-is-a-program-of-its-own',
      severity: 'error',
      from: { path: '^sandbox/' },
      to: { path: '^src/', pathNot: '^src/(encoding|runtime)/' },
    },
    {
      name: 'only-the-command-line-starts-the-sandbox',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli/' },
      to: { path: '^sandbox/' },
    },
    only('koa-in-the-edge', ['koa', '@koa/router'], '^src/roles/edge/'),
    only('nats-in-its-adapter', ['@nats-io'], '^src/adapters/nats/'),
    only(
      'postgres-in-its-adapter',
      ['pg', 'pg-cursor', 'pg-copy-streams', 'node-pg-migrate'],
      '^src/adapters/postgres/',
    ),
    only('http-client-in-its-adapter', ['undici', 'ipaddr.js'], '^src/adapters/http/'),
    only('metrics-in-their-adapter', ['prom-client'], '^src/adapters/prometheus/'),
    only('ajv-in-one-place', ['ajv', 'ajv-formats'], '^src/encoding/'),
    only('yaml-in-the-configuration', ['yaml'], '^src/config/'),
    only('tokenizer-in-the-dialects', ['gpt-tokenizer'], '^src/providers/'),
    only('command-line-at-the-top', ['commander', 'cli-progress'], '^src/(cli/|main\\.ts$)'),
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
}
