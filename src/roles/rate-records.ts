export interface RateRecord {
  readonly sequence: number
  /** Null where there is none, or none that can be read. */
  readonly value: unknown
}

/** Dropped when not put for minutes. Not worth a disk: a lost record is a limit that begins anew. */
export interface RateRecords {
  /** Rejects with `log_unavailable`. */
  find(name: string): Promise<RateRecord>
  /** Null where the sequence is not the expected one. Rejects with `log_unavailable`: it may be stored or not. */
  put(name: string, value: object, expectedSequence: number): Promise<number | null>
}
