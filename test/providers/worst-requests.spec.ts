import t from 'tap'
import type { JsonObject } from '../../src/encoding/json.ts'
import type { Target } from '../../src/providers/dialect/dialect.ts'
import { dialects } from '../../src/providers/dialects.ts'
import { cpuMsOf } from '../support/cpu-time.ts'
import { inLongForm } from '../support/long-form.ts'
import { type WorstBodies, worstChats, worstMessages, worstResponses } from '../support/worst-bodies.ts'
import { targetOf as anthropic } from './anthropic/target.ts'
import { targetOf as google } from './google/target.ts'
import { targetOf as openai } from './openai/target.ts'

/** Enough to tell what grows faster than the body does. */
const members = 10_000
/** Of the time that it takes to parse and write the same JSON. */
const timesMax = 12

const inCloud = (dialect: keyof typeof dialects): Target => {
  const target = openai()
  return { ...target, provider: { ...target.provider, dialect } }
}

const targets: { readonly [D in keyof typeof dialects]: Target } = {
  openai: openai(),
  anthropic: anthropic(),
  google: google(),
  azure: inCloud('azure'),
  vertex: inCloud('vertex'),
  bedrock: inCloud('bedrock'),
}

/** They make the requests of others, for another address. */
const inClouds: readonly string[] = ['azure', 'vertex']

const bodies = {
  chat: worstChats(members),
  messages: worstMessages(members),
  responses: worstResponses(members),
} as const satisfies Record<string, WorstBodies>

t.test('no body that is accepted takes an upstream request long to make', async (t) => {
  for (const [surface, ofSurface] of Object.entries(bodies))
    for (const [what, text] of Object.entries(ofSurface)) {
      const parsedMs = cpuMsOf(() => JSON.stringify(JSON.parse(text)))
      const body = JSON.parse(text) as JsonObject
      for (const [name, target] of inLongForm(Object.entries(targets), ([name]) => !inClouds.includes(name))) {
        const dialect = dialects[target.provider.dialect][surface as keyof typeof bodies]
        if (dialect === undefined) continue
        const asked = { requestId: 'r', body, stream: true, outputCap: null }
        const measure = (): number => cpuMsOf(() => dialect.buildRequest(target, asked))
        let ms = measure()
        // What grows faster does so each time; a collection falls into one.
        for (let again = 0; again < 2 && ms / parsedMs >= timesMax; again += 1) ms = Math.min(ms, measure())
        const times = ms / parsedMs
        t.ok(times < timesMax, `${surface} to ${name}, ${what}: ${ms.toFixed(0)} ms, ${times.toFixed(1)} times`)
      }
    }
})
