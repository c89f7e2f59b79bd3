import { limits } from '../../limits.ts'

/** The check that shows it can be public. */
const paths = / \/[^\s:]+/g

const ask = async (monitoringUrl: string | undefined): Promise<string | null> => {
  if (monitoringUrl === undefined) return null
  try {
    const url = new URL('/healthz', monitoringUrl)
    const response = await fetch(url, { signal: AbortSignal.timeout(limits.natsRequestMs) })
    const { error } = (await response.json()) as { readonly error?: unknown }
    return typeof error === 'string' ? error.replace(paths, '') : null
  } catch {
    return null // That the log is away is told without it.
  }
}

/**
 * Asks what a server's monitoring says is wrong with it, such as a disk without room, of which its clients hear nothing; null where it says
 * nothing. Many frames fail at once: whoever asks while a question is under way is given its answer.
 */
export const serverWord = (monitoringUrl: string | undefined): (() => Promise<string | null>) => {
  let asked: Promise<string | null> | null = null
  return () => {
    asked ??= ask(monitoringUrl).finally(() => {
      asked = null
    })
    return asked
  }
}
