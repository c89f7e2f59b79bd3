/** The import rules of the house: who may know whom. */
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
      from: { path: '^src/' },
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
      comment: 'Decisions know the vocabulary and each other: no package, no node:, no adapter.',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { pathNot: '^src/(domain|events)/|^src/errors\\.ts$' },
    },
    {
      name: 'no-role-knows-a-role',
      severity: 'error',
      from: { path: '^src/roles/([^/]+)/' },
      to: { path: '^src/roles/[^/]+/', pathNot: '^src/roles/$1/' },
    },
    {
      name: 'adapters-are-composed-by-commands',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(commands|infrastructure)/|^src/main\\.ts$' },
      to: { path: '^src/adapters/' },
    },
    {
      name: 'composition-is-imported-by-nobody',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(commands/|main\\.ts$)' },
      to: { path: '^src/(commands/|main\\.ts$)' },
    },
    {
      name: 'configuration-stays-at-the-top',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(commands/|main\\.ts$)' },
      to: { path: '^src/config\\.ts$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'read-models-never-write',
      severity: 'error',
      from: { path: '^src/projections/' },
      to: { path: '^src/(roles|infrastructure|commands)/' },
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
    only('ajv-in-one-place', ['ajv', 'ajv-formats'], '^src/schema-validation\\.ts$'),
    only('yaml-in-the-configuration', ['yaml'], '^src/config\\.ts$'),
    only('tokenizer-in-the-dialects', ['gpt-tokenizer'], '^src/providers/'),
    only('command-line-at-the-top', ['commander', 'cli-progress'], '^src/(commands/|main\\.ts$)'),
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
