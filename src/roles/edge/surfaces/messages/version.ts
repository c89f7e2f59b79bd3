import type { IncomingHttpHeaders } from 'node:http'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import type { HttpMiddleware } from '../../../../http/context.ts'

const versionPattern = /^\d{4}-\d{2}-\d{2}$/

/** The neutral header counts where that of the official SDKs is absent. */
const versionOf = (headers: IncomingHttpHeaders): string | undefined =>
  headers['anthropic-version']?.toString() ?? headers['api-version']?.toString()

const wrongVersion = (message: string): GatewayError =>
  new GatewayError('invalid_request', message, { param: 'anthropic-version' })

/** Throws `invalid_request` where no header names the version of the format. */
export const requireVersion = (): HttpMiddleware => (ctx, next) => {
  const version = versionOf(ctx.req.headers)
  if (version === undefined)
    throw wrongVersion('The header `anthropic-version` (or `api-version`) is required, such as `2023-06-01`.')
  if (!versionPattern.test(version))
    throw wrongVersion('The version in the header must be a date, such as `2023-06-01`.')
  return next()
}

/** The caller's headers that an upstream of the same format receives. */
export const headersToForward = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> => {
  const version = versionOf(headers)
  const beta = headers['anthropic-beta']?.toString()
  return {
    ...(version === undefined ? {} : { 'anthropic-version': version }),
    ...(beta === undefined ? {} : { 'anthropic-beta': beta }),
  }
}
