import { isObject, type JsonObject } from '../../encoding/json.ts'
import { eachInSteps } from '../../encoding/steps.ts'
import { providerLimits } from '../dialect/limits.ts'
import { type Provider, providerCapabilities } from '../dialect/provider.ts'
import { refuseProviderState, unsupported } from './refuse.ts'

/**
 * What a member may hold. `own`: whatever is in it is the caller's. `account`: something that the provider keeps in the
 * gateway's account. `address`: what the provider fetches. A list is decided by its elements.
 */
type Rule = 'own' | 'account' | 'address' | Shape

/** `text`: of a value that is a string in place of an object. */
export interface Shape {
  readonly members: ReadonlyMap<string, Rule>
  readonly text: Rule
}

export const shapeOf = (own: string, others: Readonly<Record<string, Rule>> = {}, text: Rule = 'own'): Shape => ({
  members: new Map<string, Rule>([
    ...['type', ...own.split(' ')].map((name) => [name, 'own'] as const),
    ...Object.entries(others),
  ]),
  text,
})

export const recursiveShape = (make: (self: Shape) => Shape): Shape => {
  const members = new Map<string, Rule>()
  const self: Shape = { members, text: 'own' }
  for (const [name, rule] of make(self).members) members.set(name, rule)
  return self
}

/** Of objects that providers keep, whatever they are called there. */
const referringName =
  /(?:^|_)(?:ids?|uris?|urls?|files?|buckets?|containers?|stores?|caches?|cached_content|conversation|thread|assistant|skills?|connectors?|credentials?|secrets?|datasets?|knowledge\w*|data_sources?)$/i

const referringText =
  /^(?:(?:gs|s3|az|azure|abfss?|oss|cos|file):\/\/|(?:cachedContents|projects|corpora|fileSearchStores)\/|(?:file|vs|cntr|conv|asst|pmpt|skill)[-_][\w-]{6,}$)/

const isScalar = (value: unknown): boolean => !isObject(value) && !Array.isArray(value)

const isPlain = (value: unknown): boolean => (Array.isArray(value) ? value.every(isScalar) : isScalar(value))

const isReference = (value: unknown): boolean =>
  typeof value === 'string' && referringText.test(value.slice(0, providerLimits.addressCharactersMax))

const refers = (name: string, value: unknown): boolean => {
  if (name.length > providerLimits.memberNameCharactersMax || referringName.test(name) || isReference(value))
    return true
  if (Array.isArray(value)) return value.some((each) => refers('', each))
  return isObject(value) && Object.entries(value).some(([inner, each]) => refers(inner, each))
}

const isAbsent = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0)

/**
 * A new parameter of a provider's is forwarded where nothing in it looks like a reference; below the top level, in parts
 * of content and in tools, where providers place what they keep, it must be a plain value too.
 */
const checkUnknown = (name: string, value: unknown, path: string): void => {
  if ((isPlain(value) || path === name) && !refers(name, value)) return
  throw unsupported(
    path,
    'is not known here, and could name something of the gateway’s account at the provider. An operator can permit it, at the top level of a request, with `capabilities.allow_members` of the provider',
  )
}

const hostOf = (url: string): string => URL.parse(url)?.host ?? ''

const isData = /^data:/i

const fetchedSchemes: readonly string[] = ['http:', 'https:', 'data:']

/** Buckets, and the provider's own host, would be read with the gateway's identity. Throws as `checkMembers` does. */
export const checkAddress = (address: string, path: string, provider: Provider): void => {
  if (isData.test(address)) return // A request may have 25,000, and each would be parsed with the provider's own address.
  const start = address.slice(0, providerLimits.addressCharactersMax)
  const url = URL.parse(start)
  if (url === null) {
    if (isReference(start)) throw refuseProviderState(path)
    return
  }
  if (!fetchedSchemes.includes(url.protocol) || url.host === hostOf(provider.baseUrl)) throw refuseProviderState(path)
}

const checkMember = (name: string, value: unknown, rule: Rule | undefined, path: string, provider: Provider): void => {
  if (rule === undefined) checkUnknown(name, value, path)
  else checkValue(value, rule, path, provider)
}

const checkValue = (value: unknown, rule: Rule, path: string, provider: Provider): void => {
  if (rule === 'own' || isAbsent(value)) return
  if (rule === 'account') throw refuseProviderState(path)
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) checkValue(each, rule, `${path}[${index}]`, provider)
  } else if (rule === 'address') {
    if (typeof value !== 'string') throw unsupported(path, 'must be an address')
    checkAddress(value, path, provider)
  } else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      const inner = rule.members.get(name)
      if (inner !== 'own' && !isAbsent(value[name])) checkMember(name, value[name], inner, `${path}.${name}`, provider)
    }
  } else checkValue(value, rule.text, path, provider)
}

/** Throws `unsupported_parameter` for what the provider keeps in the gateway's account, which every workspace shares. */
export function* checkMembers(shape: Shape, body: JsonObject, provider: Provider): Generator<void, void> {
  const { allow_members: permitted } = providerCapabilities(provider)
  for (const name of Object.keys(body)) {
    const value = body[name]
    const rule = shape.members.get(name)
    if (rule === 'own' || isAbsent(value) || (rule === undefined && permitted.includes(name))) continue
    if (typeof rule === 'object' && Array.isArray(value))
      yield* eachInSteps(value, (each, place) => checkValue(each, rule, `${name}[${place}]`, provider))
    else checkMember(name, value, rule, name, provider)
  }
}
