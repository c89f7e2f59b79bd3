import { setTimeout as pause } from 'node:timers/promises'
import type { GatewayBounds } from '../../src/cli/gateway.ts'
import { requireTables } from '../../src/cli/platform.ts'
import type { Config } from '../../src/config/config.ts'
import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import { availablePicos, balancePicos } from '../../src/domain/wallet/wallet.ts'
import type { Event, EventType } from '../../src/events/envelope.ts'
import type { PriceSheet } from '../../src/events/types.ts'
import type { StatementEntry } from '../../src/projections/statements/queries.ts'
import { sharedLimits } from '../../src/runtime/limits.ts'
import type { NatsServer } from '../adapters/nats/server.ts'
import { until } from './clients.ts'
import { type Operator, pricesOf, sheetOf, untilKeyIsKnown } from './gateway.ts'

/** Five seconds of `vv/v3` in `std` are 3 units at 0.14 USD: what a plain request holds, and what the sandbox takes. */
export const plainUsd = '0.42'

const video = {
  currency: 'USD',
  unit_price: '0.14',
  units_per_second: { std: '0.6', pro: '0.8', '4k': '3', 'std+audio': '0.9', 'pro+audio': '1.2', '4k+audio': '3' },
} as const

export const videoPrices: Config['prices']['prices'] = ['vv/v3', 'vv/v3-omni'].map((model) => ({
  model,
  effective_from: '2026-01-01T00:00:00Z',
  source: 'a test',
  video,
}))

/** Long enough for a slow machine not to lose its leases by itself. */
export const quick = {
  videoPoller: {
    queueLeaseMs: 2_000,
    queueRenewMs: 500,
    taskLeaseTickMs: 100,
    taskDoubtMs: 400,
    taskPollMs: 100,
    taskPollMaxMs: 300,
    taskRetryMs: 100,
    taskRetryMaxMs: 400,
    taskRetryAfterMaxMs: 500,
    lateVerdictWindowMs: 30_000,
    latePollMs: 100,
    latePollMaxMs: 300,
    callbackMs: 1_500,
    callbackRetryMs: 100,
  },
} as const satisfies GatewayBounds

/** What a gateway of a flow test is started with: prices for videos, a vendor that need not be waited for, short bounds. */
export const videoOptions = (sheets: Readonly<Record<string, PriceSheet>> = {}, config: Partial<Config> = {}) => ({
  bounds: quick,
  vendorCallsPerSecond: 1_000,
  config: {
    prices: { prices: [...pricesOf({ 'openai/plain': sheetOf(), ...sheets }).prices, ...videoPrices] },
    ...config,
  },
})

export type VideoSurface = 'generic' | 'native' | 'openai'

export interface AskedVideo {
  /** With the directives of the sandbox vendor. */
  readonly prompt: string
  /** What stands beside the prompt, in the native format. */
  readonly more?: Readonly<Record<string, unknown>>
  readonly surface?: VideoSurface
  /** `vv/v3` where nothing is said. */
  readonly model?: string
}

type Json = ReturnType<JSON['parse']>

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly body: Json
}

const paths: { readonly [S in VideoSurface]: string } = {
  generic: '/v1/video/generations',
  native: '/vv/v1/videos/text2video',
  openai: '/v1/videos',
}

const bodyOf = ({ prompt, more = {}, surface, model = 'vv/v3' }: AskedVideo): object =>
  surface === 'native' ? { model_name: model, prompt, ...more } : { model, prompt, metadata: more }

const answered = async (response: Response): Promise<Answered> => ({
  status: response.status,
  headers: response.headers,
  body: await response.json(),
})

export const submitVideo = async (url: string, secret: string, asked: AskedVideo): Promise<Answered> =>
  answered(
    await fetch(`${url}${paths[asked.surface ?? 'generic']}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf(asked)),
    }),
  )

const againMs = 100

/** As a client does that is told to try again: a slow machine may have recorded nothing for a while. */
export const submitAgain = async (submit: () => Promise<Answered>): Promise<Answered> => {
  for (;;) {
    const answer = await submit()
    if (answer.status !== 503) return answer
    await pause(againMs)
  }
}

/** The id of a task that must have been accepted. */
export const newVideo = async (url: string, secret: string, asked: AskedVideo): Promise<string> => {
  const { status, body } = await submitAgain(() => submitVideo(url, secret, asked))
  if (status !== 200) throw new Error(`the video was refused with ${status}: ${JSON.stringify(body)}`)
  return body.task_id
}

export const pollVideo = async (
  url: string,
  secret: string,
  taskId: string,
  surface: VideoSurface = 'generic',
): Promise<Answered> =>
  answered(await fetch(`${url}${paths[surface]}/${taskId}`, { headers: { authorization: `Bearer ${secret}` } }))

/** A workspace with money and a key that every edge knows by now. */
export const openKnownAccount = async (
  operator: Operator,
  urls: readonly string[],
  workspaceId: string,
  creditUsd: string,
): Promise<string> => {
  const { secret } = await operator.openAccount(workspaceId, creditUsd)
  for (const url of urls) await untilKeyIsKnown(url, { secret })
  return secret
}

/** How a wallet stands, in USD. */
export const walletFigures = async (operator: Operator, workspaceId: string) => {
  await operator.caughtUp()
  const wallet = operator.tail.ledger.wallets.get(workspaceId)!
  return {
    balance: formatUsd(balancePicos(wallet)),
    held: formatUsd(wallet.heldPicos),
    available: formatUsd(availablePicos(wallet)),
  }
}

/** The movements of a wallet, as the tables have them once they stand at the end of the log. */
export const statementOf = async (operator: Operator, workspaceId: string): Promise<readonly StatementEntry[]> => {
  const { database } = requireTables(operator.platform)
  await until(async () => (await database.checkpoint()) === (await operator.log.lastSequence()))
  const range = { from: null, to: null, limit: sharedLimits.pageRowsMax }
  return (await database.readModels().readStatement(workspaceId, range)).value.entries
}

/** Watches the least that was ever available to a workspace. */
export const watchAvailable = ({ tail }: Operator, workspaceId: string): (() => string) => {
  const wallet = tail.ledger.wallets.get(workspaceId)!
  let leastPicos = availablePicos(wallet)
  tail.onApplied(() => {
    const picos = availablePicos(wallet)
    if (picos < leastPicos) leastPicos = picos
  })
  return () => formatUsd(leastPicos)
}

export const usdTimes = (usd: string, count: number): string => formatUsd(parseUsd(usd) * BigInt(count))

type DataOf<Type extends EventType> = Extract<Event, { type: Type }>['data']

/** What the log holds of a type, in its order. */
export const eventsOf = async <Type extends EventType>(
  operator: Operator,
  type: Type,
): Promise<readonly DataOf<Type>[]> =>
  (await operator.events()).flatMap((event) => (event.type === type ? [event.data as DataOf<Type>] : []))

interface StreamReport {
  readonly account_details?: readonly {
    readonly stream_detail?: readonly { readonly name: string; readonly state: { readonly messages: number } }[]
  }[]
}

/** What stands in a log's work queues: items, pieces of them, callbacks. */
export const queuedItems = async ({ monitoringUrl }: NatsServer, logName: string): Promise<number | undefined> => {
  const { account_details = [] } = (await (await fetch(`${monitoringUrl}/jsz?streams=true`)).json()) as StreamReport
  const streams = account_details.flatMap(({ stream_detail = [] }) => stream_detail)
  return streams.find(({ name }) => name === `${logName}_TASKS`)?.state.messages
}
