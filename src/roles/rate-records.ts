/** A record as it stands. */
export interface RateRecord {
  /** 0 where there is none. */
  readonly sequence: number
  /** What was put; null where there is none, or nothing that can be read. */
  readonly value: unknown
}

/**
 * What processes share of the limits in use: one small record for each, forgotten when it was not put for minutes. Nothing of it is worth a
 * disk: a lost record is a limit that begins anew.
 */
export interface RateRecords {
  /** Rejects with `log_unavailable`. */
  find(name: string): Promise<RateRecord>
  /**
   * Resolves with the record's new sequence, or with null where another one than the expected stands. Rejects with `log_unavailable`: then
   * it may stand or not.
   */
  put(name: string, value: object, expectedSequence: number): Promise<number | null>
}
