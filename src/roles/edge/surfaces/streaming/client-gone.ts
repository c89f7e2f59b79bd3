import type { ServerResponse } from 'node:http'

/** Fires when the client leaves before its response is complete. */
export const clientGoneOf = (response: ServerResponse): AbortSignal => {
  const controller = new AbortController()
  const check = (): void => {
    if (!response.writableFinished) controller.abort()
  }
  if (response.closed) check()
  else response.once('close', check)
  return controller.signal
}
