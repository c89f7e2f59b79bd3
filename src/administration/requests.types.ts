// Generated from schemas/ by `make generate`. Do not edit.

/**
 * A correction of a wallet, once for each reference.
 */
export interface AdjustmentRequest {
  /**
   * USD: above zero gives money back, below zero takes it.
   */
  readonly amount: string
  /**
   * Why. The first three give money back, a chargeback takes it, a correction does either.
   */
  readonly reason: 'refund' | 'goodwill' | 'write-off' | 'chargeback' | 'correction'
  /**
   * Your own, such as a ticket's number. Absent: the Idempotency-Key header.
   */
  readonly reference?: string
  /**
   * What it corrects: a request's or a task's id, an adjustment's id, or credit:<reference>. A credit and an adjustment are reversed at most whole; refunds and corrections of a request or a task give back at most its charge.
   */
  readonly of?: string
  /**
   * A remark for the statement.
   */
  readonly note?: string
}

/**
 * What is absent stays as it is.
 */
export interface ChangeWorkspaceRequest {
  /**
   * Display name.
   */
  readonly name?: string
  /**
   * How far below zero the balance may go, USD.
   */
  readonly credit_limit?: string
  /**
   * The customer's account; empty for none.
   */
  readonly account?: string
}

/**
 * How a month is closed.
 */
export interface ClosePeriodRequest {
  /**
   * Also while requests, tasks or figures of the month are open; their number is in the event.
   */
  readonly with_exceptions?: boolean
}

/**
 * Money in, once for each reference.
 */
export interface CreditRequest {
  /**
   * USD, above zero.
   */
  readonly amount: string
  /**
   * Invoice or payment number: the same number is never credited twice. Over HTTP the header Idempotency-Key can have it instead.
   */
  readonly reference?: string
  /**
   * A remark for the statement.
   */
  readonly note?: string
  /**
   * When what is left of it lapses. Absent: never.
   */
  readonly expires_at?: string
}

/**
 * Prices of another table, compared with those in force. A rate in force that a row of it does not have is kept, unless `remove` names it.
 */
export interface ImportPricesRequest {
  /**
   * LiteLLM's table; a price file is recognised by its `prices`.
   */
  readonly format?: 'litellm'
  /**
   * A price file, {"prices": [{"model": "openai/gpt-4o-mini", "effective_from": …, "source": …, "sheet": …}]}, or LiteLLM's model_prices_and_context_window.json, {"gpt-4o-mini": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.5e-7, …}}.
   */
  readonly table: {
    readonly [k: string]: unknown
  }
  /**
   * True: only shows what would change. Default false.
   */
  readonly dry_run?: boolean
  /**
   * True: rows whose input and output cost nothing are prices too. Default false: they are unsupported.
   */
  readonly allow_free?: boolean
  /**
   * Those that are to be published, as they are named here. Absent: all that were added or changed.
   *
   * @maxItems 10000
   */
  readonly models?: string[]
  /**
   * Rates in force to remove where the table does not have them, as `<model> <item>` with an item of `kept`, or what such items begin with: `openai/gpt-5 service_tiers.priority`. Absent: all are kept.
   *
   * @maxItems 10000
   */
  readonly remove?: string[]
  /**
   * From when on the prices count. Default: now; rows of a price file have their own.
   */
  readonly effective_from?: string
  /**
   * Where the table was read, such as the file's name. Default: LiteLLM's table and the time; rows of a price file keep their own.
   */
  readonly source?: string
}

/**
 * What is invoiced: a closed month, of all workspaces or of one.
 */
export interface IssueInvoicesRequest {
  /**
   * In UTC, such as `2026-11`; it must be closed.
   */
  readonly month: string
  /**
   * Only this one. Default: all.
   */
  readonly workspace?: string
  /**
   * Issue nothing, and answer with what would be issued. Default: false.
   */
  readonly dry_run?: boolean
}

/**
 * A key for a workspace.
 */
export interface IssueKeyRequest {
  /**
   * The workspace's id.
   */
  readonly workspace: string
  /**
   * What it is for; a workspace has one working key of a name.
   */
  readonly name: string
  /**
   * When it stops, or after how long, such as `1h`. Absent or null: never.
   */
  readonly expires_at?: string | null
  /**
   * Of pages whose scripts alone may call with it, such as https://app.example. Absent: every caller may.
   *
   * @minItems 1
   * @maxItems 100
   */
  readonly origins?: string[]
}

/**
 * A workspace that is to exist. Asked for again, nothing changes.
 */
export interface OpenWorkspaceRequest {
  /**
   * 1 to 63 lower-case letters, digits and hyphens; the first is no hyphen.
   */
  readonly id: string
  /**
   * Display name. Default: the id.
   */
  readonly name?: string
  /**
   * How far below zero the balance may go, USD. Default 0.
   */
  readonly credit_limit?: string
  /**
   * The customer's account, which may have several workspaces: up to 64 letters, digits, `.`, `_` and `-`. Default: none.
   */
  readonly account?: string
}

/**
 * A plan that can be subscribed to, or its new terms: those who have it get them with their next renewal.
 */
export interface PublishPlanRequest {
  /**
   * Display name. Default: the id.
   */
  readonly name?: string
  /**
   * The fee of one period, USD, zero or more.
   */
  readonly price: string
  /**
   * How long a fee pays for. Default month.
   */
  readonly period?: 'day' | 'month' | 'year'
  /**
   * Credit of each period, USD, zero or more; what is left of it lapses at its end. Default 0.
   */
  readonly included_credit?: string
  /**
   * Of who has the plan, where nothing else is set of the workspace, member by member.
   */
  readonly limits?: {
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
     * Refused: spend limits are those of a key.
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
    readonly allowed_models?: string[]
  }
}

/**
 * Why a closed month is reopened.
 */
export interface ReopenPeriodRequest {
  /**
   * Why, for those who audit it.
   */
  readonly reason: string
}

/**
 * A fresh key in the place of one that works.
 */
export interface RotateKeyRequest {
  /**
   * How long the key that is replaced goes on; 0: not at all.
   */
  readonly grace_seconds: number
  /**
   * When the fresh key stops, or after how long, such as `1h`; null: never. Absent: when the one that it replaces would have.
   */
  readonly expires_at?: string | null
}

/**
 * What an alert is raised for: once in its UTC month, day or hour.
 */
export interface SetAlertRuleRequest {
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
  readonly key_id?: string
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
 * What a bare name leads to.
 */
export interface SetAliasRequest {
  /**
   * `<provider>/<model>`.
   */
  readonly model: string
}

/**
 * When a key stops.
 */
export interface SetKeyExpiryRequest {
  /**
   * When it stops.
   */
  readonly expires_at: string
}

/**
 * The limits of a workspace or of a key, whole, or the spend limits of a tag or an end user: what is absent is not limited. The members are those of the event LimitsSet, written as the admin API writes its own.
 */
export interface SetLimitsRequest {
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
  readonly allowed_models?: string[]
}

/**
 * What gateway/<router> tries.
 */
export interface SetRouterRequest {
  /**
   * Models in the order in which they are tried, or drawn by weight.
   *
   * @minItems 1
   * @maxItems 16
   */
  readonly candidates: (
    | string
    | {
        /**
         * `<provider>/<model>`, or an alias.
         */
        readonly model: string
        /**
         * Its part of the sum of all weights, where the order is weighted. Default 1.
         */
        readonly weight?: number
      }
  )[]
  /**
   * listed: tried in this order. weighted: the first is drawn by weight, the others follow likewise. Default listed.
   */
  readonly order?: 'listed' | 'weighted'
}

/**
 * A plan from now on. One that the workspace has already is not begun anew without a subscription_id that is new.
 */
export interface SubscribeRequest {
  /**
   * Its id.
   */
  readonly plan: string
  /**
   * Names the subscription: repeated, it adds nothing. Default: one is made.
   */
  readonly subscription_id?: string
  /**
   * Whether it is renewed at its end. Default true.
   */
  readonly renews?: boolean
}
