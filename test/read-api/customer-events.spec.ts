import t from 'tap'
import { isHiddenFromKeys } from '../../src/read-api/customer-events.ts'

const workspaceId = 'acme'

t.test('an event is shown whole to a key of its own workspace, unless it is of the operator', async (t) => {
  for (const [isShown, type, data, actor] of [
    [true, 'UsageRecorded', { workspaceId }],
    [false, 'UsageRecorded', { workspaceId: 'beta' }],
    [true, 'AdjustmentPosted', { workspaceId }],
    [false, 'AdjustmentPosted', { workspaceId, by: 'admin:ana' }],
    [false, 'AdjustmentProposed', { workspaceId }],
    [false, 'AlertRaised', { workspaceId }],
    [false, 'KeyIssued', { workspaceId }, 'admin:ana'],
    [true, 'PricePublished', {}],
    [true, 'CheckpointSealed', {}],
    [false, 'PeriodClosed', {}],
    [false, 'InvoiceReconciled', {}],
    [false, 'RefusalsCounted', {}],
    [false, 'OfALaterRelease', {}],
  ] as const)
    t.equal(!isHiddenFromKeys({ type, data, actor }, workspaceId), isShown, `${type} ${JSON.stringify(data)}`)
})
