import { minOf } from '../../../domain/money.ts'
import { admissionLimits } from './limits.ts'

/** All that the next step for the first waiter of a spender is decided from. */
export interface AllowanceView {
  readonly first: { readonly wantedPicos: bigint; readonly floorPicos: bigint; readonly waitedMs: number }
  /** The worst cases of all who wait, the first included. */
  readonly waitingPicos: readonly bigint[]
  /** The allowance that requests are admitted against. */
  readonly current: {
    readonly freePicos: bigint
    readonly reservedPicos: bigint
    readonly requests: number
  } | null
  /** What is free of each allowance that is returned when its last request ends. */
  readonly drainingPicos: readonly bigint[]
  /** In the current second and the one before. */
  readonly spentPicos: bigint
  readonly spendablePicos: bigint
  /** Holds take part of what is short: of a limit, or of the wallet. */
  readonly isHeld: boolean
  /** What the wallet refused in this turn: an allowance, then also less than the worst case. */
  readonly refused: 'nothing' | 'allowance' | 'less'
}

type AllowanceStep =
  | { readonly type: 'open_allowance'; readonly minimumPicos: bigint; readonly desiredPicos: bigint }
  /** One allowance for each of the first waiters. */
  | { readonly type: 'place_singles'; readonly waiters: number }
  | { readonly type: 'reuse_draining'; readonly index: number }
  | { readonly type: 'return_current' | 'try_again' }
  /** Only time, or the end of a request, can free money. */
  | { readonly type: 'wait' }
  | { readonly type: 'serve_less' | 'place_less'; readonly amountPicos: bigint }
  | { readonly type: 'refuse'; readonly reason: 'all_reserved' | 'shortage' }

/**
 * An allowance takes at most this fraction of the available money, unless one request needs more: other edges place
 * some too.
 */
const shareDivisor = 2n

/** How many of the first worst cases together fit into a share; always at least one. */
const countWithin = (waitingPicos: readonly bigint[], sharePicos: bigint): number => {
  let leftPicos = sharePicos
  const end = waitingPicos.findIndex((wantedPicos) => {
    leftPicos -= wantedPicos
    return leftPicos < 0n
  })
  return end === -1 ? waitingPicos.length : Math.max(1, end)
}

/** One for about a second; from a nearly empty wallet one per waiter, so that none locks money others wait for. */
const place = ({
  first,
  waitingPicos,
  current,
  drainingPicos,
  spentPicos,
  spendablePicos,
}: AllowanceView): AllowanceStep => {
  const sharePicos = spendablePicos / shareDivisor
  const desiredPicos =
    waitingPicos.reduce((sum, wantedPicos) => sum + wantedPicos, 0n) + (current?.reservedPicos ?? 0n) + spentPicos
  const singlesMax = admissionLimits.allowanceSinglesMax - drainingPicos.length
  return desiredPicos > sharePicos && singlesMax > 0
    ? { type: 'place_singles', waiters: countWithin(waitingPicos.slice(0, singlesMax), sharePicos) }
    : { type: 'open_allowance', minimumPicos: first.wantedPicos, desiredPicos }
}

/** Less than the worst case, but at least the floor. */
const acceptLess = ({ first, current, spendablePicos, isHeld }: AllowanceView): AllowanceStep => {
  const { wantedPicos, floorPicos } = first
  if (current !== null && current.freePicos >= floorPicos)
    return { type: 'serve_less', amountPicos: minOf(wantedPicos, current.freePicos) }
  const leastPicos = minOf(wantedPicos, spendablePicos)
  return leastPicos < floorPicos || leastPicos <= 0n
    ? { type: 'refuse', reason: isHeld ? 'all_reserved' : 'shortage' }
    : { type: 'place_less', amountPicos: leastPicos }
}

/** A draining allowance is used again once a long request keeps it from being returned. */
const coverFromHeld = (view: AllowanceView): AllowanceStep => {
  const { first, current, drainingPicos, isHeld } = view
  const index =
    first.waitedMs < admissionLimits.allowanceDrainMs
      ? -1
      : drainingPicos.findIndex((freePicos) => freePicos >= first.wantedPicos)
  if (index >= 0) return { type: 'reuse_draining', index }
  if (current?.requests === 0) return { type: 'return_current' }
  return isHeld && first.waitedMs < admissionLimits.admissionWaitMs ? { type: 'wait' } : acceptLess(view)
}

/** The step for a first waiter whose worst case the current allowance does not cover. */
export const nextAllowanceStep = (view: AllowanceView): AllowanceStep => {
  switch (view.refused) {
    case 'nothing':
      return place(view)
    case 'allowance':
      return coverFromHeld(view)
    case 'less':
      // Another edge was faster.
      return view.first.waitedMs < admissionLimits.admissionWaitMs
        ? { type: 'try_again' }
        : { type: 'refuse', reason: 'all_reserved' }
  }
}
