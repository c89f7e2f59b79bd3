import { type Applied, findOrCreateWallet, type LedgerFrame } from '../../../src/domain/ledger/ledger.ts'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import type { TaskStatus } from '../../../src/domain/video/task.ts'
import { availablePicos, balancePicos } from '../../../src/domain/wallet/wallet.ts'
import type { Event, EventOf } from '../../../src/events/envelope.ts'
import { type Answer, Observer, type Parts, type Submit, TaskSystem, type VendorTask } from './task-system.ts'

/** A breach of an invariant. */
export class Breach extends Error {}

const assert = (holds: boolean, breach: string): void => {
  if (!holds) throw new Breach(breach)
}

interface Account {
  credits: bigint
  charges: bigint
  adjustments: bigint
  readonly open: Map<string, bigint>
  readonly named: Map<string, string>
  /** Charged beyond holds since the last frame on the wallet's subject: whoever decides may not have seen it. */
  unseen: bigint
}

/** How a task ended: what its hold was, and what it cost. */
interface End {
  readonly held: bigint
  readonly cost: bigint
  readonly charged: boolean
}

/** Of one hold, what the fold's statement says. */
interface Statement {
  charge: bigint
  excess: bigint
  release: number
}

const ranks: { readonly [S in TaskStatus]: number } = {
  QUEUED: 0,
  SUBMITTED: 1,
  IN_PROGRESS: 2,
  SUCCESS: 3,
  FAILURE: 3,
}

/** 0.14 a unit, worked here and not by the code under test. */
const costOf = (told: VendorTask | undefined, held: bigint): bigint => {
  if (told?.status !== 'ENDED') throw new Breach('a task is settled on which the vendor has said nothing')
  const { outcome, deduction } = told.verdict
  if (outcome === 'FAILURE') return 0n
  if (deduction === null || !/^[0-9.]+$/.test(deduction)) return held
  const cost = (parseUsd(deduction) * 14n) / 100n
  return cost > 3n * held ? held : cost
}

/** The rules as a bookkeeper would keep them by hand, out of the log's frames alone. */
class Book {
  readonly #accounts = new Map<string, Account>()
  readonly #seen = new Set<string>()
  readonly #references = new Set<string>()
  readonly #submits = new Map<string, string>()
  readonly placed: { readonly workspaceId: string; readonly taskId: string; readonly deadlineMs: number }[] = []
  readonly ends = new Map<string, End>()

  account(workspaceId: string): Account {
    const standing = this.#accounts.get(workspaceId)
    if (standing !== undefined) return standing
    const account = { credits: 0n, charges: 0n, adjustments: 0n, open: new Map(), named: new Map(), unseen: 0n }
    this.#accounts.set(workspaceId, account)
    return account
  }

  accounts(): ReadonlyMap<string, Account> {
    return this.#accounts
  }

  taskOf(requestDigest: string): string | undefined {
    return this.#submits.get(requestDigest)
  }

  enter({ walletSubject, writer, counter, events }: LedgerFrame, vendor: ReadonlyMap<string, VendorTask>): void {
    const id = `${writer}:${counter}`
    if (walletSubject === null && this.#seen.has(id)) return
    this.#seen.add(id)
    for (const event of events) this.#enter(event, vendor)
    if (walletSubject !== null) this.account(walletSubject).unseen = 0n
  }

  #enter(event: Event, vendor: ReadonlyMap<string, VendorTask>): void {
    switch (event.type) {
      case 'WalletCredited':
        if (this.#isNew(`credit ${event.data.workspaceId} ${event.data.reference}`))
          this.account(event.data.workspaceId).credits += parseUsd(event.data.amount)
        break
      case 'AdjustmentPosted':
        if (this.#isNew(`adjustment ${event.data.workspaceId} ${event.data.adjustmentId}`))
          this.account(event.data.workspaceId).adjustments += parseUsd(event.data.amount)
        break
      case 'HoldPlaced':
        this.#place(event)
        break
      case 'HoldReleased':
        this.#end(event.data.workspaceId, event.data.holdId, () => ({ cost: 0n, charged: false }))
        break
      case 'TaskSettled': {
        const { workspaceId, taskId } = event.data
        this.#end(workspaceId, taskId, (held) => ({ cost: costOf(vendor.get(taskId), held), charged: true }))
      }
    }
  }

  #isNew(reference: string): boolean {
    const before = this.#references.size
    return this.#references.add(reference).size > before
  }

  #place({ data }: EventOf<'HoldPlaced'>): void {
    const { holdId, workspaceId, task } = data
    const account = this.account(workspaceId)
    const amount = parseUsd(data.amount)
    const held = [...account.open.values()].reduce((sum, each) => sum + each, 0n)
    const available = account.credits - account.charges + account.adjustments - held
    assert(amount <= available + account.unseen, `a hold of ${data.amount} is not covered: ${formatUsd(available)}`)
    assert(!account.open.has(holdId) && !this.ends.has(holdId), `a hold is placed twice: ${holdId}`)
    const digest = task?.requestDigest ?? ''
    assert(!this.#submits.has(digest), `one submit holds twice: ${holdId} and ${this.#submits.get(digest)}`)
    const name = task?.externalTaskId
    assert(name === undefined || !account.named.has(name), `an external id names two tasks: ${name}`)
    if (name !== undefined) account.named.set(name, holdId)
    this.#submits.set(digest, holdId)
    account.open.set(holdId, amount)
    this.placed.push({ workspaceId, taskId: holdId, deadlineMs: Date.parse(data.deadline) })
  }

  /** The first end counts. */
  #end(workspaceId: string, holdId: string, cost: (held: bigint) => Omit<End, 'held'>): void {
    const account = this.account(workspaceId)
    const held = account.open.get(holdId)
    if (held === undefined) return
    const end = { held, ...cost(held) }
    account.open.delete(holdId)
    account.charges += end.cost
    account.unseen += end.cost > held ? end.cost - held : 0n
    this.ends.set(holdId, end)
  }
}

/** The system, and beside it the book and what the fold shows: after every step they agree. */
export class Audit {
  readonly system: TaskSystem
  readonly book = new Book()
  readonly #observer: Observer
  readonly #statements = new Map<string, Statement>()
  readonly #shown = new Map<string, readonly [rank: number, progress: number]>()
  readonly #totals = new Map<string, { balance: bigint; held: bigint }>()
  #answersSeen = 0

  constructor(parts: Parts) {
    this.system = new TaskSystem(parts)
    this.#observer = new Observer(parts)
  }

  /** Throws `Breach` where an invariant does not hold. */
  check(): void {
    for (;;) {
      const frame = this.system.frames[this.#observer.ledger.sequence]
      const applied = this.#observer.next(this.system.frames)
      if (frame === undefined || applied === null) break
      this.book.enter(frame, this.system.vendor)
      for (const each of applied) this.#note(each)
    }
    for (const [workspaceId, account] of this.book.accounts()) this.#checkWallet(workspaceId, account)
    for (const [taskId, end] of this.book.ends) this.#checkEnd(taskId, end)
    this.#checkTasks()
    this.#checkAnswers()
  }

  #note({ movements, task }: Applied): void {
    for (const { workspaceId, kind, reference, amountPicos, heldPicos } of movements) {
      const statement = this.#statements.get(reference) ?? { charge: 0n, excess: 0n, release: 0 }
      this.#statements.set(reference, statement)
      if (kind === 'charge' || kind === 'excess') statement[kind] -= amountPicos
      if (kind === 'release') statement.release += 1
      const total = this.#totals.get(workspaceId) ?? { balance: 0n, held: 0n }
      this.#totals.set(workspaceId, { balance: total.balance + amountPicos, held: total.held + heldPicos })
    }
    if (task !== null) this.#show(task.taskId, task.status, task.progress)
  }

  #show(taskId: string, status: TaskStatus, progress: number): void {
    const [rank, percent] = this.#shown.get(taskId) ?? [0, 0]
    const isEnd = ranks[status] === ranks.SUCCESS
    assert(rank < ranks.SUCCESS, `a task moves after its end: ${taskId}`)
    assert(ranks[status] >= rank && (isEnd || progress >= percent), `a task goes backwards: ${taskId}`)
    this.#shown.set(taskId, [ranks[status], progress])
  }

  #checkWallet(workspaceId: string, { credits, charges, adjustments, open }: Account): void {
    const wallet = findOrCreateWallet(this.#observer.ledger, workspaceId)
    const balance = credits - charges + adjustments
    const held = [...open.values()].reduce((sum, each) => sum + each, 0n)
    const shown = balancePicos(wallet)
    assert(shown === balance, `the balance is ${formatUsd(shown)} and should be ${formatUsd(balance)}`)
    assert(wallet.heldPicos === held, `${formatUsd(wallet.heldPicos)} is held and should be ${formatUsd(held)}`)
    assert(availablePicos(wallet) === balance - held, 'what is available is not the balance less what is held')
    const holds = [...wallet.holds.values()].map(({ holdId, remainingPicos }) => `${holdId} ${remainingPicos}`)
    const kept = [...open].map(([holdId, amount]) => `${holdId} ${amount}`)
    assert(holds.toSorted().join() === kept.toSorted().join(), `open holds: ${holds} and not ${kept}`)
    const total = this.#totals.get(workspaceId) ?? { balance: 0n, held: 0n }
    assert(total.balance === balance && total.held === held, 'the statement does not add up')
  }

  #checkEnd(taskId: string, { held, cost, charged }: End): void {
    const { charge, excess, release } = this.#statements.get(taskId) ?? { charge: 0n, excess: 0n, release: 0 }
    assert(release === 1, `a hold ends ${release} times: ${taskId}`)
    assert(charge <= held, `a hold is charged more than it held: ${taskId}`)
    assert(charged || charge + excess === 0n, `a hold that went back is charged: ${taskId}`)
    assert(charge + excess === cost, `a task is charged ${formatUsd(charge + excess)}, not ${formatUsd(cost)}`)
    assert(excess === (cost > held ? cost - held : 0n), `what costs more than was held is not told: ${taskId}`)
  }

  #checkTasks(): void {
    const open = [...this.book.accounts().values()].flatMap((account) => [...account.open.keys()])
    const shown = [...this.#observer.ledger.tasks.keys()]
    assert(shown.toSorted().join() === open.toSorted().join(), `open tasks: ${shown} and not ${open}`)
  }

  /** Whoever was told `queued` has a hold in the log. */
  #checkAnswers(): void {
    for (const { submit, answer } of this.system.answers.slice(this.#answersSeen)) this.#checkAnswer(submit, answer)
    this.#answersSeen = this.system.answers.length
  }

  #checkAnswer({ requestDigest }: Submit, answer: Answer): void {
    if ('queued' in answer)
      assert(this.book.taskOf(requestDigest) === answer.queued, `a task is queued that nothing holds: ${answer.queued}`)
  }
}
