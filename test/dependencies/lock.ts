import { asObject, isObject, type JsonObject } from '../../src/encoding/json.ts'

const registry = 'https://registry.npmjs.org/'
const sha512Pattern = /^sha512-[A-Za-z0-9+/]{86}==$/

/** Packages of which nothing is fetched: our own, and what comes inside another. */
const isFetched = ([path, entry]: readonly [string, JsonObject]): boolean => path !== '' && entry['inBundle'] !== true

const problemsOf = ([path, { integrity, resolved, link }]: readonly [string, JsonObject]): readonly string[] => [
  ...(link === true ? [`${path} is a link`] : []),
  ...(typeof integrity === 'string' && sha512Pattern.test(integrity) ? [] : [`${path} has no SHA-512`]),
  ...(resolved === undefined || String(resolved).startsWith(registry)
    ? []
    : [`${path} comes from ${resolved}, not from the registry`]),
]

const wanted = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'] as const

const sorted = (value: unknown): string => JSON.stringify(Object.entries(asObject(value)).sort())

/**
 * What is wrong with a lock: a package that is not fetched from the registry (where it does not say from where, npm takes the registry), or
 * not held to its SHA-512, and dependencies other than those of the package itself.
 */
export const problemsOfLock = (manifest: JsonObject, lock: JsonObject): readonly string[] => {
  const packages = Object.entries(asObject(lock['packages'])).map(([path, entry]) => [path, asObject(entry)] as const)
  const root = asObject(asObject(lock['packages'])[''])
  return [
    ...(lock['lockfileVersion'] === 3 && isObject(lock['packages']) ? [] : ['this is no lock of version 3']),
    ...wanted.filter((kind) => sorted(manifest[kind]) !== sorted(root[kind])).map((kind) => `${kind} are not locked`),
    ...packages.filter(isFetched).flatMap(problemsOf),
  ]
}

/** Packages of a lock that are fetched. */
export const fetchedIn = (lock: JsonObject): number =>
  Object.entries(asObject(lock['packages'])).filter(([path, entry]) => isFetched([path, asObject(entry)])).length
