import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { PrometheusMetrics } from '../../src/adapters/prometheus/metrics.ts'
import { newKeyPair } from '../../src/cli/audit-keys.ts'
import { version } from '../../src/cli/version.ts'
import { readConfig } from '../../src/config/config.ts'
import type { ProcessRole } from '../../src/roles/role.ts'
import { temporaryFolder } from '../support/gateway.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const read = (name: string): string => readFileSync(join(repository, name), 'utf8')

t.test('alerts are about metrics that there are, and each is tested', async (t) => {
  const exported = await new PrometheusMetrics().render()
  const rules = parse(read('deploy/prometheus/alerts.yml')).groups[0].rules as readonly {
    readonly alert: string
    readonly expr: string
  }[]
  const named = rules.flatMap(({ expr }) => expr.match(/gateway_\w+/g) ?? [])
  t.same(
    [...new Set(named)].filter((name) => !exported.includes(`# TYPE ${name} `)),
    [],
  )
  const tests = parse(read('deploy/prometheus/alerts.test.yml')).tests
  const fire = tests[1].alert_rule_test.map(({ alertname }: { readonly alertname: string }) => alertname)
  t.same(rules.map(({ alert }) => alert).sort(), fire.sort())
})

t.test('the image is of this version, starts by its own scripts, and takes its configuration', async (t) => {
  const { gateway } = parse(read('deploy/compose.yaml')).services
  t.equal(gateway.image, `model-gateway:${version}`)
  t.ok(existsSync(join(repository, gateway.build.dockerfile)))
  const dockerfile = read(gateway.build.dockerfile)
  for (const [, script = ''] of dockerfile.matchAll(/^RUN (deploy\/\S+)/gm)) t.ok(existsSync(join(repository, script)))
  const config = readConfig({}, { file: join(repository, 'deploy/container/gateway.yaml'), dataFolder: '/data' })
  t.match(config, { listen: { host: '0.0.0.0', port: 8787 }, observe: { host: '0.0.0.0', port: 9464 } })
  t.match(dockerfile, /:9464\/readyz/)
})

interface ComposedService {
  readonly image: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
}

t.test(
  'roles apart: each service has what its role reads and no secret besides, and each process is scraped',
  async (t) => {
    const secrets = await temporaryFolder(t)
    const { signingKey, publicKey } = newKeyPair('gateway.local/gateway')
    const script = join(repository, 'deploy/compose/secrets.sh')
    const makeSecrets = (): string =>
      execFileSync(script, [secrets, signingKey, publicKey], { stdio: 'pipe' }).toString()
    makeSecrets()
    t.throws(makeSecrets, /nothing was changed/, 'passwords are made once')
    const certificate = [
      'verify',
      '-CAfile',
      join(secrets, 'ca.pem'),
      '-verify_hostname',
      'nats-2',
      join(secrets, 'node.pem'),
    ]
    t.match(execFileSync('openssl', certificate).toString(), /OK/)
    const lines = readFileSync(join(secrets, 'environment'), 'utf8').trim().split('\n')
    const made = new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))

    const composed = parse(read('deploy/compose.roles.yaml'), { merge: true })
    const services = Object.entries(composed.services) as [string, ComposedService][]
    const filled = ({ environment = {} }: ComposedService): Record<string, string> =>
      Object.fromEntries(
        Object.entries(environment).map(([name, text]) => [
          name,
          text.replace(/\$\{(\w+)(:-)?\}/g, (_all, variable: string, optional?: string) => {
            const value = made.get(variable) ?? (optional === undefined ? undefined : '')
            t.not(value, undefined, variable)
            return value ?? ''
          }),
        ]),
      )
    const gateways = services.filter(([, { image }]) => image === `model-gateway:${version}`)
    for (const [name, service] of gateways) {
      const role = (service.command?.[2] ?? 'operator') as ProcessRole
      const env = { ...filled(service), ...(role === 'proxy' ? { OPENAI_API_KEY: 'sk-of-the-test' } : {}) }
      const config = readConfig(env, { role, file: join(repository, 'deploy/compose/gateway.yaml') })
      t.match(config, { log: { replicas: 3 }, observe: { port: 9464 }, external: { nats: { user: role } } }, name)
      t.equal(config.audit.signer !== null, role === 'scheduler')
    }
    for (const [name, { volumes = [] }] of services)
      for (const source of volumes.map((volume) => volume.split(':')[0]!)) {
        if (source.startsWith('../out/secrets/'))
          t.ok(existsSync(join(secrets, source.slice('../out/secrets/'.length))), source)
        else if (source.startsWith('./')) t.ok(existsSync(join(repository, 'deploy', source)), `${name}: ${source}`)
        else t.ok(source in composed.volumes, source)
      }
    const targets = parse(read('deploy/prometheus.yml')).scrape_configs[0].static_configs.flatMap(
      (config: { readonly targets: readonly string[] }) => config.targets,
    )
    const processes = gateways.filter(([name]) => name !== 'setup').map(([name]) => `${name}:9464`)
    t.same(processes, targets)
  },
)

t.test(
  'the chart is of this version, and each role has the variables that it reads, and no secret besides',
  async (t) => {
    t.match(parse(read('deploy/helm/Chart.yaml')), { version, appVersion: version })
    const { config, roles, workers, setup } = parse(read('deploy/helm/values.yaml'))
    const folder = await temporaryFolder(t)
    const { signingKey, publicKey } = newKeyPair('gateway.local/gateway')
    const contents: Readonly<Record<string, string>> = {
      DATABASE_URL: 'postgres://gateway@postgres/gateway',
      GATEWAY_SIGNING_KEY: signingKey,
      GATEWAY_PUBLIC_KEY: publicKey,
    }
    const file = join(folder, 'gateway.yaml')
    writeFileSync(file, stringify(config))
    const check = (role: ProcessRole, user: string, variables: readonly string[]): void => {
      const env: Record<string, string> = { GATEWAY_NATS_USER: user }
      for (const name of variables) {
        env[`${name}_FILE`] = join(folder, name)
        writeFileSync(join(folder, name), contents[name] ?? `${name}-of-at-least-32-characters`)
      }
      const read = readConfig(env, { role, file })
      t.match(read, { log: { replicas: 3 }, observe: { port: 9464 }, external: { nats: { user } } }, role)
      t.equal(read.audit.signer !== null, variables.includes('GATEWAY_SIGNING_KEY'))
    }
    for (const [role, { variables }] of Object.entries<{ variables: string[] }>(roles))
      check(role as ProcessRole, role, variables)
    check('gateway', workers.natsUser, workers.variables)
    check('operator', 'operator', setup.variables)
    t.same(
      Object.entries<{ variables: string[] }>(roles)
        .filter(([, { variables }]) => variables.includes('GATEWAY_SIGNING_KEY'))
        .map(([role]) => role),
      ['scheduler'],
    )
  },
)
