import type { Config } from '../config/config.ts'
import { withoutKeys } from '../providers/scrub.ts'
import { cliLimits } from './command-limits.ts'

/** A fault as our own log shows it. */
export interface FaultRecord {
  readonly type: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly cause?: FaultRecord
  /** Of several that came together, the first few. */
  readonly errors?: readonly FaultRecord[]
}

/** All that is secret in a configuration. */
export const listSecrets = ({ providers, videoVendors, callbacks, external }: Config): readonly string[] =>
  [
    ...providers.map(({ apiKey }) => apiKey),
    ...videoVendors.flatMap(({ credential }) =>
      credential.type === 'key' ? [credential.apiKey] : [credential.accessKey, credential.secretKey],
    ),
    callbacks?.secret,
    external?.nats.password,
    passwordOf(external?.databaseUrl),
    ...(external?.nats.url.split(',').map((each) => passwordOf(each.trim())) ?? []),
  ].filter((secret): secret is string => typeof secret === 'string')

const passwordOf = (url: string | null | undefined): string | null => {
  const password = URL.parse(url ?? '')?.password ?? ''
  return password === '' ? null : decodeURIComponent(password)
}

const codeOf = (fault: Error): { readonly code?: string } =>
  'code' in fault && (typeof fault.code === 'string' || typeof fault.code === 'number')
    ? { code: String(fault.code) }
    : {}

const frames = /^\s+at .*$/gm

/** Where it was thrown; what stands before that in a stack is the message once more. */
const stackOf = ({ stack = '' }: Error): string => (stack.match(frames) ?? []).join('\n')

/**
 * Writes down a fault with what caused it: its message without keys and without the secrets, and of its other members only the code, since
 * libraries hang requests, rows and configurations on theirs.
 */
export const faultSerializer = (secrets: readonly string[]): ((fault: unknown) => FaultRecord) => {
  const clean = (text: string): string => withoutKeys(text, secrets)
  const record = (fault: unknown, depth: number): FaultRecord => {
    if (!(fault instanceof Error)) return { type: typeof fault, message: clean(String(fault)) }
    const { name, message, cause } = fault
    const inner = depth < cliLimits.faultCausesMax
    const errors = fault instanceof AggregateError && inner ? fault.errors.slice(0, cliLimits.faultCausesMax) : []
    return {
      type: name,
      message: clean(message),
      ...codeOf(fault),
      stack: clean(stackOf(fault)),
      ...(cause === undefined || !inner ? {} : { cause: record(cause, depth + 1) }),
      ...(errors.length === 0 ? {} : { errors: errors.map((each) => record(each, depth + 1)) }),
    }
  }
  return (fault) => record(fault, 1)
}
