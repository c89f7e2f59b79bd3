import type { KeyRecord } from '../../../../domain/idempotency/key.ts'
import { isObject } from '../../../../encoding/json.ts'

/** The stored form is one line of JSON, followed by the bytes of the answer. */
interface StoredKeyRecord {
  readonly record: KeyRecord
  readonly body: Uint8Array
}

const lineFeed = 0x0a
const states: ReadonlySet<unknown> = new Set<KeyRecord['state']>(['claimed', 'answered', 'unkept'])

export const encodeKeyRecord = (record: KeyRecord, body: Uint8Array = Buffer.alloc(0)): Uint8Array =>
  Buffer.concat([Buffer.from(`${JSON.stringify(record)}\n`), body])

const isRecord = (value: unknown): value is KeyRecord => isObject(value) && states.has(value['state'])

/** Null for no bytes: the key is free. Throws for bytes that no edge has written. */
export const decodeKeyRecord = (bytes: Uint8Array): StoredKeyRecord | null => {
  if (bytes.length === 0) return null
  const end = bytes.indexOf(lineFeed)
  const record: unknown = JSON.parse(Buffer.from(bytes.subarray(0, end)).toString())
  if (!isRecord(record)) throw new Error('the record of an idempotency key cannot be read')
  return { record, body: bytes.subarray(end + 1) }
}
