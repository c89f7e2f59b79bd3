import type { JsonObject } from '../../src/encoding/json.ts'
import { Refusal } from '../faults.ts'

/** A refusal of what stands at `path`, in Anthropic's way. */
export const refuseMessages = (path: string, problem: string): Refusal => new Refusal(`${path}: ${problem}`)

/** Throws Refusal for a member that the service does not know. */
export const assertMessagesMembers = (value: JsonObject, known: readonly string[], path: string): void => {
  const extra = Object.keys(value).find((name) => !known.includes(name))
  if (extra !== undefined)
    throw refuseMessages(path === '' ? extra : `${path}.${extra}`, 'Extra inputs are not permitted')
}
