/** Which folder may import which. */
const only = (name, packages, folder) => ({
  name,
  severity: 'error',
  from: { path: '^src/', pathNot: folder },
  to: { path: packages.map((each) => `(^|node_modules/)${each}(/|$)`).join('|') },
})

/** Which folders of `src` each may import, beside itself. */
const foundations = ['domain', 'encoding', 'errors', 'events', 'runtime']
const importsOf = {
  encoding: [],
  errors: ['encoding'],
  runtime: ['encoding', 'errors'],
  domain: ['errors', 'events'],
  projections: foundations,
  log: foundations,
  providers: foundations,
  reconcile: foundations,
  audit: [...foundations, 'log', 'projections'],
  http: [...foundations, 'projections'],
  'read-api': [...foundations, 'audit', 'http', 'log', 'projections'],
  administration: [...foundations, 'http', 'log', 'projections', 'read-api'],
}

const importsDownwards = Object.entries(importsOf).map(([folder, imported]) => ({
  name: `${folder}-imports-downwards`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: { path: '^(src|sandbox)/', pathNot: `^src/(${[folder, ...imported].join('|')})/` },
}))

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
    ...importsDownwards,
    {
      name: 'no-role-imports-a-role',
      severity: 'error',
      from: { path: '^src/roles/([^/]+)/' },
      to: { path: '^src/roles/[^/]+/', pathNot: '^src/roles/$1/' },
    },
    {
      name: 'only-the-edge-serves-routes',
      severity: 'error',
      from: { path: '^src/roles/', pathNot: '^src/roles/edge/' },
      to: { path: '^src/(http|read-api|administration)/', pathNot: '^src/http/error-table\\.ts$' },
    },
    {
      name: 'edge-http-is-below-admission-and-surfaces',
      severity: 'error',
      from: { path: '^src/roles/edge/http/' },
      to: { path: '^src/roles/edge/', pathNot: '^src/roles/edge/http/' },
    },
    {
      name: 'edge-admission-is-below-surfaces',
      severity: 'error',
      from: { path: '^src/roles/edge/admission/' },
      to: { path: '^src/roles/edge/', pathNot: '^src/roles/edge/(http|admission)/' },
    },
    {
      name: 'edge-surfaces-know-no-server',
      comment: 'role.ts, server.ts and operations.ts compose; of http, surfaces use what reads a request.',
      severity: 'error',
      from: { path: '^src/roles/edge/surfaces/' },
      to: { path: '^src/roles/edge/([^/]+\\.ts$|http/listener)' },
    },
    {
      name: 'no-client-dialect-imports-another',
      severity: 'error',
      from: { path: '^src/roles/edge/surfaces/(chat|messages|responses|gemini|video|native-video|models)/' },
      to: {
        path: '^src/roles/edge/surfaces/(chat|messages|responses|gemini|video|native-video|models)/',
        pathNot: '^src/roles/edge/surfaces/$1/',
      },
    },
    {
      name: 'what-surfaces-share-knows-no-surface',
      severity: 'error',
      from: { path: '^src/roles/edge/surfaces/(inference|tasks)/' },
      to: { path: '^src/roles/edge/surfaces/(chat|messages|responses|gemini|video|native-video|models)/' },
    },
    {
      name: 'what-dialects-share-knows-no-dialect',
      severity: 'error',
      from: { path: '^src/providers/(dialect|canonical)/' },
      to: { path: '^src/providers/', pathNot: '^src/providers/(dialect|canonical)/' },
    },
    {
      name: 'authentication-knows-no-dialect',
      severity: 'error',
      from: { path: '^src/providers/authentication/' },
      to: { path: '^src/providers/', pathNot: '^src/providers/((dialect|authentication)/|http\\.ts$)' },
    },
    {
      name: 'reading-an-invoice-knows-no-comparison',
      severity: 'error',
      from: { path: '^src/reconcile/invoices/' },
      to: { path: '^src/reconcile/', pathNot: '^src/reconcile/invoices/' },
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
    only('koa-in-the-edge', ['koa', '@koa/(router|cors)'], '^src/(http|roles/edge)/'),
    only('nats-in-its-adapter', ['@nats-io'], '^src/adapters/nats/'),
    only(
      'postgres-in-its-adapter',
      ['pg', 'pg-cursor', 'pg-copy-streams', 'node-pg-migrate'],
      '^src/adapters/postgres/',
    ),
    only('http-client-in-its-adapter', ['undici', 'ipaddr.js'], '^src/adapters/http/'),
    only('mail-in-its-adapter', ['nodemailer'], '^src/adapters/smtp/'),
    only('tokens-in-authentication', ['@smithy/signature-v4'], '^src/providers/authentication/'),
    only('oauth-at-its-two-sides', ['oauth4webapi'], '^src/(providers/authentication|adapters/openid)/'),
    only('aws-formats-at-their-readers', ['@smithy/core'], '^src/providers/(?:authentication|bedrock)/'),
    only('metrics-in-their-adapter', ['prom-client'], '^src/adapters/prometheus/'),
    only('telemetry-in-its-adapter', ['@opentelemetry'], '^src/adapters/opentelemetry/'),
    only('ajv-in-one-place', ['ajv', 'ajv-formats'], '^src/encoding/'),
    only('yaml-in-the-configuration', ['yaml'], '^src/config/'),
    only('tokenizer-in-the-dialects', ['gpt-tokenizer'], '^src/providers/'),
    only('invoice-readers-in-reconcile', ['csv-parse', '@streamparser/json'], '^src/reconcile/invoices/'),
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
