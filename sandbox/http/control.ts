import { Buffer } from 'node:buffer'
import type { ServerResponse } from 'node:http'
import { sandboxLimits } from '../answers/limits.ts'
import type { CallLog } from './calls.ts'
import type { Handler } from './exchange.ts'

export const sendJson = (response: ServerResponse, status: number, value: unknown): void => {
  const text = JSON.stringify(value)
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    .end(text)
}

/** `?last=<n>` */
export const lastAsked = (url: string | undefined, otherwise: number): number => {
  const asked = Number(new URL(url ?? '/', 'http://sandbox').searchParams.get('last'))
  return Number.isInteger(asked) && asked > 0 ? asked : otherwise
}

/** `GET /sandbox/calls?last=<n>`: the last calls, oldest first. */
export const showCalls =
  (calls: CallLog): Handler =>
  (request, response) =>
    sendJson(response, 200, calls.last(lastAsked(request.url, sandboxLimits.sandboxCallsShownMax)))

export const showTotals =
  (calls: CallLog): Handler =>
  (_request, response) =>
    sendJson(response, 200, calls.totals())

export const resetCalls =
  (calls: CallLog, reset: () => void): Handler =>
  (request, response) => {
    request.resume()
    reset()
    sendJson(response, 200, calls.totals())
  }
