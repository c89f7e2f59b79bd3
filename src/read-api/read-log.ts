import { GatewayError } from '../errors/gateway-error.ts'
import { Semaphore } from '../runtime/semaphore.ts'
import { withTimeout } from '../runtime/within.ts'
import { readLimits } from './limits.ts'

const unreadable = (cause?: unknown): GatewayError =>
  new GatewayError('log_unavailable', 'The event log cannot be read right now. Try again shortly.', {
    cause,
    retryAfterSeconds: 1,
  })

const fromLog = async <T>(read: () => Promise<T>): Promise<T> => {
  try {
    return await read()
  } catch (fault) {
    throw fault instanceof GatewayError ? fault : unreadable(fault)
  }
}

/** Bounds concurrent reads of the stored log. Throws `log_unavailable` where a read fails or is late. */
export const limitLogReads = (): (<T>(read: () => Promise<T>) => Promise<T>) => {
  const semaphore = new Semaphore(readLimits.explainsAtOnceMax)
  return (read) => {
    let isAwaited = true
    const answer = semaphore.run(() => (isAwaited ? fromLog(read) : Promise.reject(unreadable())))
    return withTimeout(answer, readLimits.explainMs, () => {
      isAwaited = false
      return unreadable()
    })
  }
}
