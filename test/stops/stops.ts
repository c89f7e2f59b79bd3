import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { sheetOf, untilKeyIsKnown } from '../support/gateway.ts'
import { startGatewayApart } from '../support/gateway-apart.ts'
import { startHostileUpstreamApart } from '../support/hostile-upstream.ts'
import { type Shape, smallBodies } from './shapes.ts'
import type { LongestTurn } from './turn-watch.ts'
import { watchTurns } from './watch-turns.ts'

const providers = ['openai', 'grok', 'google', 'gemini', 'anthropic'] as const
const streamers = ['openai', 'google', 'anthropic'] as const
const embedders = ['openai', 'gemini', 'google', 'grok'] as const

/** What becomes of a request. */
export type Way = 'each candidate refuses' | 'an answer without usage' | 'an idempotency key' | 'a stream'
const wholeWays: readonly Way[] = ['each candidate refuses', 'an answer without usage', 'an idempotency key']

/** What is read again to open a stream, or repeated in it, and one text for comparison. */
const streamedShape = /tools|declarations|names|^one .* of words|^contents of words|many (?:user messages|items)/

export const waysOf = ({ surface, name }: Shape): readonly Way[] =>
  surface !== 'embeddings' && streamedShape.test(name) ? [...wholeWays, 'a stream'] : wholeWays

export interface Stop extends LongestTurn {
  readonly shape: Shape
  readonly way: Way
  readonly status: number
  readonly bytes: number
}

const modelsOf = ({ surface }: Shape, way: Way): readonly string[] => {
  const [names, mute] = surface === 'embeddings' ? [embedders, 'openai/mute-vectors'] : [providers, 'google/mute']
  const name = surface === 'embeddings' ? 'vectors' : 'plain'
  if (way === 'a stream') return streamers.map((provider) => `${provider}/streamed`)
  return way === 'an answer without usage' ? [mute] : names.map((provider) => `${provider}/${name}`)
}

interface Ask {
  readonly path: string
  readonly make: (make: Shape['make']) => string
}

/** A request for all candidates, or one for each: a stream and a path have one. */
const asksOf = (shape: Shape, way: Way): readonly Ask[] => {
  const { path } = shape
  const models = modelsOf(shape, way)
  const isStream = way === 'a stream'
  if (path.includes('MODEL')) {
    const named = isStream ? path.replace('generateContent', 'streamGenerateContent?alt=sse') : path
    return models.map((model) => ({ path: named.replace('MODEL', model), make: (make) => make([model]) }))
  }
  if (!isStream) return [{ path, make: (make) => make(models) }]
  return models.map((model) => ({ path, make: (make) => make([model]).replace('{', '{"stream":true,') }))
}

const errorBytesMax = 4_096
const isBrokenOff = (text: Buffer): boolean => text.subarray(-errorBytesMax).includes('"error":{')

export interface StopsPlace {
  measure(shape: Shape, way: Way): Promise<Stop>
}

const vectorSheet = sheetOf({ per_million_tokens: { input: '1', output: '0' }, max_output_tokens: 0 })

export const startStopsPlace = async (t: Test): Promise<StopsPlace> => {
  const upstream = await startHostileUpstreamApart(t, new URL('upstream.ts', import.meta.url))
  const { env, readLongest } = await watchTurns(t)
  const { process: gateway, operator } = await startGatewayApart(t, {
    upstreamUrl: upstream.url,
    models: { plain: 'plain', mute: 'mute', streamed: 'streamed', vectors: 'vectors', 'mute-vectors': 'mute' },
    sheets: {
      ...Object.fromEntries(providers.map((provider) => [`${provider}/plain`, sheetOf()])),
      ...Object.fromEntries(embedders.map((provider) => [`${provider}/vectors`, vectorSheet])),
      ...Object.fromEntries(streamers.map((provider) => [`${provider}/streamed`, sheetOf()])),
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
    const text = Buffer.from(await response.arrayBuffer())
    return response.ok && isBrokenOff(text) ? 0 : response.status
  }
  // Its usage is counted: the tokenizer, which is loaded some time after the start, is there when it is answered.
  await send(`${gateway.url}/v1/chat/completions`, smallBodies['chat']!(['google/mute']), 'an answer without usage')
  const warmed = new Set<string>()
  /** What is compiled or loaded at first use is no part of what a body costs. */
  const warm = async (shape: Shape, way: Way): Promise<void> => {
    if (warmed.has(shape.surface + way)) return
    warmed.add(shape.surface + way)
    for (const { path, make } of asksOf(shape, way))
      await send(gateway.url + path, make(smallBodies[shape.surface]!), way)
  }
  return {
    measure: async (shape, way) => {
      await warm(shape, way)
      const stops: Stop[] = []
      for (const { path, make } of asksOf(shape, way)) {
        const body = make(shape.make)
        await readLongest()
        const status = await send(gateway.url + path, body, way)
        stops.push({ shape, way, status, bytes: Buffer.byteLength(body), ...(await readLongest()) })
      }
      const longest = (measure: keyof LongestTurn): number => Math.max(...stops.map((stop) => stop[measure]))
      const shown = stops.find(({ status }) => status !== 200) ?? stops[0]!
      return { ...shown, cpuMs: longest('cpuMs'), ms: longest('ms') }
    },
  }
}
