import fc from 'fast-check'
import t from 'tap'
import { type Applied, applyFrame, findOrCreateWallet, type Ledger } from '../../../src/domain/ledger/ledger.ts'
import { formatUsd, minOf, parseUsd } from '../../../src/domain/money.ts'
import { decideWallet } from '../../../src/domain/wallet/decide.ts'
import { applyCharge } from '../../../src/domain/wallet/evolve.ts'
import type { Event } from '../../../src/events/envelope.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { Audit, Breach } from './task-book.ts'
import { type Parts, soundParts, type TaskSystem, type VendorTask } from './task-system.ts'

/** fast-check wants a model to hand around; the book in the audit is the one that counts. */
type Step = fc.Command<object, Audit>

type PlacedTask = Audit['book']['placed'][number]

const step = <T>(name: string, values: fc.Arbitrary<T>, run: (system: TaskSystem, value: T, audit: Audit) => void) =>
  values.map(
    (value): Step => ({
      check: () => true,
      run: (_, audit) => {
        run(audit.system, value, audit)
        audit.check()
      },
      toString: () => `${name}(${fc.stringify(value)})`,
    }),
  )

/** A step on one of the tasks that ever were, where there is one; mostly one of the last. */
const taskStep = <T>(
  name: string,
  values: fc.Arbitrary<T>,
  run: (system: TaskSystem, task: PlacedTask, value: T) => void,
) =>
  step(name, fc.tuple(fc.nat({ max: 7 }), values), (system, [back, value], { book }) => {
    const task = book.placed.at(-1 - (back % Math.max(1, book.placed.length)))
    if (task !== undefined) run(system, task, value)
  })

const either = fc.nat({ max: 1 })
const workspaces = fc.constantFrom('acme', 'bolt')
const fates = fc.constantFrom('acknowledged', 'acknowledged', 'acknowledgement lost', 'lost')
const lag = fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.nat({ max: 4 }))
const units = fc.constantFrom('1', '3', '4.5', '10', '45')
const deductions = fc.constantFrom('0', '0.5', '3', '4.5', '60', null, '4,5')

const verdictOf = (taskId: string, deduction: string | null, succeeded: boolean): VendorTask => ({
  status: 'ENDED',
  verdict: {
    outcome: succeeded ? 'SUCCESS' : 'FAILURE',
    vendorTaskId: `v-${taskId}`,
    deduction,
    failReason: succeeded ? null : 'refused',
    vendorCode: null,
    results: [],
  },
})

/** A caller's own ids are few, so that they meet; what it asks for under one is one of two things. */
const ownId = (workspaceId: string, unitsMax: string) =>
  fc.constantFrom('mine', 'yours').map((id) => ({ id, digest: `${workspaceId} ${id} ${unitsMax}` }))

const submits = fc
  .record({ edge: either, workspaceId: workspaces, unitsMax: units })
  .chain((submit) =>
    fc.option(ownId(submit.workspaceId, submit.unitsMax), { freq: 2 }).map((own) => ({ ...submit, own })),
  )

const repeated = <T>(count: number, value: T): readonly T[] => Array.from({ length: count }, () => value)

const edgeSteps: readonly fc.Arbitrary<Step>[] = [
  ...repeated(
    4,
    step('submit', submits, (system, { edge, workspaceId, unitsMax, own }) =>
      system.submit(edge, workspaceId, unitsMax, own),
    ),
  ),
  ...repeated(
    3,
    step('decide and send', either, (system, edge) => {
      system.decide(edge, Number.POSITIVE_INFINITY)
      system.send(edge, 'acknowledged')
    }),
  ),
  ...repeated(
    2,
    step('decide', fc.tuple(either, lag), (system, [edge, framesMax]) => system.decide(edge, framesMax)),
  ),
  ...repeated(
    2,
    step('send', fc.tuple(either, fates), (system, [edge, fate]) => system.send(edge, fate)),
  ),
  step('kill an edge', either, (system, edge) => system.killEdge(edge)),
  step('submit again', either, (system, edge) => system.submitAgain(edge)),
  taskStep('give up', either, (system, { workspaceId, taskId }, edge) => system.giveUp(edge, workspaceId, taskId)),
]

const pollerSteps: readonly fc.Arbitrary<Step>[] = [
  ...repeated(
    4,
    taskStep('poll', fc.tuple(either, lag), (system, { taskId }, [poller, framesMax]) =>
      system.poll(poller, taskId, framesMax),
    ),
  ),
  ...repeated(
    2,
    taskStep('redeliver', either, (system, { taskId }, poller) => system.redeliver(poller, taskId)),
  ),
  taskStep('the vendor is at work', fc.constant(null), (system, { taskId }) =>
    system.vendorSays(taskId, { status: 'IN_PROGRESS' }),
  ),
  ...repeated(
    2,
    taskStep('the vendor ends', fc.tuple(deductions, fc.boolean()), (system, { taskId }, [deduction, succeeded]) =>
      system.vendorSays(taskId, verdictOf(taskId, deduction, succeeded)),
    ),
  ),
  ...repeated(
    2,
    taskStep('run to the end', fc.tuple(either, deductions, fc.boolean()), (system, { taskId }, [poller, ...told]) => {
      system.poll(poller, taskId, Number.POSITIVE_INFINITY)
      system.vendorSays(taskId, verdictOf(taskId, ...told))
      system.poll(poller, taskId, Number.POSITIVE_INFINITY)
    }),
  ),
  taskStep(
    'a late word',
    fc.tuple(either, fc.constantFrom('SUBMITTED', 'IN_PROGRESS'), fc.integer({ min: 10, max: 99 })),
    (system, { workspaceId, taskId }, [poller, status, percent]) =>
      system.progress(poller, workspaceId, taskId, status, percent),
  ),
  step('kill a poller', either, (system, poller) => system.killPoller(poller)),
  step('store twice', fc.nat({ max: 99 }), (system, pick) => system.storeTwice(pick)),
]

const otherSteps: readonly fc.Arbitrary<Step>[] = [
  step(
    'credit',
    fc.tuple(workspaces, fc.constantFrom('0.14', '0.7', '6.3', '10'), fc.nat({ max: 9 })),
    (system, [workspaceId, amount, reference]) => system.credit(workspaceId, amount, `ref-${reference}`),
  ),
  step(
    'adjust',
    fc.tuple(workspaces, fc.constantFrom('0.63', '-0.63'), fc.nat({ max: 9 })),
    (system, [workspaceId, amount, id]) => system.adjust(workspaceId, amount, `adj-${id}`),
  ),
  taskStep('expire', lag, (system, { deadlineMs }, framesMax) => system.expire(deadlineMs, framesMax)),
]

/** The wallets hold some money from the start: a sequence that places no hold shows little. */
const auditOf = (parts: Parts): Audit => {
  const audit = new Audit(parts)
  for (const workspaceId of ['acme', 'bolt']) audit.system.credit(workspaceId, '10', 'first')
  return audit
}

/** Any sequence of steps keeps the invariants, in a system that is made of these parts. */
const keepsItsWord = (parts: Parts) =>
  fc.property(
    fc.commands([...edgeSteps, ...pollerSteps, ...otherSteps], { size: 'large', maxCommands: 150 }),
    (commands) => fc.modelRun(() => ({ model: {}, real: auditOf(parts) }), commands),
  )

t.test('whatever happens, holds are covered, end once and cost what the vendor took', async () => {
  fc.assert(keepsItsWord(soundParts), propertyRuns(200))
})

/** What each hold was and how it ended, kept beside a ledger for the defects that need it. */
interface Kept {
  readonly held: Map<string, bigint>
  readonly released: Set<string>
}
const keptBeside = new WeakMap<Ledger, Kept>()
const keptOf = (ledger: Ledger): Kept => {
  const kept = keptBeside.get(ledger) ?? { held: new Map(), released: new Set() }
  keptBeside.set(ledger, kept)
  return kept
}

type Defect = (ledger: Ledger, applied: Applied, kept: Kept) => void

/** The fold, and after each event something that it should not do. */
const foldThen =
  (defect: Defect): Parts['apply'] =>
  (ledger, frame) => {
    const everything = applyFrame(ledger, frame)
    const kept = keptOf(ledger)
    for (const applied of everything) {
      const { event } = applied
      if (event.type === 'HoldPlaced') kept.held.set(event.data.holdId, parseUsd(event.data.amount))
      defect(ledger, applied, kept)
      if (event.type === 'HoldReleased') kept.released.add(event.data.holdId)
    }
    return everything
  }

/** The fold of events that were tampered with. */
const foldOf =
  (tamper: (event: Event) => Event): Parts['apply'] =>
  (ledger, frame) =>
    applyFrame(ledger, { ...frame, events: frame.events.map(tamper) })

const chargeAfterTheEnd =
  (when: (released: boolean) => boolean): Defect =>
  (ledger, { event, task }, { held, released }) => {
    if (event.type !== 'TaskSettled' || task !== null || !held.has(event.data.taskId)) return
    const { workspaceId, taskId, total } = event.data
    if (when(released.has(taskId)))
      applyCharge(findOrCreateWallet(ledger, workspaceId), taskId, parseUsd(total), 0n, null, {
        keyId: 'key-1',
        day: '',
      })
  }

const goBackTwice: Defect = (ledger, { event, movements }, { held }) => {
  if (event.type !== 'HoldReleased' || movements.length > 0) return
  findOrCreateWallet(ledger, event.data.workspaceId).heldPicos -= held.get(event.data.holdId) ?? 0n
}

const keepTheRest: Defect = (ledger, { event, task }) => {
  if (event.type !== 'TaskSettled' || task === null) return
  const rest = parseUsd(event.data.held) - parseUsd(event.data.total)
  if (rest > 0n) findOrCreateWallet(ledger, event.data.workspaceId).heldPicos += rest
}

const goBackwards: Defect = (ledger, { event }) => {
  if (event.type !== 'TaskProgressed') return
  const { taskId, status, progress } = event.data
  Object.assign(ledger.tasks.get(taskId) ?? {}, { status, progress })
}

const swallowExcess = (event: Event): Event => {
  if (event.type !== 'TaskSettled') return event
  const { total, held } = event.data
  return { ...event, data: { ...event.data, total: formatUsd(minOf(parseUsd(total), parseUsd(held))) } }
}

const defects: { readonly [name: string]: { readonly parts: Partial<Parts>; readonly breach: RegExp } } = {
  'a hold is not counted': {
    parts: { decide: (command, wallet) => decideWallet(command, { ...wallet, heldPicos: 0n }) },
    breach: /a hold of \S+ is not covered/,
  },
  'the sequence that was expected is not looked at': {
    parts: { expects: () => true },
    breach: /is not covered|names two tasks|holds twice/,
  },
  'a hold goes back twice': { parts: { apply: foldThen(goBackTwice) }, breach: /is held and should be/ },
  'what is left of a hold stays held': { parts: { apply: foldThen(keepTheRest) }, breach: /is held and should be/ },
  'a settlement after the deadline is charged': {
    parts: { apply: foldThen(chargeAfterTheEnd((released) => released)) },
    breach: /the balance is/,
  },
  'a second settlement is charged': {
    parts: { apply: foldThen(chargeAfterTheEnd((released) => !released)) },
    breach: /the balance is/,
  },
  'a lost acknowledgement is asked for anew': {
    parts: { afterLostAck: (submit, taskId) => ({ ...submit, taskId }) },
    breach: /one submit holds twice/,
  },
  'what costs more than was held is swallowed': {
    parts: { apply: foldOf(swallowExcess) },
    breach: /the balance is/,
  },
  'progress goes backwards': { parts: { apply: foldThen(goBackwards) }, breach: /a task goes backwards/ },
  'a caller’s own id is forgotten': {
    parts: { decide: (command, wallet) => decideWallet(command, { ...wallet, externalTasks: new Map() }) },
    breach: /holds twice|names two tasks/,
  },
}

for (const [name, { parts, breach }] of Object.entries(defects))
  t.test(`planted: ${name}`, async (t) => {
    const { failed, errorInstance, numRuns, counterexample } = fc.check(keepsItsWord({ ...soundParts, ...parts }), {
      numRuns: 5_000,
    })
    t.equal(failed, true, 'it is caught')
    t.ok(errorInstance instanceof Breach && breach.test(errorInstance.message), String(errorInstance))
    t.comment(`${numRuns} runs; ${counterexample?.map(String)}`)
  })
