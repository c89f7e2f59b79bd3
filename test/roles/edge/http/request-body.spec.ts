import t from 'tap'
import type { UsageBounds } from '../../../../src/domain/pricing/worst-case.ts'
import { checkJsonBody } from '../../../../src/roles/edge/http/request-body.ts'
import { readChatRequest } from '../../../../src/roles/edge/surfaces/chat/handler.ts'
import { boundChatUsage as chatDemand } from '../../../../src/roles/edge/surfaces/chat/usage-bounds.ts'
import { readMessagesRequest } from '../../../../src/roles/edge/surfaces/messages/handler.ts'
import { boundMessagesUsage as messagesDemand } from '../../../../src/roles/edge/surfaces/messages/usage-bounds.ts'
import { readResponsesRequest } from '../../../../src/roles/edge/surfaces/responses/handler.ts'
import { boundResponsesUsage as responsesDemand } from '../../../../src/roles/edge/surfaces/responses/usage-bounds.ts'
import { sharedLimits } from '../../../../src/runtime/limits.ts'
import { cpuMsOf } from '../../../support/cpu-time.ts'
import { type WorstBodies, worstChats, worstMessages, worstResponses } from '../../../support/worst-bodies.ts'

/** As many as there may be, with those around them. */
const members = sharedLimits.jsonMembersMax - 500
/** Of the time that it takes to parse and write the same JSON. */
const timesMax = 6
/** What is quick by itself may take more times as long, such as the decoding of 19 MB of spaces. */
const msMax = 150

const spaces = `{"model":"openai/plain","messages":[{"role":"user","content":"hi"}]${' '.repeat(19_000_000)}}`

interface Reading {
  readonly bodies: WorstBodies
  readonly read: (value: unknown, bytes: number) => UsageBounds
}

const surfaces: Readonly<Record<string, Reading>> = {
  chat: {
    bodies: { ...worstChats(members), spaces },
    read: (value, bytes) => chatDemand(readChatRequest(value), bytes),
  },
  messages: {
    bodies: worstMessages(members),
    read: (value, bytes) => messagesDemand(readMessagesRequest(value), bytes),
  },
  responses: {
    bodies: worstResponses(members),
    read: (value, bytes) => responsesDemand(readResponsesRequest(value), bytes, true),
  },
}

t.test('the names of members have a bound in characters', (t) => {
  const named = (characters: number): Buffer =>
    Buffer.from(`{${Array.from({ length: 1_000 }, (_, place) => `"${String(place).padEnd(characters, 'k')}":1`)}}`)
  t.doesNotThrow(checkJsonBody(named(1_900)))
  t.throws(() => checkJsonBody(named(2_001)), { code: 'request_too_large' })
  const one = (characters: number): Buffer => Buffer.from(JSON.stringify({ ['k'.repeat(characters)]: 1 }))
  t.doesNotThrow(checkJsonBody(one(sharedLimits.jsonOneNameCharactersMax)))
  t.throws(() => checkJsonBody(one(sharedLimits.jsonOneNameCharactersMax + 1)), { code: 'request_too_large' })
  t.end()
})

t.test('different names of members have a bound', (t) => {
  const named = (names: number): Buffer => Buffer.from(`[${Array.from({ length: names }, (_, at) => `{"k${at}":1}`)}]`)
  t.doesNotThrow(checkJsonBody(named(sharedLimits.jsonDifferentNamesMax)))
  t.doesNotThrow(checkJsonBody(Buffer.from(`[${Array.from({ length: 40_000 }, () => '{"k":1}')}]`)), 'of many objects')
  t.throws(() => checkJsonBody(named(sharedLimits.jsonDifferentNamesMax + 1)), { code: 'request_too_large' })
  t.end()
})

t.test('no body that is accepted takes an edge long to read', async (t) => {
  for (const [surface, { bodies, read }] of Object.entries(surfaces))
    for (const [what, text] of Object.entries(bodies)) {
      const bytes = Buffer.from(text)
      const parsedMs = cpuMsOf(() => JSON.stringify(JSON.parse(text)))
      const measure = (): number => cpuMsOf(() => read(checkJsonBody(bytes)(), bytes.length))
      const isQuick = (ms: number): boolean => ms < timesMax * parsedMs || ms < msMax
      let ms = measure()
      // What is slow is so each time; a collection falls into one, and beside other tests the caches are theirs.
      for (let again = 0; again < 2 && !isQuick(ms); again += 1) ms = Math.min(ms, measure())
      const times = ms / parsedMs
      t.ok(isQuick(ms), `${surface}, ${what}: ${ms.toFixed(0)} ms, ${times.toFixed(1)} times`)
    }
})
