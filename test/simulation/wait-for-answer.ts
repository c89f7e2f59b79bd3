import { HttpFault, type HttpRequest } from '../../src/providers/http.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Throws HttpFault `aborted` when the caller gives up before. */
export const waitForAnswer = async (
  time: Pick<VirtualTime, 'sleep'>,
  { signal }: Pick<HttpRequest, 'signal'>,
  ms: number,
): Promise<void> => {
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(new HttpFault('aborted'))
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    await Promise.race([time.sleep(ms), aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
