import type { Config, ProviderConfig } from '../config.ts'
import { type Catalog, callableModels } from '../domain/routing/plan.ts'
import { UndiciClient } from '../infrastructure/http/client.ts'
import { limits } from '../limits.ts'
import { edge } from '../roles/edge/role.ts'
import { projector } from '../roles/projector/role.ts'
import { proxy } from '../roles/proxy/role.ts'
import { scheduler } from '../roles/scheduler/role.ts'
import { startSandbox } from '../sandbox/server.ts'
import type { Books } from './accounts.ts'
import { openDemo } from './demo.ts'
import { LocalCalls } from './local-calls.ts'
import { openPlatform, openTail } from './platform.ts'
import { publishUnknownPrices } from './prices.ts'
import type { Runtime } from './runtime.ts'

/** A gateway that answers at `url`. */
export interface Gateway {
  readonly url: string
  /** The demo workspace's key; null on external servers, where nothing is opened unasked. */
  readonly demoKey: string | null
  readonly sandbox: boolean
  readonly sampleModel: string
  /** Finishes requests in flight, gives allowances back, stops in reverse order. */
  stop(): Promise<void>
}

/** What was started, to be stopped in reverse order. */
class Stack {
  readonly #stops: (() => Promise<void>)[] = []

  push<T extends { stop(): Promise<void> }>(part: T): T {
    this.#stops.push(() => part.stop())
    return part
  }

  /** Stops everything; one that cannot stop keeps no other from it. Rejects with the first fault when all is done. */
  async stop(): Promise<void> {
    const faults: unknown[] = []
    for (let stop = this.#stops.pop(); stop !== undefined; stop = this.#stops.pop())
      await stop().catch((fault: unknown) => faults.push(fault))
    if (faults.length > 0) throw faults[0]
  }
}

const sandboxProviders = [
  { name: 'openai', profile: 'openai' },
  { name: 'google', profile: 'gemini' },
  { name: 'grok', profile: 'xai' },
] as const

const sandboxed = (baseUrl: string): readonly ProviderConfig[] =>
  sandboxProviders.map(({ name, profile }) => ({
    name,
    profile,
    dialect: 'openai',
    baseUrl,
    apiKey: 'sandbox',
    models: {},
  }))

const catalogOf = (config: Config, providers: readonly ProviderConfig[]): Catalog => ({
  providers: new Map(providers.map((provider) => [provider.name, provider])),
  aliases: config.aliases,
  routers: config.routers,
})

const preferredModel = 'openai/gpt-4o-mini'

/** A model for the first request: one that can be called here. */
const sampleModelOf = (catalog: Catalog, { tail }: Books, nowMs: number): string => {
  const models = callableModels(catalog, tail.ledger.prices, nowMs).map(({ model }) => model)
  return models.includes(preferredModel) ? preferredModel : (models[0] ?? preferredModel)
}

/** Starts every role in this process. Rejects, with all that was started stopped again, when one cannot start. */
export const startGateway = async (
  config: Config,
  runtime: Runtime,
  onFatal: (fault: Error) => void,
): Promise<Gateway> => {
  const stack = new Stack()
  try {
    const platform = stack.push(await openPlatform(config, runtime, { role: 'gateway', adopt: false, onFatal }))
    const { log, database } = platform
    stack.push(await projector.start({ log, store: database.projectionStore(), ...runtime, onFatal }))
    const tail = stack.push(await openTail(platform, runtime))
    tail.done.catch(onFatal)
    stack.push(await scheduler.start({ log, tail, ...runtime }))
    const books = { log, tail }
    await publishUnknownPrices(books, config.prices)
    const demoKey = config.external === null ? await openDemo(books, config.dataFolder, runtime) : null

    const sandbox = config.providers.length === 0 ? stack.push(await startSandbox(runtime)) : null
    const providers = sandbox === null ? config.providers : sandboxed(sandbox.url)
    const http = stack.push(new UndiciClient())
    const calls = new LocalCalls()
    stack.push(
      await proxy.start({
        log,
        providers: new Map(providers.map((each) => [each.name, each])),
        http,
        calls,
        ...runtime,
      }),
    )
    const catalog = catalogOf(config, providers)
    const edgeRole = stack.push(
      await edge.start({
        log,
        tail,
        dispatch: calls.dispatch,
        catalog,
        readModels: database.billing(),
        requestsPerMinute: config.requestsPerMinute,
        listen: config.listen,
        ...runtime,
      }),
    )
    const sampleModel = sampleModelOf(catalog, books, runtime.clock())
    return { url: edgeRole.url, demoKey, sandbox: sandbox !== null, sampleModel, stop: () => stack.stop() }
  } catch (fault) {
    await stack.stop()
    throw fault
  }
}

const greeting = ({ url, demoKey, sandbox, sampleModel }: Gateway): string =>
  [
    '',
    `  The gateway answers at ${url}/v1${sandbox ? '  (sandbox provider: no provider key is configured)' : ''}`,
    ...(demoKey === null
      ? []
      : [
          `  Demo key: ${demoKey}`,
          '',
          `  curl ${url}/v1/chat/completions \\`,
          `    -H 'Authorization: Bearer ${demoKey}' -H 'Content-Type: application/json' \\`,
          `    -d '{"model":"${sampleModel}","messages":[{"role":"user","content":"Hello!"}]}'`,
          '',
          `  curl ${url}/v1/dashboard/billing/usage -H 'Authorization: Bearer ${demoKey}'`,
        ]),
    '',
  ].join('\n')

/** Runs until SIGINT or SIGTERM; a second signal ends the process at once. */
export const serve = async (config: Config, runtime: Runtime): Promise<void> => {
  const { logger } = runtime
  const die = (fault: Error): never => {
    logger.error({ fault }, 'the gateway cannot go on')
    process.exit(1)
  }
  const gateway = await startGateway(config, runtime, die)
  console.log(greeting(gateway))
  await new Promise<void>((resolve) => {
    let signals = 0
    const onSignal = (): void => {
      signals += 1
      if (signals > 1) process.exit(1)
      resolve()
    }
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
  })
  logger.info({}, 'stopping: requests in flight are finished')
  setTimeout(() => process.exit(1), limits.shutdownMs).unref() // Whatever still holds the process then.
  await gateway.stop()
  logger.info({}, 'stopped')
}
