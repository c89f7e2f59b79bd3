import { sharedLimits } from '../../runtime/limits.ts'
import { serverHealth } from './server-health.ts'

/** The check that shows it can be public. */
const paths = / \/[^\s:]+/g

const readServerError = async (monitoringUrl: string | undefined): Promise<string | null> => {
  if (monitoringUrl === undefined) return null
  const health = await serverHealth(monitoringUrl, sharedLimits.natsRequestMs) // That the log is away is told without it.
  return health?.error?.replace(paths, '') ?? null
}

/**
 * Asks what a server's monitoring says is wrong with it, such as a disk without room, of which its clients hear nothing; null where it says
 * nothing. Many frames fail at once: whoever asks while a question is under way is given its answer.
 */
export const createServerErrorReader = (monitoringUrl: string | undefined): (() => Promise<string | null>) => {
  let asked: Promise<string | null> | null = null
  return () => {
    asked ??= readServerError(monitoringUrl).finally(() => {
      asked = null
    })
    return asked
  }
}
