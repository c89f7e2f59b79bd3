import type { ServerResponse } from 'node:http'

const goesOn = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const settle = (): void => {
      response.off('drain', settle).off('close', settle)
      resolve()
    }
    response.on('drain', settle).on('close', settle)
  })

/** Resolves when the client has read all, or is gone; one that reads nothing for `stallMs` is disconnected. */
export const waitForDrain = async (response: ServerResponse, stallMs: number): Promise<void> => {
  if (response.closed) return
  response.setTimeout(stallMs)
  await goesOn(response)
  response.setTimeout(0)
}

/** A client that does not read the rest within `stallMs` is disconnected. */
export const endResponse = (response: ServerResponse, stallMs: number): void => {
  if (response.closed) return
  response.setTimeout(stallMs)
  response.end()
}
