import { GatewayError } from '../../errors/gateway-error.ts'

export const findEntry = <T>(entries: Readonly<Record<string, T>>, name: string): T | null =>
  Object.hasOwn(entries, name) ? entries[name]! : null

export const describeSource = (isSet: boolean) => (isSet ? 'administration' : 'configuration')

/** As commands print it. */
export const describeLogSource = (isSet: boolean): string => (isSet ? 'log' : 'configuration')

export const removalReports = { changed: 'override removed', absent: 'unchanged: there is no override' } as const

export const noOverride = (noun: string): GatewayError => new GatewayError('not_found', `This ${noun} has no override.`)
