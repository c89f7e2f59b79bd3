import type { ProcessRole } from '../roles/role.ts'
import type { ConfigProblem } from './config-error.ts'
import type { ConfigFile } from './config-file.types.ts'
import { configLimits } from './limits.ts'
import { seals } from './roles.ts'

type AlertDestination = NonNullable<NonNullable<ConfigFile['alerts']>['destinations']>[string]

/** What other processes than schedulers have is not filled in: they use the names alone. */
const problemsOfDestination = (name: string, { type, url, secret }: AlertDestination): readonly ConfigProblem[] => {
  const path = `alerts.destinations.${name}`
  const least = configLimits.alertSecretCharactersMin
  return [
    ...(/^https?:$/.test(URL.parse(url)?.protocol ?? '')
      ? []
      : [{ path: `${path}.url`, message: 'is no http address' }]),
    ...(type === 'webhook' && (secret ?? '').length < least
      ? [{ path: `${path}.secret`, message: `has fewer than ${least} characters` }]
      : []),
    ...(type === 'slack' && secret !== undefined ? [{ path: `${path}.secret`, message: 'is for webhooks alone' }] : []),
  ]
}

export const alertDestinationsFrom = (
  { alerts: { destinations = {} } = {} }: ConfigFile,
  role: ProcessRole,
  problems: ConfigProblem[],
): ReadonlyMap<string, AlertDestination> => {
  const entries = Object.entries(destinations)
  if (seals(role)) problems.push(...entries.flatMap(([name, entry]) => problemsOfDestination(name, entry)))
  return new Map(entries)
}
