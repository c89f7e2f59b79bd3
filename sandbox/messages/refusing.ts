import type { JsonObject } from '../../src/encoding/json.ts'
import { Refusal } from '../answers/faults.ts'

/** A refusal of the value at `path`, in Anthropic's format. */
export const refuseMessages = (path: string, problem: string): Refusal => new Refusal(`${path}: ${problem}`)

/** `expected` is listed where the service lists it. */
export const refuseTag = (path: string, type: string, expected: readonly string[] = []): Refusal => {
  const listed = expected.length === 0 ? '' : `: ${expected.map((each) => `'${each}'`).join(', ')}`
  return refuseMessages(path, `Input tag '${type}' found using 'type' does not match any of the expected tags${listed}`)
}

export const assertMessagesMembers = (value: JsonObject, known: readonly string[], path: string): void => {
  const extra = Object.keys(value).find((name) => !known.includes(name))
  if (extra !== undefined)
    throw refuseMessages(path === '' ? extra : `${path}.${extra}`, 'Extra inputs are not permitted')
}
