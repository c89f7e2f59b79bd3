import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'
import { PrometheusMetrics } from '../../src/adapters/prometheus/metrics.ts'
import { version } from '../../src/cli/version.ts'
import { readConfig } from '../../src/config/config.ts'

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
