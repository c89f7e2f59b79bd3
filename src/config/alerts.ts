import { createRequire } from 'node:module'
import type { ProcessRole } from '../roles/role.ts'
import type { ConfigProblem } from './config-error.ts'
import type { ConfigFile } from './config-file.types.ts'
import { configLimits } from './limits.ts'
import { seals } from './roles.ts'

type Alerts = NonNullable<ConfigFile['alerts']>
type DestinationEntry = NonNullable<Alerts['destinations']>[string]
type AlertDestination = DestinationEntry & Pick<Alerts, 'smtp'>

const hasProtocol = (url: string | undefined, pattern: RegExp): boolean =>
  pattern.test(URL.parse(url ?? '')?.protocol ?? '')

/** Of a secret, which the form of Standard Webhooks decodes: other characters add nothing to the key. */
const base64Characters = (secret: string): number => secret.replace(/^whsec_/, '').match(/[\w+/-]/g)?.length ?? 0

const membersOf = { webhook: ['url', 'secret'], slack: ['url'], email: ['to'] } as const

/** What other processes than schedulers have is not filled in: they use the names alone. */
const problemsOfDestination = (name: string, entry: DestinationEntry): readonly ConfigProblem[] => {
  const { type, url, secret = '', to } = entry
  const path = `alerts.destinations.${name}`
  const least = configLimits.alertSecretCharactersMin
  return [
    ...(['url', 'secret', 'to'] as const)
      .filter((member) => entry[member] !== undefined && !membersOf[type].some((each) => each === member))
      .map((member) => ({ path: `${path}.${member}`, message: `is not for ${type}` })),
    ...(type !== 'email' && !hasProtocol(url, /^https?:$/)
      ? [{ path: `${path}.url`, message: 'is no http address' }]
      : []),
    ...(type === 'webhook' && base64Characters(secret) < least
      ? [{ path: `${path}.secret`, message: `has fewer than ${least} characters of base64` }]
      : []),
    ...(type === 'email' && to === undefined ? [{ path: `${path}.to`, message: 'is required' }] : []),
  ]
}

const isInstalled = (packageName: string): boolean => {
  try {
    return createRequire(import.meta.url).resolve(packageName) !== ''
  } catch {
    return false
  }
}

const problemsOfMail = ({ destinations = {}, smtp }: Alerts, hasMailer: () => boolean): readonly ConfigProblem[] => {
  const name = Object.keys(destinations).find((each) => destinations[each]?.type === 'email')
  const { username, password, pathname = '', search } = URL.parse(smtp?.url ?? '') ?? {}
  return [
    ...(smtp !== undefined && !hasProtocol(smtp.url, /^smtps?:$/)
      ? [{ path: 'alerts.smtp.url', message: 'is no smtp or smtps address' }]
      : []),
    ...(username || password
      ? [{ path: 'alerts.smtp.url', message: 'has a user or password, which are members of their own' }]
      : []),
    // Options of the mailer in a query would take the place of ours.
    ...(hasProtocol(smtp?.url, /^smtps?:$/) && (search || !['', '/'].includes(pathname))
      ? [{ path: 'alerts.smtp.url', message: 'has a path or query: only host and port belong there' }]
      : []),
    ...(name !== undefined && smtp === undefined
      ? [{ path: 'alerts.smtp', message: `is required by the destination ${name}` }]
      : []),
    ...(name !== undefined && !hasMailer()
      ? [
          {
            path: `alerts.destinations.${name}`,
            message: 'mail needs the package nodemailer, which is not installed: npm install nodemailer',
          },
        ]
      : []),
  ]
}

export const alertDestinationsFrom = (
  { alerts = {} }: ConfigFile,
  role: ProcessRole,
  problems: ConfigProblem[],
  hasMailer = () => isInstalled('nodemailer'),
): ReadonlyMap<string, AlertDestination> => {
  const entries = Object.entries(alerts.destinations ?? {})
  if (seals(role))
    problems.push(
      ...entries.flatMap(([name, entry]) => problemsOfDestination(name, entry)),
      ...problemsOfMail(alerts, hasMailer),
    )
  return new Map(entries.map(([name, entry]) => [name, { ...entry, ...(alerts.smtp && { smtp: alerts.smtp }) }]))
}
