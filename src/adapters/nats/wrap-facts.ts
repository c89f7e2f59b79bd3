import { getValidator, problemsText } from '../../encoding/schema-validation.ts'
import { type Event, type Fact, schemaIdOf, wrapEvent } from '../../events/envelope.ts'
import type { Clock, NewId } from '../../runtime/clock.ts'
import { natsLimits } from './limits.ts'

export interface EncodedEvents {
  readonly events: readonly Event[]
  readonly lines: readonly string[]
  readonly bytes: number
}

export interface EnvelopeContext {
  /** `/gateway/<role>/<writer>`. */
  readonly source: string
  readonly clock: Clock
  readonly newId: NewId
}

const assertValid = (fact: Fact): void => {
  const problems = getValidator(schemaIdOf(fact.type))(fact.data)
  if (problems.length > 0) throw new Error(`${fact.type} does not follow its schema: ${problemsText(problems)}`)
}

const assertFits = ({ lines, bytes }: EncodedEvents): void => {
  if (lines.length === 0) throw new Error('an append without facts')
  if (lines.length > natsLimits.frameEventsMax || bytes > natsLimits.frameBytesMax)
    throw new Error(`an append of ${lines.length} events and ${bytes} bytes does not fit into one frame`)
}

/** Throws when a fact does not follow its schema, or when they do not fit into one frame. */
export const wrapFacts = (facts: readonly Fact[], { source, clock, newId }: EnvelopeContext): EncodedEvents => {
  const time = new Date(clock()).toISOString()
  const events = facts.map((fact) => {
    assertValid(fact)
    return wrapEvent(fact, newId(), source, time)
  })
  const lines = events.map((event) => JSON.stringify(event))
  const sealed = { events, lines, bytes: lines.reduce((bytes, line) => bytes + Buffer.byteLength(line) + 1, 0) }
  assertFits(sealed)
  return sealed
}
