/**
 * `make telemetry`: traces and metrics as the OpenTelemetry collector writes what it received, built from Go's module proxy.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { pickPorts } from '../../src/embedded/free-ports.ts'
import { chat, chatBody, until } from '../support/clients.ts'
import { startTestGateway } from '../support/gateway.ts'
import { telemetryTo } from '../support/otlp-receiver.ts'

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const buildMs = 1_800_000

/** In a folder that Git ignores. */
const buildCollector = (): string => {
  const folder = pathOf('../../node_modules/.cache/otelcol-v0.165.0')
  const program = join(folder, 'otelcol')
  if (existsSync(program)) return program
  mkdirSync(folder, { recursive: true })
  cpSync(pathOf('collector'), folder, { recursive: true })
  const env = { ...process.env, GOFLAGS: '-modcacherw -mod=mod' }
  const options = { cwd: folder, env, encoding: 'utf8', timeout: buildMs } as const
  const { status, error, stderr } = spawnSync('go', ['build', '-o', program, '.'], options)
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`go build ended with ${status}:\n${stderr}`)
  return program
}

const startCollector = async (t: Test, program: string) => {
  const folder = t.testdir()
  const [port = 0] = await pickPorts(1)
  const exporterOf = (signal: string) => ({ path: join(folder, `${signal}.json`), flush_interval: '100ms' })
  const pipelineOf = (signal: string) => ({ receivers: ['otlp'], exporters: [`file/${signal}`] })
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { 'file/traces': exporterOf('traces'), 'file/metrics': exporterOf('metrics') },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: pipelineOf('traces'), metrics: pipelineOf('metrics') },
    },
  }
  const file = join(folder, 'collector.yaml')
  writeFileSync(file, JSON.stringify(config))
  const child = spawn(program, ['--config', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  t.teardown(async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null) await once(child, 'exit')
  })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  await until(() => log.includes('Everything is ready') || child.exitCode !== null)
  if (child.exitCode !== null) throw new Error(`the collector ended:\n${log}`)
  const read = (signal: string): string => {
    const written = join(folder, `${signal}.json`)
    return existsSync(written) ? readFileSync(written, 'utf8') : ''
  }
  return { url: `http://127.0.0.1:${port}`, read }
}

const namesIn = (written: string, pattern: RegExp): ReadonlySet<string> =>
  new Set(Array.from(written.matchAll(pattern), ([, name]) => name!))

t.test('the OpenTelemetry collector receives the traces and metrics of requests', async (t) => {
  const collector = await startCollector(t, buildCollector())
  const { gateway, account } = await startTestGateway(t, {
    config: {
      telemetry: telemetryTo(collector.url),
    },
  })
  for (const stream of [false, true, true])
    t.equal((await chat(gateway.url, account.secret, chatBody('openai/plain', stream))).status, 200)
  await until(() => collector.read('metrics').includes('gen_ai.server.time_to_first_token'))
  await gateway.stop()
  await until(() => collector.read('traces').split('"name":"bill"').length > 3)
  const spans = namesIn(collector.read('traces'), /"name":"([^"]+)","kind"/g)
  t.comment(`spans: ${[...spans].sort().join(', ')}`)
  for (const name of ['POST /v1/chat/completions', 'admission', 'record', 'chat openai/plain', 'bill'])
    t.ok(spans.has(name), name)
  const metrics = namesIn(collector.read('metrics'), /"name":"((?:gen_ai|gateway)[\w.]+)"/g)
  t.comment(`${metrics.size} metrics`)
  for (const name of ['gen_ai.client.operation.duration', 'gen_ai.client.token.usage', 'gateway_requests_total'])
    t.ok(metrics.has(name), name)
})
