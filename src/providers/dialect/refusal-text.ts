import { type Provider, providerCredentials, providerSecrets } from './provider.ts'
import { scrub, withoutKeys } from './scrub.ts'

const wordPattern = /^[A-Za-z0-9_.[\]-]{1,128}$/

export const errorWord = (value: unknown, provider: Provider): string | null =>
  typeof value === 'string' && wordPattern.test(value) && withoutKeys(value, providerCredentials(provider)) === value
    ? value
    : null

export const refusalText = (message: string, provider: Provider): string =>
  scrub(message, providerSecrets(provider)) || 'The upstream provider refused the request.'
