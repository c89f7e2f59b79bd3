import { Buffer } from 'node:buffer'
import type { ServerResponse } from 'node:http'
import { sandboxLimits } from '../answers/limits.ts'
import type { CallLog } from './calls.ts'
import type { Handler } from './exchange.ts'

const sendJson = (response: ServerResponse, value: unknown): void => {
  const text = JSON.stringify(value)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text)
}

const lastAsked = (url: string): number => {
  const asked = Number(new URL(url, 'http://sandbox').searchParams.get('last'))
  return Number.isInteger(asked) && asked > 0 ? asked : sandboxLimits.sandboxCallsShownMax
}

/** `GET /sandbox/calls?last=<n>`: the last calls, oldest first. */
export const showCalls =
  (calls: CallLog): Handler =>
  (request, response) =>
    sendJson(response, calls.last(lastAsked(request.url ?? '/')))

export const showTotals =
  (calls: CallLog): Handler =>
  (_request, response) =>
    sendJson(response, calls.totals())

export const resetCalls =
  (calls: CallLog, reset: () => void): Handler =>
  (request, response) => {
    request.resume()
    reset()
    sendJson(response, calls.totals())
  }
