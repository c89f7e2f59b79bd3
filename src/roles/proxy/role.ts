import { limits } from '../../limits.ts'
import { within } from '../../within.ts'
import { type Dispatch, defineRole, type RunningRole } from '../role.ts'
import { CallsInFlight } from './calls-in-flight.ts'
import { createForward, type ForwardParts } from './forward.ts'

/** Where routed calls come from: the edge of the same process, or a queue. */
export interface CallSource {
  /** Hands every call to `dispatch` until it is stopped. */
  serve(dispatch: Dispatch): RunningRole
}

export interface ProxyParts extends Omit<ForwardParts, 'inFlight'> {
  readonly calls: CallSource
}

const start = async ({ calls, ...parts }: ProxyParts): Promise<RunningRole> => {
  const inFlight = new CallsInFlight()
  const serving = calls.serve(createForward({ ...parts, inFlight }))
  return {
    stop: async () => {
      await serving.stop()
      await within(inFlight.idle(), limits.stopMs, () => new Error('calls were still in flight when the proxy stopped'))
    },
  }
}

/** Routed call → provider → bytes and one closing event. */
export const proxy = defineRole({
  name: 'proxy',
  emits: ['UsageRecorded', 'RequestFailed', 'AdjustmentPosted'],
  start,
})
