import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { sheetOf, untilKeyIsKnown } from '../support/gateway.ts'
import { startGatewayApart } from '../support/gateway-apart.ts'
import { startHostileUpstreamApart } from '../support/hostile-upstream.ts'
import { type Shape, smallBodies } from './shapes.ts'
import type { LongestTurn } from './turn-watch.ts'
import { watchTurns } from './watch-turns.ts'

const providers = ['openai', 'grok', 'google', 'gemini', 'anthropic'] as const
const embedders = ['openai', 'gemini', 'google', 'grok'] as const

/** What becomes of a request. */
export type Way = 'each candidate refuses' | 'an answer without usage' | 'an idempotency key'
export const ways: readonly Way[] = ['each candidate refuses', 'an answer without usage', 'an idempotency key']

export interface Stop extends LongestTurn {
  readonly shape: Shape
  readonly way: Way
  readonly status: number
  readonly bytes: number
}

const modelsOf = ({ surface }: Shape, way: Way): readonly string[] => {
  const [names, mute] = surface === 'embeddings' ? [embedders, 'openai/mute-vectors'] : [providers, 'google/mute']
  const name = surface === 'embeddings' ? 'vectors' : 'plain'
  return way === 'an answer without usage' ? [mute] : names.map((provider) => `${provider}/${name}`)
}

const pathsOf = ({ path }: Shape, models: readonly string[]): readonly string[] =>
  path.includes('MODEL') ? models.map((model) => path.replace('MODEL', model)) : [path]

export interface StopsPlace {
  measure(shape: Shape, way: Way): Promise<Stop>
}

const vectorSheet = sheetOf({ per_million_tokens: { input: '1', output: '0' }, max_output_tokens: 0 })

export const startStopsPlace = async (t: Test): Promise<StopsPlace> => {
  const upstream = await startHostileUpstreamApart(t, new URL('upstream.ts', import.meta.url))
  const { env, readLongest } = await watchTurns(t)
  const { process: gateway, operator } = await startGatewayApart(t, {
    upstreamUrl: upstream.url,
    models: { plain: 'plain', mute: 'mute', vectors: 'vectors', 'mute-vectors': 'mute' },
    sheets: {
      ...Object.fromEntries(providers.map((provider) => [`${provider}/plain`, sheetOf()])),
      ...Object.fromEntries(embedders.map((provider) => [`${provider}/vectors`, vectorSheet])),
      'google/mute': sheetOf(),
      'openai/mute-vectors': vectorSheet,
    },
    env,
  })
  const account = await operator.openAccount('stops', '10000000')
  await untilKeyIsKnown(gateway.url, account)

  const send = async (url: string, body: string, way: Way): Promise<number> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${account.secret}`,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
        ...(way === 'an idempotency key' ? { 'idempotency-key': randomUUID() } : {}),
      },
      body,
    })
    await response.arrayBuffer()
    return response.status
  }
  // Its usage is counted: the tokenizer, which is loaded some time after the start, is there when it is answered.
  await send(`${gateway.url}/v1/chat/completions`, smallBodies['chat']!(['google/mute']), 'an answer without usage')
  const warmed = new Set<string>()
  /** What is compiled or loaded at first use is no part of what a body costs. */
  const warm = async (shape: Shape, way: Way): Promise<void> => {
    if (warmed.has(shape.surface + way)) return
    warmed.add(shape.surface + way)
    const models = modelsOf(shape, way)
    for (const path of pathsOf(shape, models)) await send(gateway.url + path, smallBodies[shape.surface]!(models), way)
  }
  return {
    measure: async (shape, way) => {
      await warm(shape, way)
      const models = modelsOf(shape, way)
      const body = shape.make(models)
      let [longest, status]: [LongestTurn, number] = [{ cpuMs: 0, ms: 0 }, 0]
      for (const path of pathsOf(shape, models)) {
        await readLongest()
        status = await send(gateway.url + path, body, way)
        const { cpuMs, ms } = await readLongest()
        longest = { cpuMs: Math.max(longest.cpuMs, cpuMs), ms: Math.max(longest.ms, ms) }
      }
      return { shape, way, status, bytes: Buffer.byteLength(body), ...longest }
    },
  }
}
