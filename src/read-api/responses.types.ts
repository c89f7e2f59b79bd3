// Generated from schemas/ by `make generate`. Do not edit.

/**
 * One charge explained, from the events of the log. Only administrators get positions in the log.
 */
export type LedgerChargeResponse = {
  readonly object: 'charge'
  readonly kind: 'request' | 'task'
  readonly id: string
  readonly state: 'open' | 'charged' | 'failed' | 'given_back'
  readonly workspace: string
  readonly key: {
    readonly id: string
    readonly name: string | null
    readonly prefix: string | null
  }
  readonly price: object | null
  readonly charge: object | null
  readonly wallet: readonly object[]
  readonly adjustments: readonly object[]
  /**
   * USD.
   */
  readonly net: string
  readonly events: readonly object[]
  readonly proof: object
  readonly log_sequence?: number
  readonly complete: boolean
}

/**
 * What was charged, newest first. Only administrators get `sequence`.
 */
export type LedgerChargesResponse = {
  readonly object: 'list'
  readonly data: {
    readonly kind: 'request' | 'task'
    readonly id: string
    readonly at: string
    readonly sequence?: number
    readonly key: string
    readonly surface: string
    readonly model: string
    readonly provider: string
    readonly level: number | null
    readonly price_version: string
    readonly source: string
    readonly outcome: string
    readonly prompt_tokens: number | null
    readonly output_tokens: number | null
    /**
     * Of the request.
     */
    readonly tags: {
      readonly [k: string]: string
    }
    /**
     * The id in the log, an HMAC of what the request named.
     */
    readonly end_user: string | null
    /**
     * USD.
     */
    readonly total: string
  }[]
  /**
   * The `cursor` of the next page; null after the last one.
   */
  readonly next_cursor: string | null
}

/**
 * What a reconciliation looks at that is in the ledger alone, newest first.
 */
export type LedgerFindingsResponse = {
  readonly object: 'list'
  /**
   * False where there are more of a kind.
   */
  readonly complete: boolean
  readonly data: {
    kind:
      | 'open_request'
      | 'overdue_hold'
      | 'late_verdict'
      | 'estimated_charge'
      | 'implausible_usage'
      | 'unpriced_tier'
      | 'implausible_deduction'
      | 'unknown_delivery'
      | 'second_closing'
      | 'unrouted_closing'
      | 'adjustment'
    readonly workspace: string
    readonly id: string
    readonly at: string
    /**
     * USD.
     */
    readonly amount: string
    /**
     * True where an adjustment names the charge: it was confirmed, reconciled, refunded or corrected.
     */
    readonly settled: boolean
    readonly detail: string
  }[]
}

/**
 * Whether requests can be served, and how far what is read is behind the log. Only administrators get counts of frames.
 */
export type LedgerHealthResponse = {
  readonly object: 'health'
  readonly at: string
  readonly ready: boolean
  readonly checks: {
    readonly [k: string]: {
      readonly ok: boolean
      readonly reason?: string
    }
  }
  readonly log?: {
    /**
     * Of its last frame; null where it does not answer.
     */
    readonly sequence: number | null
  }
  readonly ledger?: {
    readonly sequence: number
  }
  readonly tables: {
    /**
     * Null where they cannot be read.
     */
    readonly sequence?: number | null
    readonly behind_frames?: number | null
    /**
     * Since when the first frame that they lack is in the log.
     */
    readonly behind_seconds: number | null
  }
  readonly sealed?: {
    readonly size: number
    readonly unsealed_frames: number
  }
}

/**
 * What of the wallet's money is set aside.
 */
export type LedgerHoldsResponse = {
  readonly object: 'list'
  readonly data: {
    readonly id: string
    readonly purpose: string
    /**
     * USD.
     */
    readonly amount: string
    /**
     * USD.
     */
    readonly remaining: string
    readonly deadline: string
  }[]
  /**
   * The `cursor` of the next page; null after the last one.
   */
  readonly next_cursor: string | null
}

/**
 * The keys of the workspace, in the order of their ids.
 */
export type LedgerKeysResponse = {
  readonly object: 'list'
  readonly data: {
    readonly id: string
    readonly name: string
    readonly prefix: string
    readonly state: 'active' | 'revoked'
    readonly expires_at: string | null
  }[]
  /**
   * The `cursor` of the next page; null after the last one.
   */
  readonly next_cursor: string | null
}

/**
 * The limits of the workspace, and those of its working keys, tags and end users with what is spent of them.
 */
export type LedgerLimitsResponse = {
  readonly object: 'list'
  readonly data: readonly StandingLimitsResponse[]
  /**
   * The `cursor` of the next page; null after the last one.
   */
  readonly next_cursor: string | null
}
/**
 * The limits of a workspace, or of a key, a tag or an end user in it.
 */
export type StandingLimitsResponse = {
  readonly object: 'limits'
  /**
   * Of a change: names in it that lead to no model of a configured provider with a price, as yet, or a tag that is not configured. Absent where there are none.
   */
  readonly warnings?: readonly string[]
  readonly workspace: string
  /**
   * Null: those of the workspace, or of the tag or the end user that is named.
   */
  readonly key: string | null
  /**
   * Of all requests with this tag, such as `team=search`.
   */
  readonly tag?: string
  /**
   * Of the end user with this id.
   */
  readonly end_user?: string
  readonly limits: SetLimitsRequest
  readonly in_force?: SetLimitsRequest
  /**
   * Where each member of `in_force` comes from: what was set of the workspace itself, its plan, or the configuration of the edge that answers.
   */
  readonly sources?: {
    readonly [k: string]: 'own' | 'plan' | 'configuration'
  }
  /**
   * USD that the key, the tag or the end user spent: on this UTC day, in its month, ever. Of a tag or an end user, since it first had limits. Absent for a role that reads no money.
   */
  readonly spent?: {
    /**
     * USD.
     */
    readonly day: string
    /**
     * USD.
     */
    readonly month: string
    /**
     * USD.
     */
    readonly total: string
  }
  /**
   * USD set aside for requests in flight, and for the next ones; it counts as spent until it is given back. Absent for a role that reads no money.
   */
  readonly held?: {
    readonly day: string
    readonly month: string
    readonly total: string
  }
}
/**
 * As they were set of it.
 */
export type SetLimitsRequest = {
  /**
   * Requests a minute.
   */
  readonly requests_per_minute?: number
  /**
   * Tokens a minute, input and output together.
   */
  readonly tokens_per_minute?: number
  /**
   * Requests at once.
   */
  readonly concurrent_requests?: number
  /**
   * By `<provider>/<model>`.
   */
  readonly models?: {
    readonly [k: string]: {
      /**
       * Requests a minute.
       */
      readonly requests_per_minute?: number
      /**
       * Tokens a minute, input and output together.
       */
      readonly tokens_per_minute?: number
      /**
       * Requests at once.
       */
      readonly concurrent_requests?: number
    }
  }
  /**
   * USD that a key, a tag or an end user may spend; days and months are those of UTC. Not of a workspace, which spends what its wallet has.
   */
  readonly spend?: {
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
   * `<provider>/<model>`, or `<provider>/*`. Absent: every model.
   *
   * @maxItems 200
   */
  readonly allowed_models?: readonly string[]
}

/**
 * How the requests of whole hours ended, counted in the hour of their end.
 */
export type LedgerOutcomesResponse = {
  readonly object: 'outcomes'
  /**
   * The beginning of the first hour.
   */
  readonly from: string
  /**
   * The end of the last hour.
   */
  readonly to: string
  /**
   * That were routed and have ended, failed and interrupted ones included.
   */
  readonly requests: number
  /**
   * That ended with an error before the first byte of an answer.
   */
  readonly failed: number
  /**
   * Streams that broke off after their first bytes, without their clients having left.
   */
  readonly interrupted: number
  readonly first_token: FirstToken
  /**
   * Without the hours in which no request ended.
   */
  readonly hours: {
    readonly hour: string
    readonly requests: number
    readonly failed: number
    readonly interrupted: number
    readonly first_token: FirstToken
  }[]
}
/**
 * Of streams that were answered: from the first call upstream to the first token. Interpolated from counts within bounds that double from 125 ms on.
 */
export type FirstToken = {
  readonly counted: number
  readonly median_ms: number | null
  readonly p95_ms: number | null
}

/**
 * That one event is in the log: a file for `gateway verify --proof`.
 */
export type LedgerProofResponse = {
  readonly format: 'gateway-proof/1'
  readonly event: object
  readonly sequence: number
  readonly index_in_frame: number
  readonly frame: {
    readonly subject: string
    readonly data: string
  }
  readonly path: readonly string[]
  readonly checkpoint: string
}

/**
 * How many requests were refused before they were routed, newest minute first.
 */
export type LedgerRefusalsResponse = {
  readonly object: 'list'
  readonly data: {
    /**
     * Its beginning.
     */
    readonly minute: string
    /**
     * Null: no key that works.
     */
    readonly workspace: string | null
    /**
     * The id of the key.
     */
    readonly key: string | null
    /**
     * The error code the client got; `other` for what an edge did not count apart.
     */
    readonly code: string
    readonly count: number
  }[]
  readonly next_cursor: string | null
}

/**
 * Requests that have ended, newest first. Only administrators get `sequence`.
 */
export type LedgerRequestsResponse = {
  readonly object: 'list'
  readonly data: {
    readonly id: string
    /**
     * Where the requests of all are read.
     */
    readonly workspace?: string
    /**
     * When it was routed.
     */
    readonly at: string
    /**
     * From there to the end of its answer.
     */
    readonly duration_ms: number
    /**
     * From the first call upstream to the first token of a stream; null for whole answers and those that failed.
     */
    readonly first_token_ms: number | null
    readonly sequence?: number
    readonly key: string
    readonly surface: string
    readonly stream: boolean
    /**
     * As asked for.
     */
    readonly model: string
    /**
     * Null for one that failed.
     */
    readonly served_model: string | null
    /**
     * `interrupted`: a stream that broke off after its first bytes, without its client having left; what was delivered is charged.
     */
    readonly outcome: 'ok' | 'interrupted' | 'failed'
    /**
     * Of the answer: 200, of an interrupted stream too, or the error's.
     */
    readonly status: number
    /**
     * The error code that the client got; null where it was answered, or broke off.
     */
    readonly reason: string | null
    /**
     * The calls upstream, in their order, and the candidates that were passed over.
     */
    readonly attempts: {
      readonly model: string
      readonly provider: string
      readonly deployment: string | null
      readonly outcome: 'served' | 'failed' | 'passed_over'
      readonly status: number | null
      readonly reason: string | null
      readonly duration_ms: number
      /**
       * The provider's own id of the call.
       */
      readonly upstream_request_id: string | null
    }[]
    readonly prompt_tokens: number | null
    readonly output_tokens: number | null
    /**
     * By kind, those above zero; null for one that failed.
     */
    readonly tokens: {
      readonly [k: string]: number
    } | null
    /**
     * Of the request.
     */
    readonly tags: {
      readonly [k: string]: string
    }
    /**
     * USD.
     */
    readonly total: string
  }[]
  /**
   * When the oldest request ended that this page looked at: a page of filtered requests can be empty while more are left. Null where none is left.
   */
  readonly searched_to: string | null
  /**
   * The `cursor` of the next page; null after the last one.
   */
  readonly next_cursor: string | null
}

/**
 * Movements of the wallet in the order of the log. `at` is when one was posted, which is never before the one above it, and `event_at` when its event occurred. Only administrators get `sequence` and `event_index`.
 */
export type LedgerStatementResponse = {
  readonly object: 'list'
  readonly from: string | null
  readonly to: string | null
  /**
   * Whether nothing can be added to it any more.
   */
  readonly final: boolean
  readonly opening: {
    /**
     * USD.
     */
    readonly balance: string
    /**
     * USD.
     */
    readonly held: string
  }
  readonly closing: {
    /**
     * USD.
     */
    readonly balance: string
    /**
     * USD.
     */
    readonly held: string
  }
  readonly data: {
    readonly at: string
    readonly event_at: string
    readonly sequence?: number
    readonly event_index?: number
    readonly line: number
    readonly kind: 'credit' | 'charge' | 'excess' | 'fee' | 'adjustment' | 'lapse' | 'hold' | 'release'
    readonly reference: string
    /**
     * USD.
     */
    readonly amount: string
    /**
     * USD.
     */
    readonly held: string
    /**
     * USD.
     */
    readonly balance_after: string
    /**
     * USD.
     */
    readonly held_after: string
    /**
     * What was remarked with a credit or an adjustment; empty for every other movement.
     */
    readonly note: string
    /**
     * What an adjustment corrects: the id of a request, a task or an adjustment, or `credit:` and a reference. It has the members below of what it corrects; empty for every other movement.
     */
    readonly corrects: string
    /**
     * The one that served what is charged; empty where nothing is.
     */
    readonly model: string
    /**
     * The id of the key that called.
     */
    readonly key: string
    readonly surface: string
    /**
     * Of the request.
     */
    readonly tags: {
      readonly [k: string]: string
    }
    /**
     * Of the price sheet that was charged by.
     */
    readonly price_version: string
    /**
     * The provider's own id of the request; empty where it sent none.
     */
    readonly upstream_request_id: string
  }[]
  /**
   * The `cursor` of the next page; null after the last one.
   */
  readonly next_cursor: string | null
}

/**
 * Video tasks, newest first.
 */
export type LedgerTasksResponse = {
  readonly object: 'list'
  readonly data: {
    readonly id: string
    readonly kind: string
    readonly model: string
    readonly key: string
    readonly surface: string
    readonly status: 'QUEUED' | 'SUBMITTED' | 'IN_PROGRESS' | 'SUCCESS' | 'FAILURE'
    readonly progress: number
    /**
     * USD.
     */
    readonly held: string
    /**
     * USD.
     */
    readonly total: string
    readonly source: string | null
    readonly queued_at: string
    readonly submitted_at: string | null
    readonly finished_at: string | null
    readonly deadline: string
    readonly external_task_id: string | null
    readonly fail_reason: string | null
  }[]
  /**
   * The `cursor` of the next page; null after the last one.
   */
  readonly next_cursor: string | null
}

/**
 * What was used and charged, summed: in USD, `net` is `total`, `corrections` (below zero where money was given back) and `fees`, which the statement of the same days debits. A group's value is `unattributed` where it does not apply; a value that is that word is within quotes.
 */
export type LedgerUsageResponse = {
  readonly object: 'list'
  readonly group_by: readonly string[]
  readonly data: {
    readonly day?: string
    readonly model?: string
    readonly key?: string
    readonly surface?: string
    /**
     * The value of the tag that it is grouped by.
     */
    readonly tag?: string
    /**
     * The id in the log, an HMAC.
     */
    readonly end_user?: string
    readonly requests: number
    /**
     * Tokens by kind: prompt_total and its parts input_uncached, cache_read (with cache_read_audio and cache_read_image), cache_write_5m, cache_write_1h, cache_write_12h, input_audio, input_image; output_total (with output_reasoning, output_audio, output_image).
     */
    readonly tokens: {
      readonly [k: string]: number
    }
    /**
     * USD.
     */
    readonly total: string
    readonly corrections: string
    readonly fees: string
    readonly net: string
  }[]
  /**
   * The `cursor` of the next page; null after the last one.
   */
  readonly next_cursor: string | null
}

/**
 * The balance of the wallet, and how long it lasts.
 */
export type LedgerWalletResponse = {
  readonly object: 'wallet'
  readonly workspace: {
    readonly id: string
    readonly name: string
  }
  /**
   * Credits less charges, with fees, corrections and what lapsed.
   */
  readonly balance: string
  /**
   * What is set aside.
   */
  readonly held: string
  /**
   * What may still be set aside.
   */
  readonly available: string
  /**
   * USD.
   */
  readonly credit_limit: string
  /**
   * USD.
   */
  readonly credits: string
  /**
   * USD.
   */
  readonly charges: string
  /**
   * USD.
   */
  readonly fees: string
  /**
   * USD.
   */
  readonly adjustments: string
  /**
   * USD.
   */
  readonly lapsed: string
  /**
   * That it has; null: none.
   */
  readonly plan: {
    readonly id: string
    readonly name: string
    readonly period: 'day' | 'month' | 'year'
    /**
     * The fee of one period, USD.
     */
    readonly price: string
    readonly expires_at: string
    /**
     * False: it ends with its period.
     */
    readonly renews: boolean
  } | null
  readonly runway: {
    readonly since: string
    /**
     * On requests, since then.
     */
    readonly spent: string
    /**
     * At that pace, rounded half up.
     */
    readonly per_day: string
    /**
     * When nothing is available any more at that pace; null where that is more than ten years away.
     */
    readonly until: string | null
  }
}
