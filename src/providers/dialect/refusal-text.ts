import { type Provider, providerSecrets } from './provider.ts'
import { scrub } from './scrub.ts'

const wordPattern = /^[A-Za-z0-9_.[\]-]{1,128}$/

export const errorWord = (value: unknown): string | null =>
  typeof value === 'string' && wordPattern.test(value) ? value : null

export const refusalText = (message: string, provider: Provider): string =>
  scrub(message, providerSecrets(provider)) || 'The upstream provider refused the request.'
