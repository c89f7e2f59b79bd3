import type { Fact } from '../../../src/events/envelope.ts'

/** A video task that is made, and who pays for it. */
export interface BenchTask {
  readonly taskId: string
  readonly workspaceId: string
  readonly keyId: string
  readonly owner: string
}

const deadline = '2100-01-01T00:00:00.000Z'
const priceVersion = '0123456789abcdef'
const digest = '0'.repeat(64)

export const holdOf = ({ taskId, workspaceId, keyId, owner }: BenchTask): Fact => ({
  type: 'HoldPlaced',
  data: {
    ...{ holdId: taskId, workspaceId, purpose: 'task', amount: '0.84', deadline, owner },
    task: {
      ...{ keyId, surface: 'video', kind: 'text2video', model: 'vv/v3', provider: 'vv' },
      ...{ upstreamModel: 'v3', priceVersion, unitPrice: '0.14', unitsMax: '6' },
      ...{ requestDigest: digest, payloadDigest: digest },
    },
  },
})

/** What is said of it after its hold, until it has succeeded. */
export const courseOf = ({ taskId, workspaceId }: BenchTask): readonly Fact[] => [
  { type: 'TaskSubmitted', data: { taskId, workspaceId, vendorTaskId: `vendor-${taskId}` } },
  { type: 'TaskProgressed', data: { taskId, workspaceId, status: 'IN_PROGRESS', progress: 30 } },
  {
    type: 'TaskSettled',
    data: {
      ...{ taskId, workspaceId, outcome: 'SUCCESS', vendorTaskId: `vendor-${taskId}`, deduction: '3' },
      ...{ source: 'reported', priceVersion, total: '0.42', held: '0.84' },
      lines: [{ item: 'video', quantity: '3', unitPrice: '0.14', amount: '0.42' }],
      results: [{ id: `${taskId}-1`, url: `https://vendor.example/${taskId}.mp4`, duration: '5.1' }],
    },
  },
]
