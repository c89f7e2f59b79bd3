import { readFileSync } from 'node:fs'
import { copyFile, rename, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listSecrets } from '../../../src/cli/faults.ts'
import { startGateway } from '../../../src/cli/gateway.ts'
import { readConfig } from '../../../src/config/config.ts'
import { type Certificates, makeCertificates } from '../../support/certificates.ts'
import { until } from '../../support/clients.ts'
import { prepareDataFolder } from '../../support/clusters.ts'
import { openOperator, runtime, temporaryFolder, untilKeyIsKnown } from '../../support/gateway.ts'
import { type RecordingLogger, recordingLogger } from '../../support/log-lines.ts'
import { scrape } from '../../support/metrics.ts'

const answer = JSON.stringify({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Well', refusal: null }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
})

const tlsOf = ({ server }: Certificates) => ({
  cert: readFileSync(server.certFile),
  key: readFileSync(server.keyFile),
})

/** Accepts one key, and refuses all others with their text. */
class StrictUpstream {
  key: string
  readonly served: string[] = []
  readonly #server: Server

  constructor(key: string, certificates: Certificates) {
    this.key = key
    this.#server = createServer(tlsOf(certificates), (request, response) => {
      const { authorization = '' } = request.headers
      request.resume().on('end', () => {
        const isAccepted = authorization === `Bearer ${this.key}`
        if (isAccepted) this.served.push(this.key)
        const body = isAccepted ? answer : JSON.stringify({ error: { message: `Incorrect API key: ${authorization}` } })
        response.writeHead(isAccepted ? 200 : 401, { 'content-type': 'application/json' }).end(body)
      })
    })
  }

  async listen(t: Test): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      this.#server.closeAllConnections()
      this.#server.close()
    })
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  /** Open connections are closed: the next one sees the new certificate. */
  useCertificate(certificates: Certificates): void {
    this.#server.setSecureContext(tlsOf(certificates))
    this.#server.closeAllConnections()
  }
}

const startRotated = async (t: Test) => {
  const folder = await temporaryFolder(t)
  const file = (name: string): string => join(folder, name)
  const certificates = await makeCertificates()
  t.teardown(() => certificates.remove())
  const upstreams = {
    east: new StrictUpstream('sk-east-1-0123456789', certificates),
    west: new StrictUpstream('sk-west-1-0123456789', certificates),
  }
  const deployments = await Promise.all(
    Object.entries(upstreams).map(async ([name, upstream]) => {
      await writeFile(file(`${name}.key`), `${upstream.key}\n`)
      return { name, base_url: await upstream.listen(t), api_key: `\${KEY_${name.toUpperCase()}}` }
    }),
  )
  await copyFile(certificates.caFile, file('ca.pem'))
  const sheet = { currency: 'USD', per_million_tokens: { input: '1', output: '2' }, max_output_tokens: 1_000 }
  const price = { model: 'main/m', effective_from: '2026-01-01T00:00:00Z', source: 'a test', sheet }
  await writeFile(file('prices.json'), JSON.stringify({ prices: [price] }))
  const main = { dialect: 'openai', ca_file: 'ca.pem', retries: { max: 0 }, deployments, models: { m: 'm' } }
  const content = { data_folder: file('data'), prices: 'prices.json', providers: { main }, observe: { port: 0 } }
  await writeFile(file('gateway.yaml'), JSON.stringify({ ...content, listen: { port: 0 } }))
  const env = { KEY_EAST_FILE: file('east.key'), KEY_WEST_FILE: file('west.key') }
  const config = readConfig(env, { file: file('gateway.yaml') })
  await prepareDataFolder(config.dataFolder)
  return { config, file, upstreams }
}

/** As orchestrators and careful operators do it: never a half of a file. */
const replaceFile = async (file: string, text: string): Promise<void> => {
  await writeFile(`${file}.new`, text)
  await rename(`${file}.new`, file)
}

const countOf = (logger: RecordingLogger, event: string): number =>
  logger.lines.filter((line) => line.event === event).length

t.test('a key and an authority are replaced in their files: no client notices, and nothing is restarted', async (t) => {
  const { config, file, upstreams } = await startRotated(t)
  const { east, west } = upstreams
  const logger = recordingLogger()
  let secrets = listSecrets(config)
  const setSecrets = (all: readonly string[]): void => {
    secrets = all
  }
  const gateway = await startGateway(config, { ...runtime, logger, setSecrets }, (fault) => t.fail(fault.message), {
    configReadMs: 50,
  })
  const operator = await openOperator(config)
  t.teardown(async () => {
    await operator.stop()
    await gateway.stop()
  })
  const accounts = await Promise.all(Array.from({ length: 8 }, (_, at) => operator.openAccount(`acme-${at}`, '100')))
  for (const account of accounts) await untilKeyIsKnown(gateway.url, account)

  const failures: string[] = []
  const askAll = async (): Promise<void> => {
    await Promise.all(
      accounts.map(async ({ secret }) => {
        const response = await fetch(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
          body: '{"model":"main/m","messages":[{"role":"user","content":"Hi"}]}',
        })
        if (response.status !== 200) failures.push(`${response.status} ${await response.text()}`)
        else await response.body?.cancel()
      }),
    )
  }
  const servesBy = async (upstream: StrictUpstream): Promise<void> => {
    const before = upstream.served.length
    await until(async () => {
      await askAll()
      return upstream.served.length > before
    })
  }
  await servesBy(east)
  await servesBy(west)

  east.key = 'sk-east-2-0123456789'
  await askAll()
  t.same(failures, [], 'the other deployment answers for the one that refuses the key')
  await replaceFile(file('east.key'), `${east.key}\n`)
  await servesBy(east)
  t.equal(
    east.served.at(-1),
    'sk-east-2-0123456789',
    'and the refusal of the former key keeps no call from the new one',
  )
  t.equal(countOf(logger, 'provider.keys_reloaded'), 1)
  for (const key of ['sk-east-1-0123456789', 'sk-east-2-0123456789', 'sk-west-1-0123456789'])
    t.ok(secrets.includes(key), 'former keys are removed from the log, too')

  const rejected = async () => (await scrape(gateway.observeUrl)).value('gateway_config_rejected')
  t.equal(await rejected(), 0)
  await replaceFile(file('east.key'), '')
  await until(async () => (await rejected()) === 1)
  await servesBy(east)
  t.match(logger.lines.find(({ event }) => event === 'config.rejected')?.fields, {
    fault: { message: /KEY_EAST_FILE: the file .*east\.key is empty/ },
  })
  await replaceFile(file('east.key'), 'a key\nof two lines')
  await askAll()

  east.key = 'sk-east-3-0123456789'
  await replaceFile(file('east.key'), `${east.key}\n`)
  await servesBy(east)
  t.equal(east.served.at(-1), 'sk-east-3-0123456789')
  t.equal(countOf(logger, 'config.usable'), 1)
  t.equal(await rejected(), 0)

  const others = await makeCertificates()
  t.teardown(() => others.remove())
  const authorities = readFileSync(file('ca.pem'), 'utf8') + readFileSync(others.caFile, 'utf8')
  const reloads = countOf(logger, 'provider.keys_reloaded')
  await replaceFile(file('ca.pem'), 'no certificate')
  await until(async () => (await rejected()) === 1)
  await askAll()
  await replaceFile(file('ca.pem'), authorities)
  await until(() => countOf(logger, 'provider.keys_reloaded') > reloads)
  for (const upstream of [east, west]) upstream.useCertificate(others)
  await servesBy(east)
  await servesBy(west)

  t.same(failures, [])
  t.notMatch(JSON.stringify(logger.lines), /sk-(?:east|west)-\d/, 'no key is logged')
  t.notMatch(JSON.stringify(await operator.events()), /sk-(?:east|west)-\d/, 'or recorded')
})
