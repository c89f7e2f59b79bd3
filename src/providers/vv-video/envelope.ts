import { asText, isObject, type JsonObject, parseJson } from '../../encoding/json.ts'

export interface Envelope {
  readonly code: number
  readonly message: string
  readonly requestId: string
  readonly data: unknown
}

const codeMax = 999_999_999

const codeOf = (value: unknown): number | null => {
  const code = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value
  return typeof code === 'number' && Number.isInteger(code) && code >= 0 && code <= codeMax ? code : null
}

/** Kept as text: a JavaScript number would round an id, and drop a zero of a deduction. */
const textMembers = ['final_unit_deduction', 'task_id', 'external_task_id', 'duration']
const numberInPlaceOfText = new RegExp(`"(?:${textMembers.join('|')})"\\s*:\\s*[-0-9]`)

const asWritten = (key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === 'number' && textMembers.includes(key) ? (context?.source ?? String(value)) : value

/** Undefined where the text is not JSON, or nests too deeply for the reviver. */
const parseAsWritten = (text: string): unknown => {
  try {
    return JSON.parse(text, asWritten)
  } catch {
    return undefined
  }
}

const parse = (text: string): unknown => (numberInPlaceOfText.test(text) ? parseAsWritten(text) : parseJson(text))

const envelopeOf = (body: JsonObject): Envelope | null => {
  const code = codeOf(body['code'])
  if (code === null) return null
  return { code, message: asText(body['message']), requestId: asText(body['request_id']), data: body['data'] }
}

/** Null where the body is no envelope. Numbers in place of texts are kept as they were written. */
export const readEnvelope = (text: string): Envelope | null => {
  const body = parse(text)
  return isObject(body) ? envelopeOf(body) : null
}
