import { type Dispatch, DispatchLost } from '../roles/dispatch.ts'
import type { CallSource, ServedCalls } from '../roles/proxy/role.ts'
import { type Check, checkOf } from '../runtime/health.ts'

/** The transport between an edge and a proxy in the same process: a plain function call. */
export class LocalCalls implements CallSource {
  #serving: Dispatch | null = null

  readonly dispatch: Dispatch = (call, clientGone, openCalls) => {
    if (this.#serving === null)
      throw new DispatchLost('no_available_channel', 'No proxy serves calls at the moment. Try again.', {
        retryAfterSeconds: 1,
      })
    return this.#serving(call, clientGone, openCalls)
  }

  serve(dispatch: Dispatch): ServedCalls {
    this.#serving = dispatch
    const check = (): Check => checkOf(this.#serving === dispatch, 'calls are not taken any more')
    return {
      get check() {
        return check()
      },
      stop: async () => {
        this.#serving = null
      },
      giveUp: () => undefined, // No reader waits here.
    }
  }
}
