import { sharedLimits } from '../../runtime/limits.ts'

/** The first with `sync_interval: always` and other behaviour that the log relies on. */
export const oldestServer = '2.10'

/** Of `<major>.<minor>…`. */
export const isServerTooOld = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [majorFloor = 0, minorFloor = 0] = oldestServer.split('.').map(Number)
  return major < majorFloor || (major === majorFloor && minor < minorFloor)
}

interface ServerHealth {
  readonly status: unknown
  readonly error: string | null
}

/** `/healthz` of the monitoring port; null when it does not answer in time. */
export const serverHealth = async (monitoringUrl: string, timeoutMs: number): Promise<ServerHealth | null> => {
  try {
    const url = new URL('/healthz', monitoringUrl)
    const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })
    const { status, error } = (await response.json()) as { readonly status?: unknown; readonly error?: unknown }
    return { status, error: typeof error === 'string' ? error : null }
  } catch {
    return null // Not listening yet, overloaded, or down.
  }
}

interface ServerVariables {
  /** Nanoseconds. */
  readonly ping_interval?: number
  readonly ping_max?: number
}

/** For how long a connection may be silent until the server closes it; null when its monitoring port does not report that in time. */
export const readSilenceMs = async (monitoringUrl: string): Promise<number | null> => {
  try {
    const url = new URL('/varz', monitoringUrl)
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(sharedLimits.natsRequestMs) })
    const { ping_interval, ping_max } = (await response.json()) as ServerVariables
    return ping_interval === undefined || ping_max === undefined ? null : (ping_interval / 1_000_000) * (ping_max + 1)
  } catch {
    return null // As above, or not reached from this machine.
  }
}

/** Paths are removed, since the health check that shows the error can be public. */
const paths = / \/[^\s:]+/g

const readServerError = async (monitoringUrl: string | undefined): Promise<string | null> => {
  if (monitoringUrl === undefined) return null
  const health = await serverHealth(monitoringUrl, sharedLimits.natsRequestMs)
  return health?.error?.replace(paths, '') ?? null
}

/** What is wrong with a server, such as a full disk, is not sent to its clients. Concurrent calls share one request. */
export const createServerErrorReader = (monitoringUrl: string | undefined): (() => Promise<string | null>) => {
  let asked: Promise<string | null> | null = null
  return () => {
    asked ??= readServerError(monitoringUrl).finally(() => {
      asked = null
    })
    return asked
  }
}
