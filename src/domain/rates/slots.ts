/** Slots of one limit of concurrent requests that a holder has, for as long as it renews them. */
interface SlotHolding {
  readonly slots: number
  /** Milliseconds since the epoch; then they are free, whatever happened to their holder. */
  readonly untilMs: number
}

export type Slots = Readonly<Record<string, SlotHolding>>

export const noSlots: Slots = {}

const alive = (slots: Slots, nowMs: number): readonly (readonly [string, SlotHolding])[] =>
  Object.entries(slots).filter(([, { untilMs }]) => untilMs > nowMs)

export const heldByOthers = (slots: Slots, holder: string, nowMs: number): number =>
  alive(slots, nowMs).reduce((sum, [each, holding]) => (each === holder ? sum : sum + holding.slots), 0)

/** As many as the holder wants and the others leave, but never fewer than it uses: running requests are not ended. */
export const allottedSlots = (
  slots: Slots,
  nowMs: number,
  { holder, used, wanted }: { readonly holder: string; readonly used: number; readonly wanted: number },
  max: number,
): number => Math.max(used, Math.min(wanted, max - heldByOthers(slots, holder, nowMs)))

export const heldSlots = (slots: Slots, nowMs: number, holder: string, holding: SlotHolding): Slots =>
  Object.fromEntries([
    ...alive(slots, nowMs).filter(([each]) => each !== holder),
    ...(holding.slots > 0 ? [[holder, holding] as const] : []),
  ])
