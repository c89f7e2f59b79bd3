import type { Config } from '../config/config.ts'
import type { ProviderConfig, UpstreamConfig } from '../config/providers.ts'
import { secretHeaderValues } from '../providers/dialect/provider.ts'
import { withoutKeys } from '../providers/dialect/scrub.ts'
import { cliLimits } from './command-limits.ts'

interface FaultRecord {
  readonly type: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly cause?: FaultRecord
  readonly errors?: readonly FaultRecord[]
}

type SecretHolder = Pick<
  Config,
  'providers' | 'videoVendors' | 'callbacks' | 'external' | 'signIn' | 'telemetry' | 'alertDestinations'
>

export const listSecrets = ({
  providers,
  videoVendors,
  callbacks,
  external,
  signIn,
  telemetry,
  alertDestinations,
}: SecretHolder): readonly string[] =>
  [
    ...providers.flatMap(listProviderSecrets),
    ...videoVendors.flatMap(({ credential }) =>
      credential.type === 'key' ? [credential.apiKey] : [credential.accessKey, credential.secretKey],
    ),
    callbacks?.secret,
    signIn?.client_secret,
    ...[...alertDestinations.values()].flatMap((each) => [each.url, each.secret, each.smtp?.password]),
    ...Object.values(telemetry?.headers ?? {}),
    external?.nats.password,
    passwordOf(external?.databaseUrl),
    ...(external?.nats.url.split(',').map((each) => passwordOf(each.trim())) ?? []),
  ].filter((secret): secret is string => typeof secret === 'string')

type Upstream = UpstreamConfig & Pick<ProviderConfig, 'deployments'>

const listProviderSecrets = (upstream: Upstream): readonly (string | undefined | null)[] => [
  upstream.apiKey,
  ...listAuthenticationSecrets(upstream.authentication),
  ...secretHeaderValues(upstream),
  passwordOf(upstream.connection?.proxyUrl),
  ...(upstream.deployments ?? []).flatMap(({ provider }) => listProviderSecrets(provider)),
]

const listAuthenticationSecrets = (
  authentication: UpstreamConfig['authentication'],
): readonly (string | undefined)[] => {
  switch (authentication?.type) {
    case 'entra_application':
      return [authentication.clientSecret]
    case 'azure_managed_identity':
      return [authentication.endpoint?.header]
    case 'aws_keys':
      return [authentication.accessKeyId, authentication.secretAccessKey, authentication.sessionToken]
    case 'aws_role':
      return [authentication.container?.token ?? undefined]
    default:
      return []
  }
}

const passwordOf = (url: string | null | undefined): string | null => {
  const password = URL.parse(url ?? '')?.password ?? ''
  return password === '' ? null : decodeURIComponent(password)
}

const codeOf = (fault: Error): { readonly code?: string } =>
  'code' in fault && (typeof fault.code === 'string' || typeof fault.code === 'number')
    ? { code: String(fault.code) }
    : {}

const frames = /^\s+at .*$/gm

/** Only the frames: a stack begins with the message, which is logged already. */
const stackOf = ({ stack = '' }: Error): string => (stack.match(frames) ?? []).join('\n')

/** Of a fault's members only the code: libraries attach requests, rows and configurations to the others. */
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
