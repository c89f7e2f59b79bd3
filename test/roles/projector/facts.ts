import type { FactOf } from '../../../src/events/envelope.ts'
import type {
  AdjustmentPosted,
  Limits,
  PlanPublished,
  PriceSheet,
  TaskOrder,
  Usage,
} from '../../../src/events/types.ts'

export const workspaceId = 'acme'

/** Whose spending it counts for. */
type CountedFor = Pick<AdjustmentPosted, 'keyId' | 'tags' | 'endUser' | 'day'>

export const sheet: PriceSheet = {
  currency: 'USD',
  per_million_tokens: { input: '2.5', output: '10' },
  max_output_tokens: 4096,
}

const usage: Usage = {
  inputUncached: 100,
  cacheRead: 20,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  inputAudio: 0,
  inputImage: 0,
  outputTotal: 30,
  outputReasoning: 10,
  outputAudio: 0,
  outputImage: 0,
  toolCalls: { web_search: 1 },
  promptTotal: 120,
}

export const opened = (id = workspaceId, creditLimit = '5'): FactOf<'WorkspaceOpened'> => ({
  type: 'WorkspaceOpened',
  data: { workspaceId: id, name: `The ${id} company`, creditLimit },
})

export const keyIssued = (keyId: string, id = workspaceId, replaces?: string): FactOf<'KeyIssued'> => ({
  type: 'KeyIssued',
  data: {
    keyId,
    workspaceId: id,
    name: `key ${keyId}`,
    sha256: Buffer.from(keyId).toString('hex').padEnd(64, '0'),
    prefix: 'sk-abc',
    ...(replaces === undefined ? {} : { replaces }),
  },
})

export const workspaceChanged = (id = workspaceId, creditLimit = '7'): FactOf<'WorkspaceChanged'> => ({
  type: 'WorkspaceChanged',
  data: { workspaceId: id, name: `The new ${id}`, creditLimit },
})

export const keyExpirySet = (
  keyId: string,
  id = workspaceId,
  expiresAt = '2026-04-01T00:00:00.000Z',
): FactOf<'KeyExpirySet'> => ({ type: 'KeyExpirySet', data: { keyId, workspaceId: id, expiresAt } })

export const aliasSet = (alias: string, model: string | null = 'openai/gpt-4o'): FactOf<'AliasSet'> => ({
  type: 'AliasSet',
  data: { alias, model },
})

export const routerSet = (
  router: string,
  models: readonly string[] | null = ['openai/gpt-4o'],
): FactOf<'RouterSet'> => ({
  type: 'RouterSet',
  data: { router, candidates: models?.map((model) => ({ model, weight: 2 })) ?? null, order: 'weighted' },
})

export const keyRevoked = (keyId: string, id = workspaceId): FactOf<'KeyRevoked'> => ({
  type: 'KeyRevoked',
  data: { keyId, workspaceId: id },
})

export const limitsSet = (limits: Limits, keyId?: string, id = workspaceId): FactOf<'LimitsSet'> => ({
  type: 'LimitsSet',
  data: { workspaceId: id, ...(keyId === undefined ? {} : { keyId }), limits },
})

export const pricePublished = (
  version: string,
  effectiveFrom = '2026-01-01T00:00:00Z',
  model = 'openai/gpt-4o-mini',
): FactOf<'PricePublished'> => ({
  type: 'PricePublished',
  data: { model, version, effectiveFrom, source: 'https://example.com/prices', sheet },
})

export const videoPricePublished = (
  version: string,
  model = 'vv/v3',
  unitPrice = '0.14',
): FactOf<'PricePublished'> => ({
  type: 'PricePublished',
  data: {
    model,
    version,
    effectiveFrom: '2026-01-01T00:00:00Z',
    source: 'https://example.com/prices',
    video: { currency: 'USD', unit_price: unitPrice, units_per_second: { std: '0.6', 'pro+audio': '1.2' } },
  },
})

export const credited = (reference: string, amount = '10', id = workspaceId): FactOf<'WalletCredited'> => ({
  type: 'WalletCredited',
  data: { workspaceId: id, amount, reference, note: 'paid' },
})

export const creditedUntil = (
  reference: string,
  expiresAt: string,
  amount = '10',
  id = workspaceId,
): FactOf<'WalletCredited'> => ({
  type: 'WalletCredited',
  data: { workspaceId: id, amount, reference, note: 'paid', expiresAt },
})

export const creditExpired = (reference: string, amount = '1', id = workspaceId): FactOf<'CreditExpired'> => ({
  type: 'CreditExpired',
  data: { workspaceId: id, reference, amount },
})

export const planPublished = (planId: string, changes: Partial<PlanPublished> = {}): FactOf<'PlanPublished'> => ({
  type: 'PlanPublished',
  data: {
    planId,
    name: `The ${planId} plan`,
    price: '20',
    period: 'month',
    includedCredit: '5',
    limits: { requestsPerMinute: 60, spend: { day: '3' } },
    ...changes,
  },
})

export const invoiceIssued = (changes: Partial<FactOf<'InvoiceIssued'>['data']> = {}): FactOf<'InvoiceIssued'> => {
  const { month = '2026-02', number = 1 } = changes
  const party = { name: 'nul\u0000', address: ['1 Road'] }
  return {
    type: 'InvoiceIssued',
    data: {
      ...{ invoiceId: `INV-${number}`, number, kind: 'invoice', workspaceId, workspaceName: 'Acme', month },
      ...{ covers: [month], sequence: 1, periodDigest: 'ab'.repeat(32), issuedOn: '2026-03-01' },
      ...{ seller: party, buyer: party, lines: [], tags: [], exact: '0', net: '0.00', taxRate: '0' },
      ...{ tax: '0.00', gross: '0.00', documentDigest: 'cd'.repeat(32) },
      ...changes,
    },
  }
}

export const invoiceReconciled = (
  changes: Partial<FactOf<'InvoiceReconciled'>['data']> = {},
): FactOf<'InvoiceReconciled'> => ({
  type: 'InvoiceReconciled',
  data: {
    ...{ provider: 'openai', from: '2026-02-01', to: '2026-02-28', timezone: 'UTC', digest: 'ab'.repeat(32) },
    ...{ invoiced: '3', charged: '1', explained: '0', unreconciled: '2', differences: 1, sequence: 1 },
    ...changes,
  },
})

const isoOf = (day: string): string => new Date(`${day}T12:00:00Z`).toISOString()

/** A period from the noon of one day to that of another. */
const period = (subscriptionId: string, from: string, to: string) => ({
  subscriptionId,
  workspaceId,
  ...planPublished('pro').data,
  startsAt: isoOf(from),
  expiresAt: isoOf(to),
})

export const planSubscribed = (
  subscriptionId: string,
  [from, to]: readonly [string, string],
  changes: Partial<FactOf<'PlanSubscribed'>['data']> = {},
): FactOf<'PlanSubscribed'> => ({
  type: 'PlanSubscribed',
  data: { ...period(subscriptionId, from, to), renews: true, ...changes },
})

export const planRenewed = (
  subscriptionId: string,
  [from, to]: readonly [string, string],
  changes: Partial<FactOf<'PlanRenewed'>['data']> = {},
): FactOf<'PlanRenewed'> => ({
  type: 'PlanRenewed',
  data: { ...period(subscriptionId, from, to), ...changes },
})

export const planCancelled = (subscriptionId: string, id = workspaceId): FactOf<'PlanCancelled'> => ({
  type: 'PlanCancelled',
  data: { subscriptionId, workspaceId: id },
})

export const planEnded = (
  subscriptionId: string,
  reason: FactOf<'PlanEnded'>['data']['reason'] = 'expired',
  id = workspaceId,
): FactOf<'PlanEnded'> => ({ type: 'PlanEnded', data: { subscriptionId, workspaceId: id, reason } })

export const adjusted = (
  adjustmentId: string,
  amount = '0.01',
  id = workspaceId,
  spender?: CountedFor,
): FactOf<'AdjustmentPosted'> => ({
  type: 'AdjustmentPosted',
  data: { adjustmentId, workspaceId: id, amount, reason: 'undelivered', corrects: 'request-1', note: '', ...spender },
})

export const holdPlaced = (
  holdId: string,
  amount = '1',
  id = workspaceId,
  spender?: CountedFor,
): FactOf<'HoldPlaced'> => ({
  type: 'HoldPlaced',
  data: {
    holdId,
    workspaceId: id,
    purpose: 'allowance',
    amount,
    deadline: '2026-03-01T01:00:00.000Z',
    owner: 'edge-1',
    ...spender,
  },
})

export const holdReleased = (
  holdId: string,
  id = workspaceId,
  reason: FactOf<'HoldReleased'>['data']['reason'] = 'returned',
): FactOf<'HoldReleased'> => ({ type: 'HoldReleased', data: { holdId, workspaceId: id, reason } })

const order: TaskOrder = {
  keyId: 'key-1',
  surface: 'video',
  kind: 'text2video',
  model: 'vv/v3',
  provider: 'vv',
  upstreamModel: 'vendor-v3',
  priceVersion: 'v1',
  unitPrice: '0.14',
  unitsMax: '6',
  requestDigest: 'ab'.repeat(32),
  payloadDigest: 'cd'.repeat(32),
}

export const taskPlaced = (
  taskId: string,
  changes: Partial<TaskOrder> = {},
  id = workspaceId,
  amount = '0.84',
): FactOf<'HoldPlaced'> => ({
  type: 'HoldPlaced',
  data: {
    holdId: taskId,
    workspaceId: id,
    purpose: 'task',
    amount,
    deadline: '2026-03-02T00:00:00.000Z',
    owner: 'edge-1',
    task: { ...order, ...changes },
  },
})

export const taskSubmitted = (
  taskId: string,
  vendorTaskId = `vendor-${taskId}`,
  id = workspaceId,
): FactOf<'TaskSubmitted'> => ({ type: 'TaskSubmitted', data: { taskId, workspaceId: id, vendorTaskId } })

export const taskProgressed = (
  taskId: string,
  progress: number,
  status: 'SUBMITTED' | 'IN_PROGRESS' = 'IN_PROGRESS',
  id = workspaceId,
): FactOf<'TaskProgressed'> => ({ type: 'TaskProgressed', data: { taskId, workspaceId: id, status, progress } })

/** A success of 4.5 units, unless said otherwise. */
export const taskSettled = (
  taskId: string,
  changes: Partial<FactOf<'TaskSettled'>['data']> = {},
): FactOf<'TaskSettled'> => ({
  type: 'TaskSettled',
  data: {
    taskId,
    workspaceId,
    outcome: 'SUCCESS',
    vendorTaskId: `vendor-${taskId}`,
    deduction: '4.5',
    source: 'reported',
    priceVersion: 'v1',
    lines: [{ item: 'video', quantity: '4.5', unitPrice: '0.14', amount: '0.63' }],
    total: '0.63',
    held: '0.84',
    results: [{ id: 'video-1', url: 'https://vendor.example/1.mp4?sign=a', duration: '5.1' }],
    ...changes,
  },
})

export const taskFailed = (
  taskId: string,
  changes: Partial<FactOf<'TaskSettled'>['data']> = {},
): FactOf<'TaskSettled'> => {
  const { deduction: _, ...data } = taskSettled(taskId).data
  return {
    type: 'TaskSettled',
    data: { ...data, outcome: 'FAILURE', failReason: 'refused', lines: [], total: '0', results: [], ...changes },
  }
}

export const lateVerdict = (
  taskId: string,
  changes: Partial<FactOf<'LateVerdictSeen'>['data']> = {},
): FactOf<'LateVerdictSeen'> => ({
  type: 'LateVerdictSeen',
  data: { taskId, workspaceId, vendorTaskId: `vendor-${taskId}`, outcome: 'SUCCESS', cost: '0.63', ...changes },
})

const hashText = (byte: number): string => Buffer.alloc(32, byte).toString('base64')

/** A checkpoint whose figures have the right form, and which nobody has signed. */
export const checkpointSealed = (
  size: number,
  changes: Partial<FactOf<'CheckpointSealed'>['data']> = {},
): FactOf<'CheckpointSealed'> => ({
  type: 'CheckpointSealed',
  data: {
    size,
    root: hashText(size % 256),
    peaks: [],
    from: 0,
    leaves: '',
    note: `log\n${size}\n${hashText(size % 256)}\n\n— log AAAA\n`,
    ...changes,
  },
})

type Changes<T extends 'RequestRouted' | 'UsageRecorded' | 'RequestFailed'> = Partial<FactOf<T>['data']>

export const routed = (requestId: string, changes: Changes<'RequestRouted'> = {}): FactOf<'RequestRouted'> => ({
  type: 'RequestRouted',
  data: {
    requestId,
    workspaceId,
    keyId: 'key-1',
    surface: 'chat',
    model: 'gpt-4o-mini',
    router: null,
    stream: true,
    candidates: [
      {
        model: 'openai/gpt-4o-mini',
        provider: 'openai',
        upstreamModel: 'gpt-4o-mini',
        priceVersion: 'v1',
      },
    ],
    allowanceId: null,
    reserved: '0.05',
    outputCap: null,
    deadline: '2026-03-01T00:10:00.000Z',
    ...changes,
  },
})

export const used = (requestId: string, changes: Changes<'UsageRecorded'> = {}): FactOf<'UsageRecorded'> => ({
  type: 'UsageRecorded',
  data: {
    requestId,
    workspaceId,
    keyId: 'key-1',
    surface: 'chat',
    model: 'openai/gpt-4o-mini',
    provider: 'openai',
    level: 0,
    priceVersion: 'v1',
    usage,
    source: 'reported',
    lines: [
      { item: 'input', quantity: 100, unitPrice: '0.0000025', amount: '0.00025' },
      { item: 'output', quantity: 30, unitPrice: '0.00001', amount: '0.0003' },
    ],
    total: '0.00055',
    reserved: '0.05',
    allowanceId: null,
    attempts: [
      {
        model: 'openai/gpt-4o-mini',
        provider: 'openai',
        outcome: 'served',
        status: 200,
        reason: null,
        durationMs: 812,
        deployment: 'eu',
        upstreamRequestId: 'req_1',
      },
    ],
    outcome: 'completed',
    ...changes,
  },
})

/** Of a bill: its stream broke off. */
export const interruptedBy = (reason: string): Pick<FactOf<'UsageRecorded'>['data'], 'outcome' | 'attempts'> => ({
  outcome: 'interrupted',
  attempts: used('').data.attempts.map((attempt) => ({ ...attempt, reason })),
})

export const failed = (requestId: string, changes: Changes<'RequestFailed'> = {}): FactOf<'RequestFailed'> => ({
  type: 'RequestFailed',
  data: {
    requestId,
    workspaceId,
    keyId: 'key-1',
    surface: 'chat',
    status: 502,
    reason: 'upstream_error',
    allowanceId: null,
    attempts: [
      {
        model: 'openai/gpt-4o-mini',
        provider: 'openai',
        outcome: 'failed',
        status: 500,
        reason: 'server_error',
        durationMs: 12,
      },
    ],
    ...changes,
  },
})
