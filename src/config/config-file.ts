import { type Document, Lexer, parseDocument } from 'yaml'
import { candidateName } from '../domain/routing/plan.ts'
import { getValidator } from '../encoding/schema-validation.ts'
import type { ProcessRole } from '../roles/role.ts'
import { authenticationSecrets, problemsOfAuthentication } from './authentication.ts'
import { ConfigError, type ConfigProblem } from './config-error.ts'
import type { ConfigFile } from './config-file.types.ts'
import type { EnvironmentVariables } from './environment.ts'
import { videoDialect } from './providers.ts'
import { administers, callsUpstream, callsVendors, readsDatabase, seals } from './roles.ts'

interface SecretReader {
  readonly role: ProcessRole
  /** Whether the process signs callbacks. */
  readonly signs: boolean
  /** Reads `origin` alone of `audit`: its keys are yet to be made. */
  readonly withoutKeys: boolean
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined

const secretOfAuthentication = `authentication\\.(?:${authenticationSecrets.join('|')})`
const ofProvider = '^providers\\.([^.]+)(?:\\.deployments\\[\\d+\\])?'
const providerSecretPath = new RegExp(
  `${ofProvider}\\.(?:(?:api|access|secret)_key|proxy_url|headers\\..+|${secretOfAuthentication})$`,
)

const alertSecretPath = /^alerts\.(?:destinations\.[^.]+\.(?:url|secret)|smtp\.password)$/

/** True for a path of the file that holds a secret which this process does not use. */
const createUnusedSecretFilter = (content: unknown, { role, signs }: SecretReader): ((path: string) => boolean) => {
  const providers = memberOf(content, 'providers')
  return (path) => {
    if (path === 'callbacks.secret') return !signs
    if (path === 'audit.signing_key' || alertSecretPath.test(path)) return !seals(role)
    if (/^(?:admin\.tokens\[\d+\]\.token|sign_in\.oidc\.client_secret)$/.test(path)) return !administers(role)
    const [, provider] = providerSecretPath.exec(path) ?? []
    if (provider === undefined) return false
    const isOfVendor = memberOf(memberOf(providers, provider), 'dialect') === videoDialect
    return isOfVendor ? !callsVendors(role) : !callsUpstream(role)
  }
}

/** Where the file holds secrets, beside those of providers; an address can hold a password too. */
const secretPath =
  /^(?:callbacks\.secret|audit\.signing_key|nats\.password|telemetry\.headers\..+|admin\.tokens\[\d+\]\.token|sign_in\.oidc\.client_secret)$/
const passwordInAddress = /:\/\/[^/\s]*:[^/\s]*@/

interface Filling {
  readonly file: string
  readonly variables: EnvironmentVariables
  readonly isUnusedSecret: (path: string) => boolean
  readonly problems: ConfigProblem[]
}

const fillText = (text: string, path: string, { file, variables, problems }: Filling): string => {
  const isSecret =
    secretPath.test(path) || alertSecretPath.test(path) || providerSecretPath.test(path) || passwordInAddress.test(text)
  if (!text.includes('${') && isSecret) variables.noteSecretFile(file)
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (match, name: string) => {
    const found = variables.read(name)
    if (found === undefined) problems.push({ path, message: `the environment variable ${name} is not set` })
    return found ?? match // One problem per missing variable.
  })
}

/** Fills `${NAME}` in every text of the file; an unset variable is a problem at its path. */
const fillVariables = (value: unknown, path: string, filling: Filling): unknown => {
  const { isUnusedSecret } = filling
  if (isUnusedSecret(path)) return value
  if (typeof value === 'string') return fillText(value, path, filling)
  if (Array.isArray(value)) return value.map((each, index) => fillVariables(each, `${path}[${index}]`, filling))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      fillVariables(each, path === '' ? key : `${path}.${key}`, filling),
    ]),
  )
}

const variableName = /^\w+$/
/** The lexer's marks between pieces of the text: begin of a document, a broken flow, a scalar. */
const lexerMarks: ReadonlySet<string> = new Set(['\u0002', '\u0018', '\u001f'])

/** A bare `${NAME}` would open a map in YAML's flow style. Elsewhere, in quotes and in comments it is text. */
const quoteVariables = (text: string): string => {
  const tokens = [...new Lexer().lex(text)]
  for (const at of tokens.keys()) {
    const [dollar, open, , name = '', close] = tokens.slice(at, at + 5)
    if (dollar === '$' && open === '{' && variableName.test(name) && close === '}')
      tokens.splice(at, 5, '"', dollar, open, name, '}"')
  }
  return tokens.filter((token) => !lexerMarks.has(token)).join('')
}

interface ParsedConfigFile {
  /** Without the sections that have a problem; `providers` is then empty, so that none comes from the environment. */
  readonly content: ConfigFile
  readonly problems: readonly ConfigProblem[]
  /** Of the sections that have a problem: what follows from their absence is no mistake of its own. */
  readonly invalidSections: ReadonlySet<string>
}

export const sectionOf = (path: string): string => path.split(/[.[:]/, 1)[0]!

/** Before `${NAME}` is filled in. Throws ConfigError where the file is no YAML. */
export const parseConfigText = (file: string, text: string): unknown => {
  const document = parseDocument(quoteVariables(text), { prettyErrors: true })
  const [broken] = document.errors // The others follow from the first.
  if (broken !== undefined)
    throw new ConfigError(file, [{ path: '', message: `not YAML: ${broken.message.split('\n')[0]}` }])
  return contentOf(document, file)
}

/** `found` is what `parseConfigText` gives. Throws ConfigError where that is no object; all other problems are returned. */
export const parseConfigContent = (
  found: unknown,
  file: string,
  variables: EnvironmentVariables,
  reader: SecretReader,
): ParsedConfigFile => {
  const unset: ConfigProblem[] = []
  const isUnusedSecret = createUnusedSecretFilter(found, reader)
  const filled = fillVariables(withoutUnread(found, reader), '', { file, variables, isUnusedSecret, problems: unset })
  const unsetPaths = new Set(unset.map(({ path }) => path))
  const invalid = [...getValidator('config.json', { allErrors: true })(filled), ...problemsOfKeys(filled)].filter(
    ({ path }) => !unsetPaths.has(path) && !isUnusedSecret(path), // `${NAME}` may be shorter than a secret.
  )
  if (invalid.some(({ path }) => path === '')) throw new ConfigError(file, invalid)
  const invalidSections = new Set([...unset, ...invalid].map(({ path }) => sectionOf(path)))
  const content = withoutSections(withoutEmptyProviders(filled as ConfigFile), invalidSections)
  return { content, problems: [...unset, ...invalid, ...problemsOfNames(content, invalidSections)], invalidSections }
}

/** The address of the database has its password. */
const withoutDatabase = (found: unknown, role: ProcessRole): unknown => {
  if (readsDatabase(role) || memberOf(found, 'database_url') === undefined) return found
  const { database_url: _unread, ...content } = found as { readonly database_url: unknown }
  return content
}

const withoutUnread = (found: unknown, { role, withoutKeys }: SecretReader): unknown => {
  const content = withoutDatabase(found, role)
  const origin = memberOf(memberOf(content, 'audit'), 'origin')
  if (!withoutKeys || memberOf(content, 'audit') === undefined) return content
  return { ...Object(content), audit: origin === undefined ? {} : { origin } }
}

const withoutSections = (content: ConfigFile, sections: ReadonlySet<string>): ConfigFile => ({
  ...Object.fromEntries(Object.entries(content).filter(([section]) => !sections.has(section))),
  ...(sections.has('providers') ? { providers: {} } : {}),
})

/** The library's own error shows the text, which may be a password. */
const contentOf = (document: Document, file: string): unknown => {
  try {
    return document.toJS() ?? {}
  } catch {
    throw new ConfigError(file, [{ path: '', message: 'not YAML: a text that begins with * needs quotes' }])
  }
}

const withoutEmptyProviders = ({ providers, ...content }: ConfigFile): ConfigFile =>
  providers === undefined || Object.keys(providers).length === 0 ? content : { ...content, providers }

/** Each dialect has its own kind of credentials. */
const problemsOfKeys = (content: unknown): readonly ConfigProblem[] =>
  Object.entries(memberOf(content, 'providers') ?? {}).flatMap(([name, entry]) => {
    const path = `providers.${name}`
    const dialect = memberOf(entry, 'dialect')
    const deployments = asList(memberOf(entry, 'deployments'))
    const called = deployments.map((each, index) => [`${path}.deployments[${index}]`, [each, entry]] as const)
    return (called.length === 0 ? [[path, [entry]] as const] : called).flatMap(([path, members]) => {
      const has = (member: string): boolean => members.some((each) => memberOf(each, member) !== undefined)
      const problems = dialect === videoDialect ? vendorKeyProblems(has) : providerProblems(dialect, members, has)
      return problems.map(([member, message]) => ({ path: `${path}.${member}`, message }))
    })
  })

/** Of a deployment and its provider: the first that has a credential, of either kind. */
const holderOfCredential = (members: readonly unknown[]): unknown =>
  members.find((each) => ['api_key', 'authentication'].some((member) => memberOf(each, member) !== undefined))

const providerProblems = (
  dialect: unknown,
  members: readonly unknown[],
  has: (member: string) => boolean,
): readonly KeyProblem[] => {
  const holder = holderOfCredential(members)
  return [
    ...credentialProblems((member) => memberOf(holder, member) !== undefined),
    ...providerKeyProblems(has),
    ...dialectProblems(dialect, has),
    ...authenticationProblems(dialect, holder),
  ]
}

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

type KeyProblem = readonly [member: string, message: string]

const authenticationProblems = (dialect: unknown, entry: unknown): readonly KeyProblem[] => {
  const authentication = memberOf(entry, 'authentication')
  return problemsOfAuthentication(dialect, memberOf(authentication, 'type'), Object.keys(authentication ?? {}))
}

const dialectProblems = (dialect: unknown, has: (member: string) => boolean): readonly KeyProblem[] =>
  has('api_version') && dialect !== 'azure' ? [['api_version', 'is only for the dialect azure']] : []

const credentialProblems = (has: (member: string) => boolean): readonly KeyProblem[] => {
  if (has('api_key') && has('authentication')) return [['authentication', 'excludes api_key: give one or the other']]
  return has('api_key') || has('authentication') ? [] : [['api_key', 'is required']]
}

const providerKeyProblems = (has: (member: string) => boolean): readonly KeyProblem[] => [
  ...(has('base_url') ? [] : [['base_url', 'is required'] as const]),
  ...['access_key', 'secret_key', 'calls_per_second']
    .filter(has)
    .map((member) => [member, `is only for the dialect ${videoDialect}`] as const),
]

const vendorKeyProblems = (has: (member: string) => boolean): readonly KeyProblem[] => {
  const pair = ['access_key', 'secret_key']
  const problems: KeyProblem[] = [
    ...(['profile', 'capabilities', 'timeouts', 'retries', 'api_version', 'authentication'] as const),
    ...(['deployments', 'headers', 'proxy_url', 'ca_file'] as const),
  ]
    .filter(has)
    .map((member) => [member, `is not for the dialect ${videoDialect}`])
  if (!has('base_url')) problems.push(['base_url', 'is required'])
  if (has('api_key') && pair.some(has))
    problems.push(['api_key', 'excludes access_key and secret_key: give one or the other'])
  else if (pair.some(has)) {
    const missing = pair.find((member) => !has(member))
    if (missing !== undefined) problems.push([missing, 'is required beside the other of the pair'])
  } else if (!has('api_key')) problems.push(['api_key', 'is required, or access_key and secret_key'])
  return problems
}

const problemsOfNames = (
  { providers, aliases = {}, routers = {} }: ConfigFile,
  invalidSections: ReadonlySet<string>,
): readonly ConfigProblem[] => {
  if (providers === undefined || invalidSections.has('providers')) return []
  const known = (model: string): boolean => Object.hasOwn(providers, model.slice(0, model.indexOf('/')))
  const unknown = (path: string, model: string): ConfigProblem => ({
    path,
    message: `\`${model}\` names no configured provider`,
  })
  return [
    ...Object.entries(aliases)
      .filter(([, model]) => !known(model))
      .map(([alias, model]) => unknown(`aliases.${alias}`, model)),
    ...Object.entries(routers).flatMap(([router, { candidates }]) =>
      candidates
        .map(candidateName)
        .flatMap((candidate, index) =>
          known(candidate) || Object.hasOwn(aliases, candidate) || invalidSections.has('aliases')
            ? []
            : [unknown(`routers.${router}.candidates[${index}]`, candidate)],
        ),
    ),
  ]
}
