import { type Applied, initialLedger, isSealOfLog, type Ledger } from '../domain/ledger/ledger.ts'
import type { PricePublished } from '../events/types.ts'
import type { SealPosition } from '../projections/charges/charge-trace.ts'
import {
  ChargeChain,
  type Evidence,
  type EvidenceEvent,
  type FoundSheet,
  findKeyId,
  findSheetName,
} from './evidence.ts'
import { type FoldSource, foldLog } from './fold-log.ts'

const sheetName = ({ model, version }: Pick<PricePublished, 'model' | 'version'>): string => `${version} ${model}`

class Collector {
  readonly #id: string
  readonly #chain: ChargeChain
  readonly #events: Omit<EvidenceEvent, 'seal'>[] = []
  readonly #sheets = new Map<string, FoundSheet>()
  readonly #seals: SealPosition[] = []

  constructor(id: string) {
    this.#id = id
    this.#chain = new ChargeChain(id)
  }

  take({ event, sequence, index, movements }: Applied): void {
    if (event.type === 'PricePublished') this.#takeSheet(sequence, event.data)
    else if (event.type === 'CheckpointSealed') {
      if (isSealOfLog(event, sequence)) this.#takeSeal({ size: event.data.size, sequence })
    } else if (this.#chain.concerns(event, movements)) this.#events.push({ sequence, index, event, movements })
  }

  evidence({ accounts, sequence }: Ledger): Evidence {
    const events = this.#events.map((entry) => ({ ...entry, seal: this.#sealOver(entry.sequence) }))
    const named = findSheetName(events)
    const keyId = findKeyId(events)
    return {
      id: this.#id,
      events,
      sheet: (named === null ? undefined : this.#sheets.get(sheetName(named))) ?? null,
      key: (keyId === null ? undefined : accounts.keys.get(keyId)) ?? null,
      sequence,
      isComplete: true,
    }
  }

  #takeSheet(sequence: number, published: PricePublished): void {
    const name = sheetName(published)
    if (!this.#sheets.has(name)) this.#sheets.set(name, { sequence, published })
  }

  /** Kept only if no smaller checkpoint covers one of the events. */
  #takeSeal(seal: SealPosition): void {
    const covers = ({ sequence }: { readonly sequence: number }): boolean =>
      sequence <= seal.size && seal.size < (this.#sealOver(sequence)?.size ?? Number.POSITIVE_INFINITY)
    if (this.#events.some(covers)) this.#seals.push(seal)
  }

  #sealOver(sequence: number): SealPosition | null {
    const over = this.#seals.filter(({ size }) => size >= sequence)
    return over.toSorted((one, other) => one.size - other.size)[0] ?? null
  }
}

/** Needs no tables, with the same result. */
export const collectEvidence = async (log: FoldSource, id: string): Promise<Evidence> => {
  const ledger = initialLedger()
  const collector = new Collector(id)
  for await (const applied of foldLog(log, ledger)) for (const each of applied) collector.take(each)
  return collector.evidence(ledger)
}
