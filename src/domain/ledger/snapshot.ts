import { indexKey, type Key } from '../accounts/accounts.ts'
import type { Hold, Wallet } from '../wallet/wallet.ts'
import { findOrCreateWallet, initialLedger, type Ledger } from './ledger.ts'
import { type ClosedPeriod, findLastPeriod, periodEnd } from './periods.ts'

/** Raised by every change of the lines, and by every change of the fold that gives other lines for the same frames. */
export const snapshotFormat = 11

/** Formats whose records of wallets this program reads: proofs of balances outlive the format of the snapshot. */
export const walletFormats: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, snapshotFormat])

interface RecordKind {
  readonly kind: string
  readonly count: (ledger: Ledger) => number
  readonly ids: (ledger: Ledger) => Iterable<readonly string[]>
  readonly find: (ledger: Ledger, ids: readonly string[]) => unknown
  readonly restore: (ledger: Ledger, ids: readonly string[], value: never) => void
}

const sortedKeys = <T>(map: ReadonlyMap<string, T>): readonly string[] => [...map.keys()].sort()

const mapKind = <T>(kind: string, mapOf: (ledger: Ledger) => Map<string, T>): RecordKind => ({
  kind,
  count: (ledger) => mapOf(ledger).size,
  ids: (ledger) => sortedKeys(mapOf(ledger)).map((id) => [id]),
  find: (ledger, [id = '']) => mapOf(ledger).get(id),
  restore: (ledger, [id = ''], value) => mapOf(ledger).set(id, value),
})

const walletKind = <T>(kind: string, mapOf: (wallet: Wallet) => Map<string, T>): RecordKind => ({
  kind,
  count: ({ wallets }) => {
    let records = 0
    for (const wallet of wallets.values()) records += mapOf(wallet).size
    return records
  },
  *ids({ wallets }) {
    const workspaceIds: string[] = [] // Most wallets have none of most kinds, and sorting takes long.
    for (const [workspaceId, wallet] of wallets) if (mapOf(wallet).size > 0) workspaceIds.push(workspaceId)
    for (const workspaceId of workspaceIds.sort())
      for (const id of sortedKeys(mapOf(wallets.get(workspaceId)!))) yield [workspaceId, id]
  },
  find: ({ wallets }, [workspaceId = '', id = '']) => mapOf(wallets.get(workspaceId)!).get(id),
  restore: (ledger, [workspaceId = '', id = ''], value) =>
    mapOf(findOrCreateWallet(ledger, workspaceId)).set(id, value),
})

const routingKind = (kind: string, member: 'aliases' | 'routers'): RecordKind => ({
  kind,
  count: ({ routing }) => routing[member].size,
  ids: ({ routing }) => sortedKeys<unknown>(routing[member]).map((id) => [id]),
  find: ({ routing }, [id = '']) => routing[member].get(id),
  restore: (ledger, [id = ''], value) => {
    const entries: ReadonlyMap<string, unknown> = ledger.routing[member]
    ledger.routing = { ...ledger.routing, [member]: new Map(entries).set(id, value) }
  },
})

interface WriterRecord {
  readonly low: number
  readonly above: readonly number[]
}

const writers: RecordKind = {
  ...mapKind('writer', (ledger) => ledger.writers),
  find: (ledger, [id = '']): WriterRecord => {
    const { low, above } = ledger.writers.get(id)!
    return { low, above: [...above].sort((one, other) => one - other) }
  },
  restore: (ledger, [id = ''], { low, above }: WriterRecord) => ledger.writers.set(id, { low, above: new Set(above) }),
}

const keys: RecordKind = {
  ...mapKind('key', ({ accounts }) => accounts.keys),
  restore: ({ accounts }, [keyId = ''], key: Key) => {
    accounts.keys.set(keyId, key)
    indexKey(accounts, key)
  },
}

const keysBySha256: RecordKind = {
  ...mapKind('key-sha256', ({ accounts }) => accounts.keysBySha256),
  find: ({ accounts }, [sha256 = '']) => accounts.keysBySha256.get(sha256)!.keyId,
  restore: ({ accounts }, [sha256 = ''], keyId: string) => accounts.keysBySha256.set(sha256, accounts.keys.get(keyId)!),
}

/** What a wallet has one of; of what it has several, each is a record. */
export type WalletRecord = Omit<
  Wallet,
  | 'holds'
  | 'references'
  | 'proposals'
  | 'alertRules'
  | 'externalTasks'
  | 'limitKeys'
  | 'spendLimits'
  | 'spendings'
  | 'subscription'
>

const wallets: RecordKind = {
  ...mapKind('wallet', (ledger) => ledger.wallets),
  find: (ledger, [workspaceId = '']): WalletRecord => {
    const {
      holds,
      references,
      proposals,
      alertRules,
      externalTasks,
      limitKeys,
      spendLimits,
      spendings,
      subscription,
      ...figures
    } = ledger.wallets.get(workspaceId)!
    return figures
  },
  restore: (ledger, [workspaceId = ''], figures: WalletRecord) =>
    Object.assign(findOrCreateWallet(ledger, workspaceId), figures),
}

const subscriptions: RecordKind = {
  ...mapKind('subscription', ({ accounts }) => accounts.subscriptions),
  restore: (ledger, [workspaceId = ''], subscription) => {
    ledger.accounts.subscriptions.set(workspaceId, subscription)
    findOrCreateWallet(ledger, workspaceId).subscription = subscription
  },
}

const periods: RecordKind = {
  ...mapKind('period', (ledger) => ledger.periods),
  restore: (ledger, [month = ''], period: ClosedPeriod) => {
    ledger.periods.set(month, period)
    ledger.closedUntil = periodEnd(findLastPeriod(ledger.periods))
  },
}

const invoices: RecordKind = {
  ...mapKind('invoice', (ledger) => ledger.invoices.issued),
  restore: (
    { invoices: restored },
    [key = ''],
    invoice: NonNullable<ReturnType<Ledger['invoices']['issued']['get']>>,
  ) => {
    restored.issued.set(key, invoice)
    restored.lastNumber = Math.max(restored.lastNumber, invoice.number)
  },
}

const recordKinds: readonly RecordKind[] = [
  writers,
  mapKind('workspace', ({ accounts }) => accounts.workspaces),
  keys,
  keysBySha256,
  mapKind('key-name', ({ accounts }) => accounts.keysByName),
  mapKind('limit-key', ({ accounts }) => accounts.limitKeys),
  mapKind('limits', ({ accounts }) => accounts.limits),
  mapKind('plan', ({ accounts }) => accounts.plans),
  mapKind('price', ({ prices }) => prices),
  routingKind('alias', 'aliases'),
  routingKind('router', 'routers'),
  wallets,
  subscriptions,
  walletKind<Hold>('hold', ({ holds }) => holds),
  walletKind('reference', ({ references }) => references),
  walletKind('proposal', ({ proposals }) => proposals),
  walletKind('alert-rule', ({ alertRules }) => alertRules),
  walletKind('external-task', ({ externalTasks }) => externalTasks),
  walletKind('wallet-limit-key', ({ limitKeys }) => limitKeys),
  walletKind('spend-limits', ({ spendLimits }) => spendLimits),
  walletKind('spending', ({ spendings }) => spendings),
  mapKind('open-request', ({ openRequests }) => openRequests),
  mapKind('task', ({ tasks }) => tasks),
  mapKind('late-end', ({ lateEnds }) => lateEnds),
  periods,
  invoices,
  mapKind('reconciled', ({ reconciled }) => reconciled),
]

const kindsByName = new Map(recordKinds.map((each) => [each.kind, each]))

/** An amount is its picos followed by `p`. No other text in a snapshot is changed: it then has a second `p`. */
const amountPattern = /^-?[0-9]+p+$/
const encodeText = (text: string): string => (amountPattern.test(text) ? `${text}p` : text)

/** A copy, unless nothing in it is changed: a replacer of JSON.stringify would take twice as long. */
const encodeValue = (value: unknown): unknown => {
  if (typeof value === 'bigint') return `${value}p`
  if (typeof value === 'string') return encodeText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(encodeValue)
  let copy: Record<string, unknown> | null = null
  for (const [name, member] of Object.entries(value)) {
    const encoded = encodeValue(member)
    if (encoded === member) continue
    copy ??= { ...value }
    copy[name] = encoded
  }
  return copy ?? value
}

const decodeText = (text: string): string | bigint => {
  if (!amountPattern.test(text)) return text
  return text.endsWith('pp') ? text.slice(0, -1) : BigInt(text.slice(0, -1))
}

/** In place: what was parsed has no other reader. */
const decodeMembers = (value: Record<string, unknown>): void => {
  for (const name of Object.keys(value)) {
    const member = value[name]
    if (typeof member === 'string') {
      if (member.endsWith('p')) value[name] = decodeText(member)
    } else if (isMembers(member)) decodeMembers(member)
  }
}

const isMembers = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

interface SnapshotHeader {
  readonly format: number
  readonly sequence: number
  readonly sealed: Ledger['sealed']
  readonly counts: Readonly<Record<string, number>>
}

type SnapshotRecord = readonly [kind: string, ids: readonly string[], value: unknown]

const encodeHeader = (ledger: Ledger): string => {
  const { sequence, sealed } = ledger
  const counts = Object.fromEntries(recordKinds.map(({ kind, count }) => [kind, count(ledger)]))
  return JSON.stringify({ format: snapshotFormat, sequence, sealed, counts } satisfies SnapshotHeader)
}

/**
 * The whole ledger as lines of JSON, without line feeds: a header, then a record a line. Two ledgers of the same frames
 * have the same lines. The ledger must not change until the last line is taken.
 */
export function* encodeLedger(ledger: Ledger): Generator<string> {
  yield encodeHeader(ledger)
  for (const { kind, ids, find } of recordKinds)
    for (const id of ids(ledger))
      yield JSON.stringify([kind, id.map(encodeText), encodeValue(find(ledger, id))] satisfies SnapshotRecord)
}

export class SnapshotFault extends Error {
  override readonly name = 'SnapshotFault'
}

const parseHeader = (line: string): SnapshotHeader => {
  const header = JSON.parse(line) as SnapshotHeader
  if (header.format === snapshotFormat) return header
  throw new SnapshotFault(`it has format ${header.format}, this program reads ${snapshotFormat}`)
}

const parseRecord = (line: string): SnapshotRecord => {
  const record: unknown = JSON.parse(line)
  if (line.includes('p"') && isMembers(record)) decodeMembers(record)
  return record as SnapshotRecord
}

export const readWalletRecord = (line: string): WalletRecord | null => {
  const [kind, , value] = parseRecord(line)
  return kind === wallets.kind ? (value as WalletRecord) : null
}

/** What every line with the record of that wallet begins with. */
export const walletLinePrefix = (workspaceId: string): string =>
  `${JSON.stringify([wallets.kind, [workspaceId]]).slice(0, -1)},`

/** The caller checks the hash of its lines. */
export class LedgerDecoder {
  readonly #ledger = initialLedger()
  readonly #counts = new Map<string, number>()
  #header: SnapshotHeader | null = null

  take(line: string): void {
    if (this.#header === null) {
      this.#header = parseHeader(line)
      return
    }
    const [name, ids, value] = parseRecord(line)
    const kind = kindsByName.get(name)
    if (kind === undefined) throw new SnapshotFault(`it has a record of an unknown kind, ${name}`)
    kind.restore(this.#ledger, ids, value as never)
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
  }

  /** Throws where lines are missing. */
  finish(): Ledger {
    if (this.#header === null) throw new SnapshotFault('it is empty')
    const { sequence, sealed, counts } = this.#header
    for (const { kind } of recordKinds)
      if ((this.#counts.get(kind) ?? 0) !== counts[kind])
        throw new SnapshotFault(`it has ${this.#counts.get(kind) ?? 0} of ${counts[kind]} records of the kind ${kind}`)
    return Object.assign(this.#ledger, { sequence, sealed })
  }
}
