import { X509Certificate } from 'node:crypto'
import { resolve } from 'node:path'
import { faultText } from '../errors/gateway-error.ts'
import type { Deployment, Provider } from '../providers/dialect/provider.ts'
import type { ConfigProblem } from './config-error.ts'
import type { ConfigFile } from './config-file.types.ts'
import type { EnvironmentVariables } from './environment.ts'

type Entry = NonNullable<ConfigFile['providers']>[string]
type DeploymentEntry = NonNullable<Entry['deployments']>[number]

/** Its own credential, of either kind, is the only one of a deployment. */
const entryWithout = ({
  api_key: _key,
  authentication: _authentication,
  ...entry
}: Entry): Omit<Entry, 'deployments'> => entry

/** As a provider's entry: what the deployment leaves out is the provider's. */
export const entryOfDeployment = (
  { deployments: _deployments, headers, ...entry }: Entry,
  { name: _name, models: _models, headers: ownHeaders, ...own }: DeploymentEntry,
): Entry => {
  const hasCredential = own.api_key !== undefined || own.authentication !== undefined
  return { ...(hasCredential ? entryWithout(entry) : entry), ...own, headers: { ...headers, ...ownHeaders } }
}

/** A provider whose deployments all have an address has the first one. */
export const entryOfProvider = (entry: Entry): Entry => {
  const [first] = entry.deployments ?? []
  return first === undefined || entry.base_url !== undefined ? entry : { ...entry, base_url: first.base_url! }
}

export const divisionOf = ({
  name,
  weight = 1,
  requests_per_minute: requestsPerMinute,
  tokens_per_minute: tokensPerMinute,
  models,
}: DeploymentEntry): Omit<Deployment, 'provider'> => ({
  name,
  weight,
  ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
  ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
  ...(models === undefined ? {} : { models }),
})

export const problemsOfDeployments = (
  path: string,
  deployments: readonly DeploymentEntry[],
): readonly ConfigProblem[] =>
  deployments.flatMap(({ name }, index) =>
    deployments.findIndex((each) => each.name === name) === index
      ? []
      : [{ path: `${path}[${index}].name`, message: `\`${name}\` is the name of another deployment` }],
  )

interface FileReading {
  /** Paths begin there. */
  readonly folder: string
  readonly problems: ConfigProblem[]
  readonly variables: EnvironmentVariables
}

const certificatePattern = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

/** Each on lines of its own: of two that were joined without a line break OpenSSL reads the first. */
const readCertificates = (pem: string): string => {
  const certificates = pem.match(certificatePattern)
  if (certificates === null) throw new Error('it holds no certificate in PEM')
  for (const certificate of certificates) new X509Certificate(certificate)
  return certificates.join('\n')
}

const readCa = (file: string, path: string, { folder, problems, variables }: FileReading): { readonly ca?: string } => {
  try {
    return { ca: readCertificates(variables.readFile(resolve(folder, file))) }
  } catch (fault) {
    problems.push({ path: `${path}.ca_file`, message: `${file} cannot be used: ${faultText(fault)}` })
    return {}
  }
}

export const connectionFrom = (
  { proxy_url: proxyUrl, ca_file: caFile }: Entry,
  path: string,
  reading: FileReading,
): Pick<Provider, 'connection'> =>
  proxyUrl === undefined && caFile === undefined
    ? {}
    : {
        connection: {
          ...(proxyUrl === undefined ? {} : { proxyUrl }),
          ...(caFile === undefined ? {} : readCa(caFile, path, reading)),
        },
      }
