import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import type { TaskResult } from '../../events/types.ts'
import type { Envelope } from './envelope.ts'
import { vendorLimits } from './limits.ts'
import type { VendorFailure, VendorStatus } from './vendor.ts'

export type ExpectedTask = { readonly vendorTaskId: string } | { readonly taskId: string }

export type VendorIds = (message: string, ids: readonly string[]) => string

const unknown = (reason: string): VendorFailure => ({ type: 'unknown', reason })

/** Printable, and no step up a path. */
const idPattern = new RegExp(`^(?!\\.)[!-~]{1,${vendorLimits.videoIdCharactersMax}}$`)

const externalIdOf = (data: JsonObject): string =>
  asText(asObject(data['task_info'])['external_task_id']) || asText(data['external_task_id'])

const isExpected = (data: JsonObject, vendorTaskId: string, expected: ExpectedTask): boolean => {
  if ('vendorTaskId' in expected) return vendorTaskId === expected.vendorTaskId
  const externalId = externalIdOf(data)
  return externalId === '' || externalId === expected.taskId
}

export const readTaskId = (
  data: unknown,
  expected: ExpectedTask,
): { readonly type: 'ours'; readonly vendorTaskId: string; readonly data: JsonObject } | VendorFailure => {
  if (!isObject(data)) return unknown('no_task')
  const vendorTaskId = asText(data['task_id'])
  if (!idPattern.test(vendorTaskId)) return unknown('no_task_id')
  return isExpected(data, vendorTaskId, expected) ? { type: 'ours', vendorTaskId, data } : unknown('another_task')
}

const openStatuses: { readonly [word: string]: 'SUBMITTED' | 'IN_PROGRESS' } = {
  submitted: 'SUBMITTED',
  processing: 'IN_PROGRESS',
}

const outcomes: { readonly [word: string]: 'SUCCESS' | 'FAILURE' } = {
  succeed: 'SUCCESS',
  succeeded: 'SUCCESS',
  failed: 'FAILURE',
}

const lookUp = <T>(table: { readonly [word: string]: T }, word: string): T | null =>
  Object.hasOwn(table, word) ? (table[word] ?? null) : null

const cut = (text: string, charactersMax: number): string => text.slice(0, charactersMax).toWellFormed()

/** As written; a cut number would be another number: it is marked, so that it cannot be read as one. */
const deductionOf = (data: JsonObject): string | null => {
  const text = asText(data['final_unit_deduction'])
  const most = vendorLimits.videoDeductionCharactersMax
  return (text.length > most ? `${cut(text, most - 1)}…` : cut(text, most)) || null
}

const addressOf = (value: unknown): string | null => {
  const url = URL.parse(asText(value))
  if (url === null || !/^https?:$/.test(url.protocol)) return null
  return url.href.length <= vendorLimits.videoUrlCharactersMax ? url.href : null
}

const resultOf = (value: unknown, index: number): readonly TaskResult[] => {
  const video = asObject(value)
  const url = addressOf(video['url'])
  if (url === null) return []
  const watermarkUrl = addressOf(video['watermark_url'])
  const duration = cut(asText(video['duration']), vendorLimits.videoDurationCharactersMax)
  return [
    {
      id: cut(asText(video['id']), vendorLimits.videoIdCharactersMax) || String(index + 1),
      url,
      ...(watermarkUrl === null ? {} : { watermarkUrl }),
      ...(duration === '' ? {} : { duration }),
    },
  ]
}

const resultsOf = (data: JsonObject): readonly TaskResult[] =>
  asArray(asObject(data['task_result'])['videos']).slice(0, vendorLimits.videoResultsMax).flatMap(resultOf)

const reasonOf = (data: JsonObject, ids: readonly string[], clean: VendorIds): string =>
  clean(asText(data['task_status_msg']), ids) || 'The video vendor gave no reason.'

/** An unknown status does not end the task. */
export const parseTask = (envelope: Envelope, expected: ExpectedTask, clean: VendorIds): VendorStatus => {
  const read = readTaskId(envelope.data, expected)
  if (read.type !== 'ours') return read
  const { vendorTaskId, data } = read
  const word = asText(data['task_status']).toLowerCase()
  const outcome = lookUp(outcomes, word)
  if (outcome === null) return { type: 'open', vendorTaskId, status: lookUp(openStatuses, word) }
  const failed = outcome === 'FAILURE'
  return {
    type: 'ended',
    verdict: {
      outcome,
      vendorTaskId,
      deduction: deductionOf(data),
      failReason: failed ? reasonOf(data, [vendorTaskId, envelope.requestId], clean) : null,
      vendorCode: null,
      results: failed ? [] : resultsOf(data),
    },
  }
}
