// Generated from schemas/ by `make generate`. Do not edit.

/**
 * Another than who proposed it approved an adjustment. Its AdjustmentPosted follows in the same frame.
 */
export interface AdjustmentApproved {
  /**
   * Of the proposal.
   */
  readonly adjustmentId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * Who approved it.
   */
  readonly by: string
}

/**
 * A correction of something charged.
 */
export interface AdjustmentPosted {
  /**
   * Posted once.
   */
  readonly adjustmentId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * USD; above zero gives money back.
   */
  readonly amount: string
  /**
   * The last five are an operator's.
   */
  readonly reason: 'undelivered' | 'reconciliation' | 'refund' | 'write-off' | 'goodwill' | 'correction' | 'chargeback'
  /**
   * What it corrects: the id of a request, a task or an adjustment, or `credit:` and the reference of a credit. Absent: nothing in particular.
   */
  readonly corrects?: string
  /**
   * A remark for the statement; may be empty.
   */
  readonly note: string
  /**
   * The key that the charge counted for, where the correction counts for it too.
   */
  readonly keyId?: string
  /**
   * The tags that the charge counted for, where the correction counts for them too.
   */
  readonly tags?: {
    readonly [k: string]: string
  }
  /**
   * The end user that the charge counted for, where the correction counts for it too.
   */
  readonly endUser?: string
  /**
   * The UTC day that the charge counted for in the key's spend limits.
   */
  readonly day?: string
  /**
   * The operator who posted it. Absent: the gateway itself.
   */
  readonly by?: string
  /**
   * The operator's own reference, by which it is posted once; of a reconciliation, `sha256:` and the digest of the invoice's files. Absent: none.
   */
  readonly reference?: string
}

/**
 * An adjustment above the amount that one person may post alone: it moves nothing until another approves it.
 */
export interface AdjustmentProposed {
  /**
   * Of the adjustment that it becomes.
   */
  readonly adjustmentId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * USD; above zero gives money back.
   */
  readonly amount: string
  /**
   * An operator's.
   */
  readonly reason: 'refund' | 'write-off' | 'goodwill' | 'correction' | 'chargeback'
  /**
   * The operator's own, by which it is proposed and posted once.
   */
  readonly reference: string
  /**
   * What it corrects: the id of a request, a task or an adjustment, or `credit:` and the reference of a credit. Absent: nothing in particular.
   */
  readonly corrects?: string
  /**
   * Of a `correction` of a request or task: USD charged for it with its adjustments by then; not approved once that differs.
   */
  readonly charged?: string
  /**
   * A remark for the statement; may be empty.
   */
  readonly note: string
  /**
   * Who proposed it, and so cannot approve it.
   */
  readonly by: string
  /**
   * It cannot be approved from then on.
   */
  readonly expiresAt: string
}

/**
 * A proposed adjustment was rejected, or withdrawn by who proposed it.
 */
export interface AdjustmentRejected {
  /**
   * Of the proposal. It is not proposed again.
   */
  readonly adjustmentId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * Who rejected it.
   */
  readonly by: string
}

/**
 * A destination has accepted an alert.
 */
export interface AlertDelivered {
  /**
   * The workspace that it watches.
   */
  readonly workspaceId: string
  /**
   * The same for every process that finds it: of its workspace, rule, period and threshold.
   */
  readonly alertId: string
  /**
   * Its name, once in a workspace.
   */
  readonly rule: string
  /**
   * Its name in the configuration.
   */
  readonly destination: string
}

/**
 * A destination has not accepted an alert, for another reason than before; it is sent again for a day.
 */
export interface AlertDeliveryFailed {
  /**
   * The workspace that it watches.
   */
  readonly workspaceId: string
  /**
   * The same for every process that finds it: of its workspace, rule, period and threshold.
   */
  readonly alertId: string
  /**
   * Its name, once in a workspace.
   */
  readonly rule: string
  /**
   * Its name in the configuration.
   */
  readonly destination: string
  /**
   * A status or the kind of a fault, without the address.
   */
  readonly reason: string
}

/**
 * A threshold was reached.
 */
export interface AlertRaised {
  /**
   * The workspace that it watches.
   */
  readonly workspaceId: string
  /**
   * The same for every process that finds it: of its workspace, rule, period and threshold, and of unreconciled invoices the frame of the last one.
   */
  readonly alertId: string
  /**
   * Its name, once in a workspace.
   */
  readonly rule: string
  /**
   * What is compared: USD that requests cost in the UTC day or month; the balance, USD; days that what is available lasts at the rate of the UTC month; percent of an UTC hour's requests that failed with a status of 500 or above, or whose stream broke off; USD of the gateway's recorded invoices that are unreconciled.
   */
  readonly measure: 'spend_day' | 'spend_month' | 'balance' | 'runway_days' | 'error_rate' | 'unreconciled'
  /**
   * USD, days or percent. Spend, error rate and unreconciled USD reach it from below, balance and runway from above.
   */
  readonly threshold: string
  /**
   * What was measured.
   */
  readonly figure: string
  /**
   * The UTC month, day or hour in which it is raised once.
   */
  readonly period: string
  /**
   * Requests of this key, and of those that replaced it, alone.
   */
  readonly keyId?: string
  /**
   * Requests with this tag alone, such as `team=search`; they are counted from when it was first set.
   */
  readonly tag?: string
  /**
   * Names of configured destinations, to each of which it is sent.
   *
   * @minItems 1
   * @maxItems 5
   */
  readonly destinations: string[]
}

/**
 * A rule was removed. What is not delivered of its alerts is not sent any more.
 */
export interface AlertRuleRemoved {
  /**
   * The workspace that it watches.
   */
  readonly workspaceId: string
  /**
   * Its name, once in a workspace.
   */
  readonly rule: string
}

/**
 * What an alert is raised for, in place of a rule of that name.
 */
export interface AlertRuleSet {
  /**
   * The workspace that it watches.
   */
  readonly workspaceId: string
  /**
   * Its name, once in a workspace.
   */
  readonly rule: string
  /**
   * What is compared: USD that requests cost in the UTC day or month; the balance, USD; days that what is available lasts at the rate of the UTC month; percent of an UTC hour's requests that failed with a status of 500 or above, or whose stream broke off; USD of the gateway's recorded invoices that are unreconciled.
   */
  readonly measure: 'spend_day' | 'spend_month' | 'balance' | 'runway_days' | 'error_rate' | 'unreconciled'
  /**
   * USD, days or percent. Spend, error rate and unreconciled USD reach it from below, balance and runway from above.
   */
  readonly threshold: string
  /**
   * Requests of this key, and of those that replaced it, alone.
   */
  readonly keyId?: string
  /**
   * Requests with this tag alone, such as `team=search`; they are counted from when it was first set.
   */
  readonly tag?: string
  /**
   * Names of configured destinations, to each of which it is sent.
   *
   * @minItems 1
   * @maxItems 5
   */
  readonly destinations: string[]
}

/**
 * What a bare name leads to, from here on, whatever the configuration says.
 */
export interface AliasSet {
  /**
   * The bare name.
   */
  readonly alias: string
  /**
   * `<provider>/<model>`; null: no override, so that the configuration applies.
   */
  readonly model: string | null
}

/**
 * The receiver of a video's callback has not accepted it: at the first try, and where no further one follows.
 */
export interface CallbackFailed {
  /**
   * The task that has ended.
   */
  readonly taskId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * How often it was sent.
   */
  readonly tries: number
  /**
   * A status or the kind of a fault, without the address.
   */
  readonly reason: string
  /**
   * Whether it is sent no more.
   */
  readonly givenUp: boolean
}

/**
 * A witness has confirmed that a sealed checkpoint extends every one that it confirmed before.
 */
export interface CheckpointCosigned {
  /**
   * Of the checkpoint: frames sealed.
   */
  readonly size: number
  /**
   * Root of the tree over them (RFC 6962, SHA-256), base64.
   */
  readonly root: string
  /**
   * The name of its key.
   */
  readonly witness: string
  /**
   * The signed checkpoint with the witness's cosignature below (C2SP tlog-checkpoint, tlog-cosignature).
   */
  readonly note: string
}

/**
 * The frames up to a sequence are sealed: the Merkle tree over them, signed.
 */
export interface CheckpointSealed {
  /**
   * Frames sealed: those of the sequences 1 to this.
   */
  readonly size: number
  /**
   * Root of the tree (RFC 6962, SHA-256), base64.
   */
  readonly root: string
  /**
   * Roots of the perfect trees that the first `from` leaves are made of, the largest first.
   *
   * @maxItems 53
   */
  readonly peaks: string[]
  /**
   * Leaves before those listed: the size of the checkpoint before.
   */
  readonly from: number
  /**
   * The hashes of the leaves `from` to `size`, 32 bytes each, base64: they show which frame was changed.
   */
  readonly leaves: string
  /**
   * The signed checkpoint (C2SP tlog-checkpoint).
   */
  readonly note: string
  /**
   * The snapshot of the ledger that the checkpoint confirms. Absent: none.
   */
  readonly snapshot?: {
    /**
     * Of the snapshot's bytes.
     */
    readonly sha256: string
    /**
     * The version of its format.
     */
    readonly format: number
    /**
     * The last that the snapshot contains.
     */
    readonly sequence: number
  }
}

/**
 * What was left of a credit at its end lapses.
 */
export interface CreditExpired {
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * Of the credit.
   */
  readonly reference: string
  /**
   * USD, above zero.
   */
  readonly amount: string
}

/**
 * Money is set aside.
 */
export interface HoldPlaced {
  /**
   * The hold.
   */
  readonly holdId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * task: a video; allowance: the requests of one edge.
   */
  readonly purpose: 'task' | 'allowance'
  /**
   * USD, above zero.
   */
  readonly amount: string
  /**
   * When the scheduler gives it back.
   */
  readonly deadline: string
  /**
   * The writer that placed it.
   */
  readonly owner: string
  readonly task?: TaskOrder
  /**
   * Of an allowance that only this key may spend, since it has a spend limit, and those that took its place.
   */
  readonly keyId?: string
  /**
   * Of an allowance that only requests with these tags may spend, since each has a spend limit.
   */
  readonly tags?: {
    readonly [k: string]: string
  }
  /**
   * Of an allowance that only this end user may spend, since it has a spend limit.
   */
  readonly endUser?: string
  /**
   * The UTC day that the hold counts for in spend limits. Absent: that of the event.
   */
  readonly day?: string
}
/**
 * What a video task was ordered as: with `purpose: task`, whose hold has the id of the task.
 */
export interface TaskOrder {
  /**
   * The key that asked.
   */
  readonly keyId: string
  /**
   * Where it was asked.
   */
  readonly surface: 'video' | 'native-video'
  /**
   * What was asked, by the vendor's name for it.
   */
  readonly kind: 'text2video' | 'image2video' | 'omni-video'
  /**
   * Public model id, <provider>/<model>.
   */
  readonly model: string
  /**
   * The vendor, as configured.
   */
  readonly provider: string
  /**
   * As the vendor calls it.
   */
  readonly upstreamModel: string
  /**
   * The price sheet in force.
   */
  readonly priceVersion: string
  /**
   * USD per unit, in force for this task.
   */
  readonly unitPrice: string
  /**
   * The most units that the task can plausibly take; the hold is these at the unit price.
   */
  readonly unitsMax: string
  /**
   * The caller's own id, which names one task of the workspace.
   */
  readonly externalTaskId?: string
  /**
   * SHA-256 of the request as understood: the same again is the same task.
   */
  readonly requestDigest: string
  /**
   * SHA-256 of the payload in the task queue.
   */
  readonly payloadDigest: string
}

/**
 * What is left of a hold goes back.
 */
export interface HoldReleased {
  /**
   * The hold.
   */
  readonly holdId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * returned: by its owner; expired: by the scheduler; submit_failed: the vendor did not accept the task.
   */
  readonly reason: 'returned' | 'expired' | 'submit_failed'
}

/**
 * An invoice or a credit note of a workspace on a closed month. The document follows from this event alone.
 */
export interface InvoiceIssued {
  /**
   * What the document is called: the prefix of the configuration and the number.
   */
  readonly invoiceId: string
  /**
   * One above that of the invoice before; an event with another number issues nothing.
   */
  readonly number: number
  /**
   * A credit note where the net amount is below zero.
   */
  readonly kind: 'invoice' | 'credit_note'
  /**
   * Whose entries are invoiced.
   */
  readonly workspaceId: string
  /**
   * As of when it was issued.
   */
  readonly workspaceName: string
  /**
   * The customer's account; absent: none.
   */
  readonly account?: string
  /**
   * The closed UTC month in whose statement the entries are.
   */
  readonly month: string
  /**
   * The months to which those entries refer: each is billed once.
   *
   * @minItems 1
   */
  readonly covers: string[]
  /**
   * The invoice of the month to which the entries refer, where that was issued before.
   */
  readonly corrects?: string
  /**
   * Of the frame that cut the month off.
   */
  readonly sequence: number
  /**
   * That of PeriodClosed: SHA-256 of the month's statements.
   */
  readonly periodDigest: string
  /**
   * A UTC day.
   */
  readonly issuedOn: string
  readonly seller: InvoiceParty
  readonly buyer: InvoiceParty1
  /**
   * By model and kind of entry; their amounts add up to net.
   */
  readonly lines: InvoiceLine[]
  /**
   * The same amounts by the values of each tag.
   */
  readonly tags: InvoiceTag[]
  /**
   * The sum of the lines, USD.
   */
  readonly exact: string
  /**
   * That sum in whole cents, halves away from zero.
   */
  readonly net: string
  /**
   * Percent.
   */
  readonly taxRate: string
  /**
   * The rate of the net amount in whole cents, halves away from zero.
   */
  readonly tax: string
  /**
   * Net amount and tax.
   */
  readonly gross: string
  /**
   * SHA-256 of the document as HTML.
   */
  readonly documentDigest: string
}
/**
 * Who issues it.
 */
export interface InvoiceParty {
  /**
   * As it is printed.
   */
  readonly name: string
  /**
   * Line by line.
   */
  readonly address: string[]
  /**
   * Such as a VAT number. Absent: none.
   */
  readonly taxId?: string
}
/**
 * Whom it is for.
 */
export interface InvoiceParty1 {
  /**
   * As it is printed.
   */
  readonly name: string
  /**
   * Line by line.
   */
  readonly address: string[]
  /**
   * Such as a VAT number. Absent: none.
   */
  readonly taxId?: string
}
export interface InvoiceLine {
  /**
   * Credit that a plan includes is below zero, and what of it lapsed above zero.
   */
  readonly kind: 'usage' | 'fee' | 'included' | 'correction'
  /**
   * Empty where there is none.
   */
  readonly model: string
  /**
   * How many.
   */
  readonly requests: number
  /**
   * USD, net.
   */
  readonly amount: string
}
export interface InvoiceTag {
  /**
   * A configured tag.
   */
  readonly name: string
  /**
   * A line for each value.
   */
  readonly lines: {
    /**
     * Empty where there is none.
     */
    readonly value: string
    /**
     * USD, net.
     */
    readonly amount: string
  }[]
}

/**
 * A provider's invoice was compared with the ledger. It moves no money. It takes the place of what was recorded before of the same provider and of days that are all among these.
 */
export interface InvoiceReconciled {
  /**
   * Whose invoice it is, as the configuration names it.
   */
  readonly provider: string
  /**
   * The first day that was compared.
   */
  readonly from: string
  /**
   * The last day, which is included.
   */
  readonly to: string
  /**
   * Where the days begin and end.
   */
  readonly timezone: string
  /**
   * SHA-256 of the files that were compared, one after the other, in hexadecimal digits.
   */
  readonly digest: string
  /**
   * USD, by the invoice.
   */
  readonly invoiced: string
  /**
   * USD, by the ledger, before the corrections of this run.
   */
  readonly charged: string
  /**
   * USD of the difference that are timing or rounding, or that adjustments of this run have corrected.
   */
  readonly explained: string
  /**
   * USD of all other differences, each without its sign: one does not hide another.
   */
  readonly unreconciled: string
  /**
   * How many are unreconciled.
   */
  readonly differences: number
  /**
   * The last frame of the log that was compared.
   */
  readonly sequence: number
}

/**
 * A key stops working at an instant: the scheduler revokes it then.
 */
export interface KeyExpirySet {
  /**
   * The key.
   */
  readonly keyId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * When it stops.
   */
  readonly expiresAt: string
}

/**
 * A key calls for a workspace. Only its SHA-256 and a display prefix are kept.
 */
export interface KeyIssued {
  /**
   * The key.
   */
  readonly keyId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * Display name.
   */
  readonly name: string
  /**
   * Of the secret.
   */
  readonly sha256: string
  /**
   * The first characters of the secret, by which its owner knows it.
   */
  readonly prefix: string
  /**
   * When it stops: the scheduler revokes it then. Absent: never.
   */
  readonly expiresAt?: string
  /**
   * Of pages whose scripts alone may call with it. Absent: every caller may.
   *
   * @minItems 1
   * @maxItems 100
   */
  readonly origins?: string[]
  /**
   * The key that it takes the place of, in the same workspace. Its limits, and what is spent of them, bind both.
   */
  readonly replaces?: string
}

/**
 * A key stops working.
 */
export interface KeyRevoked {
  /**
   * The key.
   */
  readonly keyId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * Absent: an operator did so.
   */
  readonly reason?: 'expired'
}

/**
 * The vendor's verdict on a task whose hold had ended. It is not charged.
 */
export interface LateVerdictSeen {
  /**
   * The task; the id of its hold too.
   */
  readonly taskId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * The task's id at the vendor.
   */
  readonly vendorTaskId: string
  /**
   * What the vendor reports.
   */
  readonly outcome: 'SUCCESS' | 'FAILURE'
  /**
   * `final_unit_deduction` as the vendor wrote it; absent where it reported none.
   */
  readonly deduction?: string
  /**
   * What the vendor took for it at the unit price of the hold, USD.
   */
  readonly cost: string
  /**
   * The vendor's text.
   */
  readonly failReason?: string
}

/**
 * The limits of a workspace, or of one key in it, from here on. They replace the ones before, whole.
 */
export interface LimitsSet {
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * A key that took another's place has its limits: they are recorded under the first of them.
   */
  readonly keyId?: string
  /**
   * The limits are those of all requests with this tag, such as `team=search`: `spend` alone. Absent, as `keyId` and `endUser`: those of the workspace.
   */
  readonly tag?: string
  /**
   * The limits are those of this end user, by the id that requests have: `spend` alone.
   */
  readonly endUser?: string
  readonly limits: Limits
}
/**
 * The limits of a workspace, of a key or of a plan; what is absent is not limited.
 */
export interface Limits {
  /**
   * Requests a minute.
   */
  readonly requestsPerMinute?: number
  /**
   * Tokens a minute, input and output together.
   */
  readonly tokensPerMinute?: number
  /**
   * Requests at once.
   */
  readonly concurrentRequests?: number
  /**
   * By `<provider>/<model>`.
   */
  readonly models?: {
    readonly [k: string]: Pace
  }
  readonly spend?: Spend
  /**
   * `<provider>/<model>`, or `<provider>/*`. Absent: every model.
   *
   * @maxItems 200
   */
  readonly allowedModels?: string[]
}
/**
 * How much may be asked for; what is absent is not limited.
 */
export interface Pace {
  /**
   * Requests a minute.
   */
  readonly requestsPerMinute?: number
  /**
   * Tokens a minute, input and output together.
   */
  readonly tokensPerMinute?: number
  /**
   * Requests at once.
   */
  readonly concurrentRequests?: number
}
/**
 * USD that may be spent; what is absent is not limited. Days and months are those of UTC.
 */
export interface Spend {
  /**
   * In a day.
   */
  readonly day?: string
  /**
   * In a month.
   */
  readonly month?: string
  /**
   * Ever.
   */
  readonly total?: string
}

/**
 * An operator finished an upgrade: from here on the log has what releases that read it up to an earlier format cannot read.
 */
export interface LogFormatRaised {
  /**
   * What the log may have from here on; without such an event it is 1.
   */
  readonly format: number
}

/**
 * An operator went back to an earlier size of the log, as by restoring an archive. What was sealed beyond it is given up.
 */
export interface LogRolledBack {
  /**
   * Frames that are kept: those of the sequences 1 to this.
   */
  readonly size: number
  /**
   * Root of the tree over them (RFC 6962, SHA-256), base64.
   */
  readonly root: string
  /**
   * Names the log in its checkpoints from here on.
   */
  readonly origin: string
  /**
   * What had been signed last.
   */
  readonly previous: {
    /**
     * Frames that were sealed.
     */
    readonly size: number
    /**
     * Of the tree over them.
     */
    readonly root: string
    /**
     * The log's name in its checkpoints.
     */
    readonly origin: string
  }
  /**
   * Why, in the operator's words.
   */
  readonly reason: string
}

/**
 * A month is closed: its statements are final.
 */
export interface PeriodClosed {
  /**
   * In UTC, such as `2026-11`.
   */
  readonly month: string
  /**
   * Of the frame that cut the month off: what is before it counts.
   */
  readonly sequence: number
  /**
   * SHA-256 of the month's statements, in the order of their workspaces, as JSON with holds.
   */
  readonly digest: string
  /**
   * Of all statements of the month, USD; debits are above zero.
   */
  readonly totals: {
    /**
     * Those with a movement.
     */
    readonly workspaces: number
    /**
     * Charges of requests and tasks.
     */
    readonly requests: number
    /**
     * Balances at the start of the month, USD.
     */
    readonly opening: string
    /**
     * USD, after corrections of payments, such as chargebacks.
     */
    readonly credits: string
    /**
     * USD.
     */
    readonly charges: string
    /**
     * USD, without those of payments; below zero gave money back.
     */
    readonly corrections: string
    /**
     * Of plans, USD.
     */
    readonly fees: string
    /**
     * Credit that lapsed, USD.
     */
    readonly lapsed: string
    /**
     * Balances at the end of the month, USD.
     */
    readonly closing: string
  }
  /**
   * Open requests, open tasks and unexplained figures of the month that were accepted.
   */
  readonly exceptions: number
}

/**
 * From here on no movement is posted in the month or before it: what belongs there is posted in the next one.
 */
export interface PeriodCutOff {
  /**
   * In UTC, such as `2026-11`.
   */
  readonly month: string
}

/**
 * The month is not closed any more.
 */
export interface PeriodReopened {
  /**
   * In UTC, such as `2026-11`.
   */
  readonly month: string
  /**
   * Why, in the operator's words.
   */
  readonly reason: string
}

/**
 * A subscription is not renewed any more; it ends with its period.
 */
export interface PlanCancelled {
  /**
   * The subscription.
   */
  readonly subscriptionId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
}

/**
 * A subscription has ended, and its limits with it.
 */
export interface PlanEnded {
  /**
   * The subscription.
   */
  readonly subscriptionId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * `unpaid`: the wallet did not cover the next fee.
   */
  readonly reason: 'expired' | 'unpaid' | 'replaced'
}

/**
 * A plan that can be subscribed to, from here on. Who has subscribed before keeps the terms of then until the next renewal.
 */
export interface PlanPublished {
  /**
   * The plan.
   */
  readonly planId: string
  /**
   * Display name.
   */
  readonly name: string
  /**
   * The fee of one period, USD, zero or more.
   */
  readonly price: string
  /**
   * How long a fee pays for.
   */
  readonly period: 'day' | 'month' | 'year'
  /**
   * Credit of each period, USD, zero or more; what is left of it lapses at the end of the period.
   */
  readonly includedCredit: string
  readonly limits: Limits
}
/**
 * A subscription goes on for another period, on the terms of now: its fee is charged, its credit given, in one.
 */
export interface PlanRenewed {
  /**
   * The subscription.
   */
  readonly subscriptionId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * The plan.
   */
  readonly planId: string
  /**
   * Display name of the plan.
   */
  readonly name: string
  /**
   * The fee of one period, USD, zero or more.
   */
  readonly price: string
  /**
   * How long a fee pays for.
   */
  readonly period: 'day' | 'month' | 'year'
  /**
   * Credit of each period, USD, zero or more; what is left of it lapses at the end of the period.
   */
  readonly includedCredit: string
  readonly limits: Limits
  /**
   * When the period begins: the end of the one before.
   */
  readonly startsAt: string
  /**
   * When it ends.
   */
  readonly expiresAt: string
}
/**
 * A workspace has a plan from here on: its fee is charged, its credit given, in one.
 */
export interface PlanSubscribed {
  /**
   * The subscription.
   */
  readonly subscriptionId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * The plan.
   */
  readonly planId: string
  /**
   * Display name of the plan.
   */
  readonly name: string
  /**
   * The fee of one period, USD, zero or more.
   */
  readonly price: string
  /**
   * How long a fee pays for.
   */
  readonly period: 'day' | 'month' | 'year'
  /**
   * Credit of each period, USD, zero or more; what is left of it lapses at the end of the period.
   */
  readonly includedCredit: string
  readonly limits: Limits
  /**
   * When the period begins.
   */
  readonly startsAt: string
  /**
   * When it ends.
   */
  readonly expiresAt: string
  /**
   * Whether the scheduler renews it at its end.
   */
  readonly renews: boolean
}
/**
 * One model's price sheet from an instant on.
 */
export interface PricePublished {
  /**
   * Public model id, <provider>/<model>.
   */
  readonly model: string
  /**
   * Names one published price sheet: the start of the SHA-256 of its content.
   */
  readonly version: string
  /**
   * In force from here on, until a later sheet.
   */
  readonly effectiveFrom: string
  /**
   * Where the price was read.
   */
  readonly source: string
  /**
   * Names of dated snapshots that the provider sells at this price, without the provider.
   *
   * @maxItems 64
   */
  readonly snapshots?: string[]
  readonly sheet?: PriceSheet
  readonly video?: VideoSheet
}
/**
 * What a provider publishes for one model.
 */
export interface PriceSheet {
  /**
   * Always.
   */
  readonly currency: 'USD'
  /**
   * USD for a million tokens of each kind.
   */
  readonly per_million_tokens: {
    /**
     * USD per 1,000,000 tokens.
     */
    readonly input: string
    /**
     * USD per 1,000,000 tokens.
     */
    readonly cached_input?: string
    /**
     * USD per 1,000,000 tokens.
     */
    readonly cached_audio_input?: string
    /**
     * USD per 1,000,000 tokens.
     */
    readonly cached_image_input?: string
    /**
     * USD per 1,000,000 tokens.
     */
    readonly cache_write_5m?: string
    /**
     * USD per 1,000,000 tokens.
     */
    readonly cache_write_1h?: string
    /**
     * USD per 1,000,000 tokens.
     */
    readonly cache_write_12h?: string
    /**
     * USD per 1,000,000 tokens.
     */
    readonly output: string
    /**
     * USD per 1,000,000 tokens.
     */
    readonly reasoning?: string
    /**
     * USD per 1,000,000 tokens.
     */
    readonly audio_input?: string
    /**
     * USD per 1,000,000 tokens.
     */
    readonly audio_output?: string
    /**
     * USD per 1,000,000 tokens.
     */
    readonly image_input?: string
    /**
     * USD per 1,000,000 tokens.
     */
    readonly image_output?: string
  }
  /**
   * Prices from a number of input tokens on.
   *
   * @maxItems 8
   */
  readonly tiers?: {
    /**
     * The whole request takes these rates when its prompt has more tokens than this.
     */
    readonly prompt_tokens_above: number
    /**
     * As above.
     */
    readonly per_million_tokens: {
      /**
       * USD per 1,000,000 tokens.
       */
      readonly input: string
      /**
       * USD per 1,000,000 tokens.
       */
      readonly cached_input?: string
      /**
       * USD per 1,000,000 tokens.
       */
      readonly cached_audio_input?: string
      /**
       * USD per 1,000,000 tokens.
       */
      readonly cached_image_input?: string
      /**
       * USD per 1,000,000 tokens.
       */
      readonly cache_write_5m?: string
      /**
       * USD per 1,000,000 tokens.
       */
      readonly cache_write_1h?: string
      /**
       * USD per 1,000,000 tokens.
       */
      readonly cache_write_12h?: string
      /**
       * USD per 1,000,000 tokens.
       */
      readonly output: string
      /**
       * USD per 1,000,000 tokens.
       */
      readonly reasoning?: string
      /**
       * USD per 1,000,000 tokens.
       */
      readonly audio_input?: string
      /**
       * USD per 1,000,000 tokens.
       */
      readonly audio_output?: string
      /**
       * USD per 1,000,000 tokens.
       */
      readonly image_input?: string
      /**
       * USD per 1,000,000 tokens.
       */
      readonly image_output?: string
    }
  }[]
  /**
   * Rates of the service tiers that the provider reports by name in its answers, such as flex or priority.
   */
  readonly service_tiers?: {
    readonly [k: string]: {
      /**
       * As above.
       */
      readonly per_million_tokens: {
        /**
         * USD per 1,000,000 tokens.
         */
        readonly input: string
        /**
         * USD per 1,000,000 tokens.
         */
        readonly cached_input?: string
        /**
         * USD per 1,000,000 tokens.
         */
        readonly cached_audio_input?: string
        /**
         * USD per 1,000,000 tokens.
         */
        readonly cached_image_input?: string
        /**
         * USD per 1,000,000 tokens.
         */
        readonly cache_write_5m?: string
        /**
         * USD per 1,000,000 tokens.
         */
        readonly cache_write_1h?: string
        /**
         * USD per 1,000,000 tokens.
         */
        readonly cache_write_12h?: string
        /**
         * USD per 1,000,000 tokens.
         */
        readonly output: string
        /**
         * USD per 1,000,000 tokens.
         */
        readonly reasoning?: string
        /**
         * USD per 1,000,000 tokens.
         */
        readonly audio_input?: string
        /**
         * USD per 1,000,000 tokens.
         */
        readonly audio_output?: string
        /**
         * USD per 1,000,000 tokens.
         */
        readonly image_input?: string
        /**
         * USD per 1,000,000 tokens.
         */
        readonly image_output?: string
      }
      /**
       * As above.
       *
       * @maxItems 8
       */
      readonly tiers?: {
        /**
         * The whole request takes these rates when its prompt has more tokens than this.
         */
        readonly prompt_tokens_above: number
        /**
         * As above.
         */
        readonly per_million_tokens: {
          /**
           * USD per 1,000,000 tokens.
           */
          readonly input: string
          /**
           * USD per 1,000,000 tokens.
           */
          readonly cached_input?: string
          /**
           * USD per 1,000,000 tokens.
           */
          readonly cached_audio_input?: string
          /**
           * USD per 1,000,000 tokens.
           */
          readonly cached_image_input?: string
          /**
           * USD per 1,000,000 tokens.
           */
          readonly cache_write_5m?: string
          /**
           * USD per 1,000,000 tokens.
           */
          readonly cache_write_1h?: string
          /**
           * USD per 1,000,000 tokens.
           */
          readonly cache_write_12h?: string
          /**
           * USD per 1,000,000 tokens.
           */
          readonly output: string
          /**
           * USD per 1,000,000 tokens.
           */
          readonly reasoning?: string
          /**
           * USD per 1,000,000 tokens.
           */
          readonly audio_input?: string
          /**
           * USD per 1,000,000 tokens.
           */
          readonly audio_output?: string
          /**
           * USD per 1,000,000 tokens.
           */
          readonly image_input?: string
          /**
           * USD per 1,000,000 tokens.
           */
          readonly image_output?: string
        }
      }[]
    }
  }
  /**
   * By the region that the provider reports in its answer: what every token rate is multiplied by.
   */
  readonly region_multipliers?: {
    readonly [k: string]: string
  }
  /**
   * USD for a call of each built-in tool.
   */
  readonly per_call?: {
    /**
     * USD per call of a built-in tool, or per token that one reads beside the model.
     */
    readonly [k: string]: string
  }
  /**
   * 0: the model makes embeddings, and no text.
   */
  readonly max_output_tokens: number
  /**
   * What the model reads and writes at most.
   */
  readonly context_tokens?: number
}
/**
 * What a provider publishes for one video model.
 */
export interface VideoSheet {
  /**
   * Always.
   */
  readonly currency: 'USD'
  /**
   * USD per unit of the vendor.
   */
  readonly unit_price: string
  /**
   * By mode, and what is asked beside it: `pro`, `pro+audio`, `std+video`, `std+voice`. What has no rate is not sold.
   */
  readonly units_per_second: {
    /**
     * Units for a second of output.
     */
    readonly [k: string]: string
  }
}

/**
 * How many requests an edge answered with an error before they were routed, by minute, key and code. An edge appends one a minute at most.
 */
export interface RefusalsCounted {
  /**
   * What does not fit is in one row with the code `other`, without a workspace and a key.
   *
   * @minItems 1
   * @maxItems 101
   */
  readonly counts: {
    /**
     * Its beginning.
     */
    readonly minute: string
    /**
     * The workspace of the key. Null: no key that works.
     */
    readonly workspaceId: string | null
    /**
     * Who called.
     */
    readonly keyId: string | null
    /**
     * The error code the client got.
     */
    readonly code: string
    /**
     * So many requests.
     */
    readonly count: number
  }[]
}

/**
 * A request ended without an answer and without a charge.
 */
export interface RequestFailed {
  /**
   * The request.
   */
  readonly requestId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * Who calls.
   */
  readonly keyId: string
  /**
   * The API format of the request.
   */
  readonly surface: 'chat' | 'messages' | 'responses' | 'gemini' | 'embeddings'
  /**
   * The HTTP status that the client got.
   */
  readonly status: number
  /**
   * The error code the client got.
   */
  readonly reason: string
  readonly allowanceId: string | null
  /**
   * Calls upstream, in order.
   *
   * @maxItems 16
   */
  readonly attempts: Attempt[]
}
/**
 * One candidate of the plan, in its order: a call upstream, or one that was passed over.
 */
export interface Attempt {
  /**
   * Public model id, <provider>/<model>.
   */
  readonly model: string
  /**
   * The provider, as configured.
   */
  readonly provider: string
  /**
   * passed_over: the candidate could not be asked for this request, and no call was made.
   */
  readonly outcome: 'served' | 'failed' | 'passed_over'
  /**
   * HTTP status of the provider. Null: it sent none.
   */
  readonly status: number | null
  readonly reason: string | null
  /**
   * Until its end.
   */
  readonly durationMs: number
  /**
   * Which of the provider's deployments was called. Absent: the provider has one.
   */
  readonly deployment?: string
  /**
   * The provider's own id of the call. Absent: it sent none.
   */
  readonly upstreamRequestId?: string
}

/**
 * Who asked for what, and the ordered plan chosen.
 */
export interface RequestRouted {
  /**
   * The request.
   */
  readonly requestId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * Who calls.
   */
  readonly keyId: string
  /**
   * The API format of the request.
   */
  readonly surface: 'chat' | 'messages' | 'responses' | 'gemini' | 'embeddings'
  /**
   * The model as asked for.
   */
  readonly model: string
  /**
   * The router that the request named, or null.
   */
  readonly router: string | null
  /**
   * Whether the answer is streamed.
   */
  readonly stream: boolean
  /**
   * What is tried, in order.
   *
   * @minItems 1
   * @maxItems 16
   */
  readonly candidates: {
    /**
     * Public model id, <provider>/<model>.
     */
    readonly model: string
    /**
     * The provider, as configured.
     */
    readonly provider: string
    /**
     * As the provider calls it.
     */
    readonly upstreamModel: string
    /**
     * Names one published price sheet: the start of the SHA-256 of its content.
     */
    readonly priceVersion: string
  }[]
  readonly allowanceId: string | null
  /**
   * The worst case reserved in the allowance, USD.
   */
  readonly reserved: string
  readonly outputCap: number | null
  /**
   * When the proxy gives up.
   */
  readonly deadline: string
  /**
   * Configured names and what the client gave for them. Absent: none.
   */
  readonly tags?: {
    readonly [k: string]: string
  }
  /**
   * An HMAC of the client's end user, under a key of the workspace that is kept outside the log. Absent: none was named.
   */
  readonly endUser?: string
}

/**
 * What `gateway/<router>` tries, from here on, whatever the configuration says.
 */
export interface RouterSet {
  /**
   * The name behind `gateway/`.
   */
  readonly router: string
  /**
   * Null: no override, so that the configuration applies.
   */
  readonly candidates: RouterCandidate[] | null
  /**
   * `listed`: in this order. `weighted`: the first is drawn by weight, the others follow likewise.
   */
  readonly order: 'listed' | 'weighted'
}
/**
 * One model of a router.
 */
export interface RouterCandidate {
  /**
   * `<provider>/<model>`.
   */
  readonly model: string
  /**
   * Its part of the sum of all weights, where the order is `weighted`; 1 where absent.
   */
  readonly weight?: number
}

/**
 * The vendor reported a later state.
 */
export interface TaskProgressed {
  /**
   * The task; the id of its hold too.
   */
  readonly taskId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * What the vendor reports.
   */
  readonly status: 'SUBMITTED' | 'IN_PROGRESS'
  /**
   * Percent; an estimate of ours where the vendor reports none.
   */
  readonly progress: number
}

/**
 * A video task ended, as the vendor reported: what it cost, and so what goes back.
 */
export interface TaskSettled {
  /**
   * The task; the id of its hold too.
   */
  readonly taskId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * How the task ended.
   */
  readonly outcome: 'SUCCESS' | 'FAILURE'
  /**
   * Absent where the vendor never took the task.
   */
  readonly vendorTaskId?: string
  /**
   * Of a failure.
   */
  readonly failReason?: string
  /**
   * The vendor's error code, of a refusal.
   */
  readonly vendorCode?: number
  /**
   * `final_unit_deduction` as the vendor wrote it; absent where it reported none.
   */
  readonly deduction?: string
  /**
   * False: the deduction cannot be, and the hold's figure is charged until an operator confirms it. Absent: true.
   */
  readonly plausible?: boolean
  /**
   * Whose figure the quantity is: the vendor's, or that of the hold.
   */
  readonly source: 'reported' | 'estimated'
  /**
   * The price sheet in force at the hold.
   */
  readonly priceVersion: string
  /**
   * What is charged, line by line.
   *
   * @maxItems 8
   */
  readonly lines: TaskChargeLine[]
  /**
   * Σ lines, USD; zero for a failure.
   */
  readonly total: string
  /**
   * What the hold was, USD.
   */
  readonly held: string
  /**
   * The files that the vendor made.
   *
   * @maxItems 16
   */
  readonly results: TaskResult[]
}
/**
 * One line of a charge.
 */
export interface TaskChargeLine {
  /**
   * What is charged.
   */
  readonly item: string
  /**
   * Units.
   */
  readonly quantity: string
  /**
   * USD per unit.
   */
  readonly unitPrice: string
  /**
   * quantity × unitPrice, USD.
   */
  readonly amount: string
}
/**
 * A rendered video.
 */
export interface TaskResult {
  /**
   * The vendor's id of the file.
   */
  readonly id: string
  /**
   * Signed by the vendor; it expires.
   */
  readonly url: string
  /**
   * The same with a watermark, where there is one.
   */
  readonly watermarkUrl?: string
  /**
   * Seconds, as the vendor writes them.
   */
  readonly duration?: string
}

/**
 * The vendor took a video task.
 */
export interface TaskSubmitted {
  /**
   * The task; the id of its hold too.
   */
  readonly taskId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * The task's id at the vendor.
   */
  readonly vendorTaskId: string
}

/**
 * A request was served, and this is its bill.
 */
export interface UsageRecorded {
  /**
   * The request.
   */
  readonly requestId: string
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * Who calls.
   */
  readonly keyId: string
  /**
   * The API format of the request.
   */
  readonly surface: 'chat' | 'messages' | 'responses' | 'gemini' | 'embeddings'
  /**
   * Public model id, <provider>/<model>.
   */
  readonly model: string
  /**
   * The provider that served, as configured.
   */
  readonly provider: string
  /**
   * Index in the fallback chain that served.
   */
  readonly level: number
  /**
   * Names one published price sheet: the start of the SHA-256 of its content.
   */
  readonly priceVersion: string
  readonly usage: Usage
  /**
   * Whether the provider reported the usage, or a tokenizer counted it.
   */
  readonly source: 'reported' | 'estimated'
  /**
   * The bill: quantity × published price.
   *
   * @maxItems 64
   */
  readonly lines: ChargeLine[]
  /**
   * Σ lines, USD.
   */
  readonly total: string
  /**
   * What was reserved for it, USD.
   */
  readonly reserved: string
  readonly allowanceId: string | null
  /**
   * Calls upstream, in order; the last one served.
   *
   * @maxItems 16
   */
  readonly attempts: Attempt[]
  /**
   * How the answer ended; client_gone: its client left.
   */
  readonly outcome: 'completed' | 'client_gone' | 'interrupted'
  /**
   * The provider keeps the answer under this id, by which its workspace may name it. Absent where it keeps none.
   */
  readonly storedResponseId?: string
  /**
   * What the answer was served with and the price sheet has no price for: it was charged as the standard one. Absent: nothing.
   *
   * @minItems 1
   * @maxItems 2
   */
  readonly unpriced?: ('service_tier' | 'inference_geo')[]
  /**
   * From the dispatch to the first token of the answer. Absent: not streamed, or not measured.
   */
  readonly firstTokenMs?: number
  /**
   * False: the reported usage cannot be, and the reservation is billed until an operator confirms. Absent: true.
   */
  readonly plausible?: boolean
  readonly estimate?: HiddenEstimate
}
/**
 * Normalised usage; the units are tokens; tool calls are calls, and what tools read beside the model, by names that end in _tokens.
 */
export interface Usage {
  /**
   * Input tokens read afresh, text.
   */
  readonly inputUncached: number
  /**
   * Input tokens read from the provider's cache.
   */
  readonly cacheRead: number
  /**
   * Of cacheRead, audio. Absent: none, or not reported.
   */
  readonly cacheReadAudio?: number
  /**
   * Of cacheRead, images. Absent: none, or not reported.
   */
  readonly cacheReadImage?: number
  /**
   * Input tokens written to it for 5 minutes.
   */
  readonly cacheWrite5m: number
  /**
   * Input tokens written to it for an hour.
   */
  readonly cacheWrite1h: number
  /**
   * Absent: none.
   */
  readonly cacheWrite12h?: number
  /**
   * Audio tokens of the input.
   */
  readonly inputAudio: number
  /**
   * Image tokens of the input.
   */
  readonly inputImage: number
  /**
   * All output tokens, those below included.
   */
  readonly outputTotal: number
  /**
   * Reasoning tokens.
   */
  readonly outputReasoning: number
  /**
   * Audio tokens of the output.
   */
  readonly outputAudio: number
  /**
   * Image tokens of the output.
   */
  readonly outputImage: number
  /**
   * Calls of built-in tools, by tool.
   */
  readonly toolCalls: {
    readonly [k: string]: number
  }
  /**
   * All input tokens, cached included; decides the price tier.
   */
  readonly promptTotal: number
  /**
   * Where one answer took several samplings, each with a prompt of its own: the largest, which decides the price tier.
   */
  readonly promptLargest?: number
  /**
   * The service tier that the provider reports, where it is not its standard one. Absent: the standard tier, or none is reported.
   */
  readonly serviceTier?: string
  /**
   * The region that the provider reports. Absent: none in particular.
   */
  readonly inferenceGeo?: string
  /**
   * The figures that the provider reported below zero, by its own names for them; each counts as 0 above. Absent: none.
   */
  readonly negative?: {
    readonly [k: string]: number
  }
}
/**
 * One line of a charge.
 */
export interface ChargeLine {
  /**
   * What is charged: a kind of tokens, or a tool.
   */
  readonly item: string
  /**
   * Tokens or calls.
   */
  readonly quantity: number
  /**
   * USD per unit.
   */
  readonly unitPrice: string
  /**
   * quantity × unitPrice, USD.
   */
  readonly amount: string
}
/**
 * Thinking that a cancelled stream did not show, by its time. Absent: what was produced was reported or counted.
 */
export interface HiddenEstimate {
  /**
   * What is billed in addition to what was counted, at most up to the reservation.
   */
  readonly hiddenTokens: number
  /**
   * From the call to the first visible token, or to the cancel where none had come.
   */
  readonly thinkingMs: number
  /**
   * Hidden tokens in a minute of thinking, by which they are estimated.
   */
  readonly tokensPerMinute: number
  /**
   * Where the rate is from: the model's own, as observed in its last streams, or the default of a model that was not observed yet.
   */
  readonly basis: 'observed' | 'default'
}

/**
 * Money in.
 */
export interface WalletCredited {
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * USD, above zero.
   */
  readonly amount: string
  /**
   * The same reference credits once.
   */
  readonly reference: string
  /**
   * A remark for the statement; may be empty.
   */
  readonly note: string
  /**
   * When what is left of it lapses. Absent: never.
   */
  readonly expiresAt?: string
}

/**
 * The name, the credit limit and the account of a workspace, from here on.
 */
export interface WorkspaceChanged {
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * Display name.
   */
  readonly name: string
  /**
   * How far below zero the balance may go, USD.
   */
  readonly creditLimit: string
  /**
   * The customer's account, which may have several workspaces; absent: none.
   */
  readonly account?: string
}

/**
 * For good: its keys are refused everything, and nothing is added to it but adjustments. Its statement stays.
 */
export interface WorkspaceClosed {
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
}

/**
 * A workspace exists from here on.
 */
export interface WorkspaceOpened {
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
  /**
   * Display name.
   */
  readonly name: string
  /**
   * How far below zero the balance may go, USD.
   */
  readonly creditLimit: string
  /**
   * The customer's account, which may have several workspaces; absent: none.
   */
  readonly account?: string
}

/**
 * Its keys call models again.
 */
export interface WorkspaceResumed {
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
}

/**
 * Its keys call no model until it is resumed; reads go on.
 */
export interface WorkspaceSuspended {
  /**
   * The workspace that pays.
   */
  readonly workspaceId: string
}

/** The data of every event, by type. */
export interface EventData {
  readonly AdjustmentApproved: AdjustmentApproved
  readonly AdjustmentPosted: AdjustmentPosted
  readonly AdjustmentProposed: AdjustmentProposed
  readonly AdjustmentRejected: AdjustmentRejected
  readonly AlertDelivered: AlertDelivered
  readonly AlertDeliveryFailed: AlertDeliveryFailed
  readonly AlertRaised: AlertRaised
  readonly AlertRuleRemoved: AlertRuleRemoved
  readonly AlertRuleSet: AlertRuleSet
  readonly AliasSet: AliasSet
  readonly CallbackFailed: CallbackFailed
  readonly CheckpointCosigned: CheckpointCosigned
  readonly CheckpointSealed: CheckpointSealed
  readonly CreditExpired: CreditExpired
  readonly HoldPlaced: HoldPlaced
  readonly HoldReleased: HoldReleased
  readonly InvoiceIssued: InvoiceIssued
  readonly InvoiceReconciled: InvoiceReconciled
  readonly KeyExpirySet: KeyExpirySet
  readonly KeyIssued: KeyIssued
  readonly KeyRevoked: KeyRevoked
  readonly LateVerdictSeen: LateVerdictSeen
  readonly LimitsSet: LimitsSet
  readonly LogFormatRaised: LogFormatRaised
  readonly LogRolledBack: LogRolledBack
  readonly PeriodClosed: PeriodClosed
  readonly PeriodCutOff: PeriodCutOff
  readonly PeriodReopened: PeriodReopened
  readonly PlanCancelled: PlanCancelled
  readonly PlanEnded: PlanEnded
  readonly PlanPublished: PlanPublished
  readonly PlanRenewed: PlanRenewed
  readonly PlanSubscribed: PlanSubscribed
  readonly PricePublished: PricePublished
  readonly RefusalsCounted: RefusalsCounted
  readonly RequestFailed: RequestFailed
  readonly RequestRouted: RequestRouted
  readonly RouterSet: RouterSet
  readonly TaskProgressed: TaskProgressed
  readonly TaskSettled: TaskSettled
  readonly TaskSubmitted: TaskSubmitted
  readonly UsageRecorded: UsageRecorded
  readonly WalletCredited: WalletCredited
  readonly WorkspaceChanged: WorkspaceChanged
  readonly WorkspaceClosed: WorkspaceClosed
  readonly WorkspaceOpened: WorkspaceOpened
  readonly WorkspaceResumed: WorkspaceResumed
  readonly WorkspaceSuspended: WorkspaceSuspended
}
