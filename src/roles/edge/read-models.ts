/** A workspace's sums as the read models have them, in picos. */
export interface Billing {
  readonly creditsPicos: bigint
  readonly chargedPicos: bigint
  /** What corrections gave back; below zero where they took more. */
  readonly adjustmentsPicos: bigint
  readonly creditLimitPicos: bigint
}

/** What an edge reads from the tables. */
export interface EdgeReadModels {
  /** Undefined where the tables do not have the workspace yet. Rejects while they cannot be read. */
  findBilling(workspaceId: string): Promise<Billing | undefined>
}
