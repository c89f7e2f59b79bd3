import type { ServerResponse } from 'node:http'

/**
 * Disconnects the client in `ms`, unless what this returns is called before. A socket's own time-out would not do: every
 * byte that the client sends begins it anew.
 */
export const disconnectAfter = (response: ServerResponse, ms: number): (() => void) => {
  if (response.closed) return () => undefined
  const timer = setTimeout(() => response.destroy(), ms)
  const cancel = (): void => {
    clearTimeout(timer)
    response.off('close', cancel)
  }
  response.once('close', cancel)
  return cancel
}
