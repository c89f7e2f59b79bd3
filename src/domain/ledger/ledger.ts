import type { Event, EventOf } from '../../events/envelope.ts'
import { type Accounts, evolveAccounts, initialAccounts } from '../accounts/accounts.ts'
import { parseUsd } from '../money.ts'
import { type PriceBook, publishPrice } from '../pricing/price-book.ts'
import { chargeWallet, evolveWallet, type Movement, type WalletFact } from '../wallet/evolve.ts'
import { initialWallet, type Wallet } from '../wallet/wallet.ts'
import { admitFrame, type FrameWindow, initialFrameWindow } from './frame-window.ts'
import { type ClosedRequest, type Closing, type OpenRequests, pairRequest, type Routed } from './requests.ts'

/** All that the log says, folded. Every process that needs it folds the same frames with the same code. */
export interface Ledger {
  /** Sequence of the last frame applied. */
  sequence: number
  readonly writers: Map<string, FrameWindow>
  readonly accounts: Accounts
  readonly prices: PriceBook
  readonly wallets: Map<string, Wallet>
  readonly openRequests: OpenRequests
}

export const initialLedger = (): Ledger => ({
  sequence: 0,
  writers: new Map(),
  accounts: initialAccounts(),
  prices: new Map(),
  wallets: new Map(),
  openRequests: new Map(),
})

/** A frame as it stands in the log; see the log's port for the writer's side. */
export interface LedgerFrame {
  readonly sequence: number
  readonly walletSubject: string | null
  readonly writer: string
  readonly counter: number
  readonly events: readonly Event[]
}

/** What one event did. */
export interface Applied {
  readonly event: Event
  readonly sequence: number
  /** The event's place in its frame. */
  readonly index: number
  readonly movements: readonly Movement[]
  /** Set by the event that completed a request. */
  readonly closed: ClosedRequest | null
}

export const walletOf = (ledger: Ledger, workspaceId: string): Wallet => {
  const standing = ledger.wallets.get(workspaceId)
  if (standing !== undefined) return standing
  const wallet = initialWallet(workspaceId)
  ledger.wallets.set(workspaceId, wallet)
  return wallet
}

const isNewFrame = (ledger: Ledger, frame: LedgerFrame): boolean => {
  // A wallet frame stands once: its expected sequence, or the ids within it, see to that.
  if (frame.walletSubject !== null) return true
  const window = ledger.writers.get(frame.writer) ?? initialFrameWindow()
  ledger.writers.set(frame.writer, window)
  return admitFrame(window, frame.counter)
}

const settle = (ledger: Ledger, { routed, closing }: ClosedRequest): readonly Movement[] => {
  if (closing.type === 'RequestFailed') return []
  const { requestId, workspaceId, total } = closing.data
  const { reserved, allowanceId } = routed.data
  return chargeWallet(walletOf(ledger, workspaceId), requestId, parseUsd(total), parseUsd(reserved), allowanceId)
}

const nothing = { movements: [], closed: null } as const
type Effect = Pick<Applied, 'movements' | 'closed'>

const applyRequest = (ledger: Ledger, event: Routed | Closing, sequence: number): Effect => {
  const closed = pairRequest(ledger.openRequests, event, sequence)
  return closed === null ? nothing : { movements: settle(ledger, closed), closed }
}

const openWorkspace = (ledger: Ledger, event: EventOf<'WorkspaceOpened'>): void => {
  evolveAccounts(ledger.accounts, event)
  const { workspaceId } = event.data
  walletOf(ledger, workspaceId).creditLimitPicos = ledger.accounts.workspaces.get(workspaceId)?.creditLimitPicos ?? 0n
}

const applyToWallet = (ledger: Ledger, fact: WalletFact): Effect => ({
  movements: evolveWallet(walletOf(ledger, fact.data.workspaceId), fact),
  closed: null,
})

const applyEvent = (ledger: Ledger, event: Event, sequence: number): Effect => {
  switch (event.type) {
    case 'WorkspaceOpened':
      openWorkspace(ledger, event)
      return nothing
    case 'KeyIssued':
    case 'KeyRevoked':
      evolveAccounts(ledger.accounts, event)
      return nothing
    case 'PricePublished':
      publishPrice(ledger.prices, event.data)
      return nothing
    case 'WalletCredited':
    case 'HoldPlaced':
    case 'HoldReleased':
    case 'AdjustmentPosted':
      return applyToWallet(ledger, event)
    case 'RequestRouted':
    case 'UsageRecorded':
    case 'RequestFailed':
      return applyRequest(ledger, event, sequence)
  }
}

/**
 * Applies the next frame and tells what each of its events did; a frame that was stored twice does nothing the second time.
 * Throws when a frame is missing: a ledger with a gap is worse than none.
 */
export const applyFrame = (ledger: Ledger, frame: LedgerFrame): readonly Applied[] => {
  if (frame.sequence !== ledger.sequence + 1)
    throw new Error(`the ledger stands at sequence ${ledger.sequence}, the next frame is ${frame.sequence}`)
  ledger.sequence = frame.sequence
  if (frame.walletSubject !== null) walletOf(ledger, frame.walletSubject).subjectSequence = frame.sequence
  if (!isNewFrame(ledger, frame)) return []
  return frame.events.map((event, index) => ({
    event,
    sequence: frame.sequence,
    index,
    ...applyEvent(ledger, event, frame.sequence),
  }))
}
