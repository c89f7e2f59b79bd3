import fc from 'fast-check'
import { creditKey } from '../../../src/domain/wallet/evolve.ts'
import type { Fact } from '../../../src/events/envelope.ts'
import { wrapEvent } from '../../../src/events/envelope.ts'
import type { StatementEntry } from '../../../src/projections/statements/queries.ts'
import { MemoryLog } from '../../support/memory-log.ts'
import {
  adjusted,
  aliasSet,
  checkpointSealed,
  creditExpired,
  credited,
  creditedUntil,
  failed,
  holdPlaced,
  holdReleased,
  invoiceIssued,
  invoiceReconciled,
  keyExpirySet,
  keyIssued,
  keyRevoked,
  lateVerdict,
  limitsSet,
  opened,
  planCancelled,
  planEnded,
  planPublished,
  planRenewed,
  planSubscribed,
  pricePublished,
  routed,
  routerSet,
  taskFailed,
  taskPlaced,
  taskProgressed,
  taskSettled,
  taskSubmitted,
  used,
  videoPricePublished,
  workspaceChanged,
} from './facts.ts'

/** A frame as a writer makes it: on a wallet's subject, or on a journal of one of two writers, whose counters may skip. */
interface Step {
  readonly wallet: boolean
  readonly workspaceId: string
  readonly facts: readonly Fact[]
  readonly writer: string
  /** How many counters are skipped; a later frame may take them. */
  readonly skip: number
  /** Which earlier journal frame is stored again after it. */
  readonly again: number | null
}

export type History = readonly Step[]

/** By the lines of a wallet's statement alone: a correction of a credit, however many corrections away. */
export const isPayment = ({ corrects }: StatementEntry, all: readonly StatementEntry[], steps = 0): boolean => {
  if (corrects === '' || steps > all.length) return false
  if (corrects.startsWith(creditKey(''))) return true
  const behind = all.filter(({ reference }) => reference === corrects)
  const adjustment = behind.find(({ kind }) => kind === 'adjustment')
  return (
    adjustment !== undefined && !behind.some(({ kind }) => kind === 'charge') && isPayment(adjustment, all, steps + 1)
  )
}

export const historyWorkspaces = ['acme', 'never-opened']
const strange = [
  'plain',
  'a "quoted", \\back\\slash',
  'tab\tnew\nline',
  'nul\u0000 and half \ud83d',
  '\ue0000000',
  '€ 😀',
]

const amount = fc.constantFrom('0.000000000001', '0.1', '3', '12.345678901234', '999.5')
const small = fc.nat({ max: 2 })
const workspace = fc.constantFrom(...historyWorkspaces)
const nameOf = (kind: string) => small.map((number) => `${kind}-${number}`)

/** A workspace has tasks of its own; now and then it is told the other's, or what is no task. */
const taskIdOf = (workspaceId: string): fc.Arbitrary<string> =>
  fc
    .record({ number: fc.nat({ max: 2 }), stray: fc.nat({ max: 19 }) })
    .map(({ number, stray }) =>
      stray === 0
        ? 'hold-1'
        : `task-${2 * number + ((historyWorkspaces.indexOf(workspaceId) + Number(stray === 1)) % 2)}`,
    )

const taskFact = (workspaceId: string): fc.Arbitrary<Fact> =>
  fc
    .record({
      taskId: taskIdOf(workspaceId),
      usd: amount,
      kind: fc.constantFrom('text2video' as const, 'omni-video' as const),
      name: fc.constantFrom(...strange),
      externalTaskId: fc.option(fc.constantFrom(...strange), { nil: undefined }),
    })
    .map(({ taskId, usd, kind, name, externalTaskId }) =>
      taskPlaced(
        taskId,
        {
          kind,
          model: name,
          upstreamModel: name,
          requestDigest: String(taskId.length + name.length).repeat(32),
          ...(externalTaskId === undefined ? {} : { externalTaskId }),
        },
        workspaceId,
        usd,
      ),
    )

const task = workspace.chain((workspaceId) => taskIdOf(workspaceId).map((taskId) => ({ taskId, workspaceId })))

const verdictFact: fc.Arbitrary<Fact> = fc
  .record({
    task,
    kind: fc.constantFrom('submitted', 'progressed', 'progressed', 'succeeded', 'failed', 'late'),
    progress: fc.nat({ max: 99 }),
    status: fc.constantFrom('SUBMITTED' as const, 'IN_PROGRESS' as const),
    total: amount,
    text: fc.constantFrom(...strange),
    vendorCode: fc.constantFrom(undefined, -1, 1301, 1e21),
  })
  .map(({ task: { taskId, workspaceId }, kind, progress, status, total, text, vendorCode }) => {
    if (kind === 'submitted') return taskSubmitted(taskId, text, workspaceId)
    if (kind === 'progressed') return taskProgressed(taskId, progress, status, workspaceId)
    if (kind === 'late') return lateVerdict(taskId, { workspaceId, cost: total, failReason: text })
    const results = [{ id: text, url: text }]
    if (kind === 'succeeded') return taskSettled(taskId, { workspaceId, total, deduction: text, results })
    return taskFailed(taskId, {
      workspaceId,
      failReason: text,
      ...(vendorCode === undefined ? {} : { vendorCode }),
    })
  })

const tagOf = (text: string): string => text.slice(0, 64) || 'none'
const endUserOf = (number: number): string => String(number % 2).repeat(64)

/** Of a key, tags and an end user, each or not; or of nobody's. */
const spender = fc.option(
  fc
    .record({
      keyId: fc.option(nameOf('key'), { nil: undefined }),
      tags: fc.constantFrom(undefined, { env: 'prod' }, ...strange.map((text) => ({ env: 'prod', team: tagOf(text) }))),
      endUser: fc.constantFrom(undefined, endUserOf(0), endUserOf(1)),
      day: fc.constantFrom('2026-02-28', '2026-03-01', '2026-03-02'),
    })
    .map(({ keyId, tags, endUser, day }) => ({
      ...(keyId === undefined ? {} : { keyId }),
      ...(tags === undefined ? {} : { tags }),
      ...(endUser === undefined ? {} : { endUser }),
      day,
    })),
  { nil: undefined },
)

/** Now and then in the place of another, which may be of the other workspace, or come later. */
const issuedFact = (workspaceId?: string): fc.Arbitrary<Fact> =>
  fc
    .tuple(nameOf('key'), fc.option(nameOf('key'), { nil: undefined }))
    .map(([keyId, replaces]) => keyIssued(keyId, workspaceId, replaces))

const limitsFact = (workspaceId: string): fc.Arbitrary<Fact> =>
  fc
    .record({ keyId: fc.option(nameOf('key'), { nil: undefined }), usd: amount, model: fc.constantFrom(...strange) })
    .map(({ keyId, usd, model }) => limitsSet({ spend: { day: usd }, allowedModels: [model] }, keyId, workspaceId))

const label = fc.constantFrom(
  { tag: 'env=prod' },
  ...strange.map((text) => ({ tag: `team=${tagOf(text)}` })),
  { endUser: endUserOf(0) },
  { endUser: endUserOf(1) },
)

/** Now and then lifted. */
const labelLimitsFact = (workspaceId: string): fc.Arbitrary<Fact> =>
  fc.tuple(label, fc.option(amount, { nil: undefined })).map(([named, usd]) => ({
    type: 'LimitsSet',
    data: { workspaceId, ...named, limits: usd === undefined ? {} : { spend: { month: usd } } },
  }))

const periodDays = ['2026-01-31', '2026-02-28', '2026-03-31', '2026-04-30'] as const

/** One subscription after the other, whose periods begin in any order and now and then with free text that is strange. */
const planFact = (workspaceId: string): fc.Arbitrary<Fact> =>
  fc
    .record({
      kind: fc.constantFrom('subscribed', 'subscribed', 'renewed', 'renewed', 'cancelled', 'ended'),
      id: nameOf('sub'),
      name: fc.constantFrom(...strange),
      price: fc.constantFrom('0', '2.50', '12.345678901234'),
      includedCredit: fc.constantFrom('0', '1.5', '40'),
      start: fc.nat({ max: 2 }),
      period: fc.constantFrom('day' as const, 'month' as const),
    })
    .map(({ kind, id, start, ...terms }) => {
      const data = { ...terms, workspaceId, limits: { allowedModels: [terms.name] } }
      const days = [periodDays[start]!, periodDays[start + 1]!] as const
      if (kind === 'subscribed') return planSubscribed(id, days, data)
      if (kind === 'renewed') return planRenewed(id, days, data)
      return kind === 'cancelled' ? planCancelled(id, workspaceId) : planEnded(id, 'expired', workspaceId)
    })

/** Of a credit, or of a period of a plan. */
const grantReference = fc.oneof(
  fc.constantFrom(...strange),
  fc.tuple(nameOf('sub'), fc.constantFrom(...periodDays)).map(([id, day]) => `${id}@${day}T12:00:00.000Z`),
)

const lapsingFact = (workspaceId: string): fc.Arbitrary<Fact> =>
  fc.oneof(
    fc
      .tuple(grantReference, fc.constantFrom(...periodDays), amount)
      .map(([reference, day, usd]) => creditedUntil(reference, `${day}T12:00:00Z`, usd, workspaceId)),
    fc.tuple(grantReference, amount).map(([reference, usd]) => creditExpired(reference, usd, workspaceId)),
  )

/** A request or a task, perhaps of the other workspace, a credit, an adjustment, perhaps itself, or what does not exist. */
const correctedId = fc.oneof(
  fc.constantFrom(...strange).map(creditKey),
  fc.nat({ max: 11 }).map((number) => `request-${number}`),
  nameOf('task'),
  nameOf('adjustment'),
  fc.constantFrom(...strange),
)

const walletFact = (workspaceId: string): fc.Arbitrary<Fact> =>
  fc.oneof(
    fc.tuple(fc.constantFrom(...strange), amount).map(([reference, usd]) => credited(reference, usd, workspaceId)),
    fc
      .tuple(nameOf('adjustment'), fc.constantFrom('', '-'), amount, spender, correctedId)
      .map(([id, sign, usd, counted, corrects]) => {
        const { type, data } = adjusted(id, `${sign}${usd}`, workspaceId, counted)
        return { type, data: { ...data, corrects } }
      }),
    fc.tuple(nameOf('hold'), amount, spender).map(([id, usd, counted]) => holdPlaced(id, usd, workspaceId, counted)),
    nameOf('hold').map((id) => holdReleased(id, workspaceId)),
    { weight: 3, arbitrary: taskFact(workspaceId) },
    { weight: 2, arbitrary: planFact(workspaceId) },
    { weight: 2, arbitrary: lapsingFact(workspaceId) },
    taskIdOf(workspaceId).map((id) => holdReleased(id, workspaceId, 'expired')),
    fc.tuple(fc.constantFrom('3', '0'), fc.constantFrom({}, { account: 'globex-corp' })).map(([limit, account]) => {
      const { type, data } = workspaceChanged(workspaceId, limit)
      return { type, data: { ...data, ...account } }
    }),
    fc
      .constantFrom('WorkspaceSuspended' as const, 'WorkspaceResumed' as const, 'WorkspaceClosed' as const)
      .map((type) => ({ type, data: { workspaceId } })),
    issuedFact(workspaceId),
    nameOf('key').map((id) => keyExpirySet(id, workspaceId)),
    limitsFact(workspaceId),
    { weight: 2, arbitrary: labelLimitsFact(workspaceId) },
  )

const month = fc.constantFrom('2026-02', '2026-03', '2026-04')
const totals = { workspaces: 1, requests: 1, opening: '0', credits: '0', charges: '0', corrections: '0', fees: '0' }
const periodFact: fc.Arbitrary<Fact> = fc.oneof(
  month.map((each) => ({ type: 'PeriodCutOff' as const, data: { month: each } })),
  month.map((each) => ({ type: 'PeriodReopened' as const, data: { month: each, reason: 'nul\u0000' } })),
  fc.tuple(month, fc.integer({ min: 1, max: 30 })).map(([each, sequence]) => ({
    type: 'PeriodClosed' as const,
    data: {
      ...{ month: each, sequence, digest: 'ab'.repeat(32), exceptions: 0 },
      totals: { ...totals, lapsed: '0', closing: '0' },
    },
  })),
  fc
    .record({ month, number: fc.integer({ min: 1, max: 3 }), sequence: fc.integer({ min: 1, max: 30 }) })
    .map((issued) => invoiceIssued(issued)),
  fc
    .tuple(fc.constantFrom(...strange), amount)
    .map(([provider, unreconciled]) => invoiceReconciled({ provider, unreconciled })),
)

const accountFact: fc.Arbitrary<Fact> = fc.oneof(
  periodFact,
  fc.constant(opened()),
  issuedFact(),
  nameOf('key').map((id) => keyRevoked(id)),
  nameOf('key').map((id) => ({ ...keyExpirySet(id), actor: 'operator:nul\u0000' })),
  fc
    .constantFrom('openai/gpt-4o', null, ...strange)
    .chain((model) => fc.constantFrom('mini', ...strange).map((alias) => aliasSet(alias, model))),
  fc.constantFrom(['openai/gpt-4o', ...strange], null).map((models) => routerSet('auto', models)),
  fc
    .tuple(
      nameOf('v'),
      fc.constantFrom('2026-01-01T00:00:00Z', '2025-06-01T02:00:00+02:00'),
      fc.constantFrom(...strange),
    )
    .map(([version, from, model]) => pricePublished(version, from, model)),
  nameOf('v').map((version) => videoPricePublished(version)),
  fc
    .tuple(nameOf('plan'), fc.constantFrom(...strange))
    .map(([id, name]) => planPublished(id, { name, limits: { allowedModels: [name] } })),
)

const sealFact: fc.Arbitrary<Fact> = fc
  .tuple(fc.integer({ min: 1, max: 20 }), fc.nat({ max: 20 }), fc.constantFrom(...strange))
  .map(([size, from, note]) =>
    checkpointSealed(size, { from, note, peaks: [Buffer.alloc(32, from).toString('base64')] }),
  )

const requestFact: fc.Arbitrary<Fact> = fc
  .record({
    kind: fc.constantFrom('routed' as const, 'used' as const, 'failed' as const),
    request: fc.nat({ max: 11 }),
    total: amount,
    model: fc.constantFrom(...strange),
    storedResponseId: fc.option(nameOf('resp'), { nil: undefined }),
  })
  .map(({ kind, request, total, model, storedResponseId }) => {
    const requestId = `request-${request}`
    // A request belongs to one workspace, which its number decides.
    const workspaceId = historyWorkspaces[request % 2]!
    const common = { workspaceId, keyId: `key-${request % 3}` }
    const allowanceId = request % 4 === 0 ? null : `hold-${request % 3}`
    const labels = request % 3 === 0 ? {} : { tags: { team: tagOf(model), env: 'prod' }, endUser: endUserOf(request) }
    if (kind === 'routed') return routed(requestId, { ...common, ...labels, allowanceId, model, router: model })
    if (kind === 'failed') return failed(requestId, { ...common, reason: model })
    return used(requestId, { ...common, model, total, ...(storedResponseId === undefined ? {} : { storedResponseId }) })
  })

const walletStep: fc.Arbitrary<Step> = workspace.chain((workspaceId) =>
  fc
    .array(walletFact(workspaceId), { maxLength: 3 })
    .map((facts) => ({ wallet: true, workspaceId, facts, writer: 'writer-1', skip: 0, again: null })),
)

const journalStep: fc.Arbitrary<Step> = fc.record({
  wallet: fc.constant(false),
  workspaceId: fc.constant(''),
  facts: fc.array(
    fc.oneof(
      { weight: 1, arbitrary: accountFact },
      { weight: 5, arbitrary: requestFact },
      { weight: 1, arbitrary: sealFact },
      { weight: 3, arbitrary: verdictFact },
    ),
    { minLength: 1, maxLength: 6 },
  ),
  writer: fc.constantFrom('writer-1', 'writer-2'),
  skip: fc.constantFrom(0, 0, 0, 1, 2),
  again: fc.option(fc.nat({ max: 20 })),
})

export const histories: fc.Arbitrary<History> = fc.array(
  fc.oneof({ weight: 1, arbitrary: walletStep }, { weight: 2, arbitrary: journalStep }),
  { minLength: 1, maxLength: 60, size: 'max' },
)

/** Edges give every request an id of its own: it is routed once. */
const routedOnce = (facts: readonly Fact[], known: Set<string>): readonly Fact[] =>
  facts.filter((fact) => {
    if (fact.type !== 'RequestRouted') return true
    const isNew = !known.has(fact.data.requestId)
    known.add(fact.data.requestId)
    return isNew
  })

/** Of a history in which the id of each task is its own, as it is of a gateway's tasks; and without empty frames, which cannot be encoded. */
export const logOfOwnTasks = (history: History): MemoryLog => {
  const placed = new Set<string>()
  const log = new MemoryLog()
  for (const { walletSubject, writer, counter, events } of logOf(history).frames) {
    const kept = events.filter(({ type, data }) => {
      if (type !== 'HoldPlaced' || data.purpose !== 'task') return true
      const isNew = !placed.has(data.holdId)
      placed.add(data.holdId)
      return isNew
    })
    if (kept.length > 0) log.store({ walletSubject, writer, counter, events: kept })
  }
  return log
}

const firstDay = Date.parse('2026-03-01T22:00:00.000Z')
const stepMs = 600_000

export const logOf = (history: History): MemoryLog => {
  const log = new MemoryLog()
  const routedIds = new Set<string>()
  const counters = new Map<string, number>()
  for (const { wallet, workspaceId, facts, writer, skip, again } of history) {
    const counter = (counters.get(writer) ?? 0) + 1 + skip
    counters.set(writer, counter)
    const time = new Date(firstDay + log.frames.length * stepMs).toISOString()
    const events = routedOnce(facts, routedIds).map((fact, index) =>
      wrapEvent(fact, `${log.frames.length}-${index}`, '/gateway/test', time),
    )
    log.store({ walletSubject: wallet ? workspaceId : null, writer, counter, events })
    const journal = log.frames.filter((frame) => frame.walletSubject === null)
    if (again !== null && journal.length > 0) log.store(journal[again % journal.length]!)
  }
  return log
}
