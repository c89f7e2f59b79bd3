import type { CallSource } from '../roles/proxy/role.ts'
import type { Dispatch, RunningRole } from '../roles/role.ts'

/** The transport between an edge and a proxy of the same process: a plain function call. */
export class LocalCalls implements CallSource {
  #serving: Dispatch | null = null

  readonly dispatch: Dispatch = (call, clientGone) => {
    if (this.#serving === null) throw new Error('no proxy serves calls in this process')
    return this.#serving(call, clientGone)
  }

  serve(dispatch: Dispatch): RunningRole {
    this.#serving = dispatch
    return { stop: async () => undefined }
  }
}
