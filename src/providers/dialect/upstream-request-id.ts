import { type Provider, providerSecrets } from './provider.ts'
import { withoutKeys } from './scrub.ts'

/** The first that is there counts: Azure sends `x-request-id` too, and its support asks for the other. */
const headerNames: readonly string[] = [
  'apim-request-id',
  'request-id',
  'x-request-id',
  'x-amzn-requestid',
  'x-ms-request-id',
  'x-goog-request-id',
  'mistral-correlation-id',
  'x-ds-trace-id',
  'x-generation-id',
]

const awsSignaturePattern = /^[0-9a-f]{64}$/i

const idPattern = /^[\w.:=+/-]{1,128}$/

type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>

const readId = (value: string | string[] | undefined, secrets: readonly string[]): string | null => {
  const id = (Array.isArray(value) ? value[0] : value)?.trim() ?? ''
  if (!idPattern.test(id) || awsSignaturePattern.test(id) || withoutKeys(id, []) !== id) return null
  return secrets.some((secret) => secret !== '' && id.includes(secret)) ? null : id
}

/** The provider's own id of a call, of at most 128 characters; null where it sent none, or one that holds a secret. */
export const readUpstreamRequestId = (provider: Provider, headers: ResponseHeaders): string | null => {
  for (const name of headerNames) {
    if (headers[name] === undefined) continue
    const id = readId(headers[name], providerSecrets(provider))
    if (id !== null) return id
  }
  return null
}
