import { sharedLimits } from '../../runtime/limits.ts'
import { serverHealth } from './server-health.ts'

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
