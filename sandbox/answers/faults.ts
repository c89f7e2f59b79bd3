import type { Directives } from './directives.ts'

export interface Fault {
  readonly status: number
  readonly type: string
  readonly code: string | null
  readonly message: string
  readonly param: string | null
  /** The directive `error_code`: replaces the dialect's own code for the fault. */
  readonly word: string | null
}

export class Refusal extends Error {
  readonly fault: Fault

  constructor(message: string, fault: Partial<Omit<Fault, 'message'>> = {}) {
    super(message)
    this.name = 'Refusal'
    this.fault = { status: 400, type: 'invalid_request_error', code: null, param: null, word: null, ...fault, message }
  }
}

/** What an error message leaks on demand: all of it must be scrubbed before a client sees it. */
export interface Secrets {
  readonly key: string
  readonly host: string
}

export const sandboxOrganisation = 'org-SandboxOrganisation0123'

type Named = Pick<Fault, 'type' | 'code'>
const invalid = (code: string | null): Named => ({ type: 'invalid_request_error', code })

const named: { readonly [status: number]: Named } = {
  401: invalid('invalid_api_key'),
  402: { type: 'insufficient_quota', code: 'insufficient_quota' },
  403: { type: 'request_forbidden', code: 'unsupported_country_region_territory' },
  404: invalid('model_not_found'),
  408: { type: 'timeout', code: 'request_timeout' },
  413: invalid('request_too_large'),
  429: { type: 'requests', code: 'rate_limit_exceeded' },
  503: { type: 'service_unavailable_error', code: 'service_unavailable' },
  529: { type: 'overloaded_error', code: 'overloaded' },
}

const namedBy = (status: number): Named =>
  named[status] ?? (status >= 500 ? { type: 'server_error', code: null } : invalid(null))

const messageOf = (directives: Directives, status: number, secrets: Secrets): string => {
  const message = directives.error_message ?? `The sandbox was directed to fail with ${status}.`
  if (directives.leak === undefined) return message
  return `${message} ${directives.leak}: API key ${secrets.key}, organization ${sandboxOrganisation}, host ${secrets.host}.`
}

export const readFault = (directives: Directives, secrets: Secrets): Fault => {
  const status = directives.status ?? 500
  const { type, code } = namedBy(status)
  const message = messageOf(directives, status, secrets)
  const word = directives.error_code ?? null
  return { status, type, code: word ?? code, message, param: null, word }
}
