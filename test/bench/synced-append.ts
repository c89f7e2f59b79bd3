import type { OpenLog } from '../../src/adapters/nats/log.ts'
import type { FactOf } from '../../src/events/envelope.ts'
import { median } from './figures.ts'

/** An event of an ordinary size. */
const routed = (requestId: string): FactOf<'RequestRouted'> => ({
  type: 'RequestRouted',
  data: {
    requestId,
    workspaceId: 'bench',
    keyId: 'key_bench',
    surface: 'chat',
    model: 'openai/bench',
    router: null,
    stream: false,
    candidates: [
      { model: 'openai/bench', provider: 'openai', upstreamModel: 'bench', priceVersion: '0123456789abcdef' },
    ],
    allowanceId: 'allowance',
    reserved: '0.001',
    outputCap: null,
    deadline: '2026-01-01T00:00:00.000Z',
  },
})

/** Milliseconds of one append, one event in a frame, at the median of so many after one another. */
export const measureSyncedAppend = async (log: OpenLog, count: number): Promise<number> => {
  const tookMs: number[] = []
  for (let done = 0; done < count; done += 1) {
    const fromMs = performance.now()
    await log.append([routed(`request-${done}`)])
    tookMs.push(performance.now() - fromMs)
  }
  return median(tookMs)
}
