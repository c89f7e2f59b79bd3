import { asObject, type JsonObject, parseJsonBytes } from '../../encoding/json.ts'
import type { UpstreamFormat } from '../canonical/format.ts'
import { refuseProviderState } from '../canonical/refuse.ts'
import { buildInSteps, type UpstreamDialect, type UpstreamRefusal } from '../dialect/dialect.ts'
import type { Provider } from '../dialect/provider.ts'
import { chatUpstream } from '../openai/dialect.ts'
import { readOpenAIError } from '../openai/refusal.ts'
import { addressed } from './address.ts'

/** Azure reads the operator's search indexes, databases and agents for them, with the resource's own identity. */
const accountMembers = ['data_sources', 'dataSources', 'agent', 'agent_reference'] as const

const refuseAccountMembers = (body: JsonObject): void => {
  for (const member of accountMembers)
    if (body[member] !== undefined && body[member] !== null) throw refuseProviderState(member)
}

/** Of our configuration and our resource there, not of the caller's request. */
const configurationCodes: readonly (string | null)[] = [
  'DeploymentNotFound',
  'ResourceNotFound',
  'OperationNotSupported',
  'BadRequestUnsupportedApiVersion',
  '404', // An address that does not exist there: a wrong API version, or a wrong base URL.
]

const isFiltered = (body: Uint8Array, { code }: UpstreamRefusal): boolean =>
  code === 'content_filter' ||
  asObject(asObject(asObject(parseJsonBytes(body))['error'])['innererror'])['code'] === 'ResponsibleAIPolicyViolation'

/** Null where it is our deployment that is wrong. */
const readAzureError = (provider: Provider, body: Uint8Array): UpstreamRefusal | null => {
  const refusal = readOpenAIError(provider, body)
  if (refusal === null || configurationCodes.includes(refusal.code)) return null
  return isFiltered(body, refusal) ? { ...refusal, code: 'content_policy_violation' } : refusal
}

export const atAzure = (dialect: UpstreamDialect): UpstreamDialect => ({
  ...dialect,
  buildRequest: (target, request) => {
    refuseAccountMembers(request.body)
    return addressed(target.provider, target.upstreamModel, dialect.buildRequest(target, request))
  },
  *buildSteps(target, request) {
    refuseAccountMembers(request.body)
    return addressed(target.provider, target.upstreamModel, yield* buildInSteps(dialect, target, request))
  },
  readRefusal: readAzureError,
})

export const azureUpstream: UpstreamFormat = {
  ...chatUpstream,
  *writeRequest(conversation, target, asking) {
    const request = yield* chatUpstream.writeRequest(conversation, target, asking)
    return addressed(target.provider, target.upstreamModel, request)
  },
  readRefusal: readAzureError,
}
