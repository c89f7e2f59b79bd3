import { asArray, asObject, isObject, parseJson } from '../encoding/json.ts'
import type { TaskResult } from '../events/types.ts'
import type { JsonRecord } from './dispatch.ts'

/** The answer to a `get_video_task`: the task's results as the vendor signs them now. */
interface TaskResults {
  readonly results: readonly TaskResult[]
}

export const encodeResults = (results: readonly TaskResult[]): Uint8Array => {
  const stored: TaskResults = { results }
  return Buffer.from(JSON.stringify(stored))
}

const isText = (value: unknown): boolean => typeof value === 'string'
const isTextOrAbsent = (value: unknown): boolean => value === undefined || isText(value)

const isResult = (value: unknown): value is JsonRecord & TaskResult =>
  isObject(value) &&
  isText(value['id']) &&
  isText(value['url']) &&
  isTextOrAbsent(value['watermarkUrl']) &&
  isTextOrAbsent(value['duration'])

export const decodeResults = (bytes: Uint8Array): readonly TaskResult[] => {
  const stored = asArray(asObject(parseJson(Buffer.from(bytes).toString()))['results'])
  const results = stored.filter(isResult)
  if (results.length === 0 || results.length < stored.length) throw new Error('what came are no results of a task')
  return results
}
