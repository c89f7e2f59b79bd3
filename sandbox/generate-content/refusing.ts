import type { JsonObject } from '../../src/encoding/json.ts'
import { Refusal } from '../answers/faults.ts'

/** A member of the request at fault, as Google names it: `GenerateContentRequest.contents[0].parts`. */
export const refuseGenerateContent = (place: string, problem: string): Refusal =>
  new Refusal(`* GenerateContentRequest.${place}: ${problem}\n`)

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Google reads both `systemInstruction` and `system_instruction`. */
export const memberOf = (value: JsonObject, name: string): unknown => value[name] ?? value[snake(name)]

/** Throws Refusal for a member that the service does not know; `path` is the object's, empty at the top. */
export const assertGenerateContentMembers = (value: JsonObject, known: readonly string[], path: string): void => {
  const extra = Object.keys(value).find((name) => !known.some((each) => each === name || snake(each) === name))
  if (extra === undefined) return
  const place = path === '' ? '' : ` at '${path}'`
  throw new Refusal(`Invalid JSON payload received. Unknown name "${extra}"${place}: Cannot find field.`)
}
