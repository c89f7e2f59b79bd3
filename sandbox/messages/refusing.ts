import type { JsonObject } from '../../src/encoding/json.ts'
import { Refusal } from '../answers/faults.ts'

/** A refusal of the value at `path`, in Anthropic's format. */
export const refuseMessages = (path: string, problem: string): Refusal => new Refusal(`${path}: ${problem}`)

export const assertMessagesMembers = (value: JsonObject, known: readonly string[], path: string): void => {
  const extra = Object.keys(value).find((name) => !known.includes(name))
  if (extra !== undefined)
    throw refuseMessages(path === '' ? extra : `${path}.${extra}`, 'Extra inputs are not permitted')
}
