import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { type Sandbox, sandboxVideoKey, startSandbox } from '../../../sandbox/server.ts'
import { UndiciClient } from '../../../src/adapters/http/client.ts'
import type { Candidate } from '../../../src/domain/routing/plan.ts'
import type { JsonObject } from '../../../src/encoding/json.ts'
import { GatewayError } from '../../../src/errors/gateway-error.ts'
import type { Event } from '../../../src/events/envelope.ts'
import type { RequestFailed, UsageRecorded } from '../../../src/events/types.ts'
import { errorStatusOf } from '../../../src/http/error-table.ts'
import type { Deployment, Profile, Provider, ProviderDialect } from '../../../src/providers/dialect/provider.ts'
import { openVideoVendor } from '../../../src/providers/vv-video/open-video-vendor.ts'
import type { VideoVendorConfig } from '../../../src/providers/vv-video/vendor.ts'
import type { AnswerPart, Dispatch, RoutedRequest } from '../../../src/roles/dispatch.ts'
import { CallsInFlight } from '../../../src/roles/proxy/calls-in-flight.ts'
import { Deployments } from '../../../src/roles/proxy/deployments.ts'
import { createForward } from '../../../src/roles/proxy/forward.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import { noObserver, type Observer } from '../../../src/runtime/observer.ts'
import { sheet } from '../../providers/openai/target.ts'
import { type LogLine, recordingLogger } from '../../support/log-lines.ts'
import { MemoryLog } from '../../support/memory-log.ts'

export interface Bench {
  readonly sandbox: Sandbox
  readonly log: MemoryLog
  readonly inFlight: CallsInFlight
  readonly dispatch: Dispatch
  readonly lines: readonly LogLine[]
}

export interface BenchOptions {
  readonly firstByteMs?: number
  readonly wholeAnswerMs?: number
  readonly closingUsageMs?: number
  /** Of every provider. */
  readonly drainMs?: number
  readonly cancelStopsBilling?: boolean
  readonly closingAckMs?: number
  readonly questionMs?: number
  readonly observer?: Observer
  /** Of every provider. */
  readonly retries?: Provider['retries']
  /** In place of the sandbox. */
  readonly baseUrl?: string
  readonly clock?: Clock
  readonly sharers?: number
  /** Of the provider `openai`. */
  readonly deployments?: readonly Deployment[]
}

export const providerKey = 'sk-sandbox-provider-key-0123456789'

const providerOf = (name: string, profile: Profile, baseUrl: string): Provider => ({
  name,
  dialect: 'openai',
  profile,
  baseUrl,
  apiKey: providerKey,
})

const vendorOf = (baseUrl: string): VideoVendorConfig => ({
  name: 'vv',
  baseUrl,
  credential: { type: 'key', apiKey: sandboxVideoKey },
  callsPerSecond: 10,
})

const speakers: readonly (readonly [name: string, ProviderDialect, Profile])[] = [
  ['openai', 'openai', 'openai'],
  ['xai', 'openai', 'xai'],
  ['gemini', 'openai', 'gemini'],
  ['anthropic', 'anthropic', 'openai'],
  ['google', 'google', 'gemini'],
]

/** A proxy on a sandbox over real HTTP, with a log in memory. */
export const startBench = async (t: Test, options: BenchOptions = {}): Promise<Bench> => {
  const sandbox = await startSandbox({ clock: Date.now, newId: randomUUID })
  const http = new UndiciClient()
  const log = new MemoryLog({ checksSchemas: true })
  const inFlight = new CallsInFlight()
  const logger = recordingLogger()
  const {
    baseUrl = sandbox.url,
    clock = Date.now,
    drainMs,
    cancelStopsBilling,
    deployments,
    retries,
    ...bounds
  } = options
  const drain = {
    ...(drainMs === undefined ? {} : { drainMs }),
    ...(cancelStopsBilling === undefined ? {} : { cancelStopsBilling }),
    ...(retries === undefined ? {} : { retries }),
  }
  const providers = new Map(
    speakers.map(([name, dialect, profile]) => [name, { ...providerOf(name, profile, baseUrl), ...drain, dialect }]),
  )
  const divided = { ...providers.get('openai')!, ...(deployments === undefined ? {} : { deployments }) }
  providers.set('openai', divided)
  const vendors = new Map([['vv', openVideoVendor({ config: vendorOf(baseUrl), http, clock: Date.now })]])
  const parts = { log, providers, vendors, http, clock, logger, inFlight, ...bounds }
  const dispatch = createForward({
    ...parts,
    deployments: new Deployments({ observer: noObserver, steadyClock: clock, ...parts }),
  })
  t.teardown(async () => {
    await http.stop()
    await sandbox.stop()
  })
  return { sandbox, log, inFlight, dispatch, lines: logger.lines }
}

/** `openai/gpt-4o-mini;status=503`: a public id with the sandbox's directives behind it. */
export const candidateOf = (id: string, level = 0): Candidate => {
  const [provider = '', upstreamModel = ''] = id.split(/\/(.*)/s)
  return { model: id.split(';')[0] ?? id, provider, upstreamModel, priceVersion: 'v1', sheet, level }
}

export const callOf = (models: string | readonly string[], call: Partial<RoutedRequest> = {}): RoutedRequest => {
  const ids = typeof models === 'string' ? [models] : models
  const stream = call.stream ?? false
  const body: JsonObject = { model: ids[0], messages: [{ role: 'user', content: 'one two three' }], ...call.body }
  return {
    requestId: randomUUID(),
    workspaceId: 'acme',
    keyId: 'key-1',
    surface: 'chat',
    stream,
    candidates: ids.map((id, level) => candidateOf(id, level)),
    chain: ids.length > 1,
    allowanceId: null,
    reserved: '1',
    outputCap: null,
    deadlineMs: Date.now() + 60_000,
    ...call,
    body: stream ? { ...body, stream: true } : body,
  }
}

export interface Heard {
  readonly head: Extract<AnswerPart, { type: 'head' }> | null
  readonly text: string
  readonly error: GatewayError | null
}

export const stay = (): AbortSignal => new AbortController().signal

/** Reads an answer to its end, or to its error. */
export const hear = async (answer: AsyncIterable<AnswerPart>): Promise<Heard> => {
  let head: Heard['head'] = null
  const bytes: Uint8Array[] = []
  const heard = (error: GatewayError | null): Heard => ({ head, text: Buffer.concat(bytes).toString(), error })
  try {
    for await (const part of answer)
      if (part.type === 'head') head = part
      else bytes.push(part.bytes)
  } catch (fault) {
    if (!(fault instanceof GatewayError)) throw fault
    return heard(Object.assign(fault, { status: errorStatusOf(fault) }))
  }
  return heard(null)
}

export const ask = (
  bench: Bench,
  models: string | readonly string[],
  call: Partial<RoutedRequest> = {},
): Promise<Heard> => hear(bench.dispatch(callOf(models, call), stay()))

/** The one closing event of the one call. */
export const onlyFact = (t: Test, { log }: Bench): Event => {
  t.equal(log.events.length, 1, 'one closing event')
  return log.events[0]!
}

export const billOf = (t: Test, bench: Bench): UsageRecorded => {
  const fact = onlyFact(t, bench)
  if (fact.type !== 'UsageRecorded') throw new Error(`${fact.type}: ${JSON.stringify(fact.data)}`)
  return fact.data
}

export const failureOf = (t: Test, bench: Bench): RequestFailed => {
  const fact = onlyFact(t, bench)
  if (fact.type !== 'RequestFailed') throw new Error(`${fact.type}: ${JSON.stringify(fact.data)}`)
  return fact.data
}

/** The same question straight to the sandbox: what the bytes should be. */
export const askSandbox = async (bench: Bench, model: string, body: JsonObject = {}): Promise<string> => {
  const response = await fetch(`${bench.sandbox.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${providerKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'one two three' }], ...body }),
  })
  return response.text()
}
