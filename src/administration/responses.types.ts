// Generated from schemas/ by `make generate`. Do not edit.
import type { PriceSheet, VideoSheet } from '../events/types.ts'
import type { SetLimitsRequest } from '../read-api/responses.types.ts'

/**
 * A correction of a wallet.
 */
export type AdjustmentResponse = {
  readonly object: 'adjustment'
  /**
   * By which another adjustment reverses it.
   */
  readonly id: string
  /**
   * USD: above zero gave money back.
   */
  readonly amount: string
  /**
   * An operator's, or undelivered or reconciliation.
   */
  readonly reason: string
  /**
   * The operator's own; null: the gateway posted it.
   */
  readonly reference: string | null
  /**
   * What it corrects; null: nothing in particular.
   */
  readonly of: string | null
  readonly note: string
  /**
   * Of a POST. Proposed: it moves nothing until another administrator approves it.
   */
  readonly status?: 'posted' | 'proposed'
  /**
   * Until when a proposed one can be approved.
   */
  readonly expires_at?: string
  /**
   * Of a list: who proposed what the actor approved; null: it took no approval.
   */
  readonly proposed_by?: string | null
  readonly workspace?: WorkspaceResponse
  readonly sequence?: number
  readonly actor?: string | null
  readonly time?: string
}
/**
 * Who pays. The figures of its wallet are absent for a role that reads no money.
 */
export type WorkspaceResponse = {
  readonly object: 'workspace'
  readonly id: string
  readonly name: string
  /**
   * That of the customer.
   */
  readonly account: string | null
  /**
   * The keys of a suspended one call no model, those of a closed one nothing.
   */
  readonly status: 'open' | 'suspended' | 'closed'
  /**
   * How far below zero the balance may go, USD.
   */
  readonly credit_limit?: string
  /**
   * USD.
   */
  readonly balance?: string
  /**
   * USD.
   */
  readonly held?: string
  /**
   * USD.
   */
  readonly available?: string
}

/**
 * Whose token it is.
 */
export type AdministratorResponse = {
  readonly object: 'administrator'
  /**
   * As whose changes what is done with it is recorded: admin:<name>.
   */
  readonly actor: string
  readonly role: 'owner' | 'operator' | 'finance' | 'auditor' | 'support'
  readonly permissions: ('read' | 'read_money' | 'configure' | 'move_money')[]
}

/**
 * Where alerts are sent, without its address, which may have a secret.
 */
export type AlertDestinationResponse = {
  readonly object: 'alert_destination'
  readonly name: string
  /**
   * Null: rules name it, and the configuration of the edge that answers does not.
   */
  readonly type: 'webhook' | 'slack' | 'email' | null
  /**
   * How many alert rules name it.
   */
  readonly rules: number
  /**
   * Alerts that it has not accepted, and that are sent again.
   */
  readonly waiting: number
  /**
   * When the first of them was raised.
   */
  readonly waiting_since: string | null
  /**
   * Alerts that it did not accept within a day, as long as their rule has raised no other.
   */
  readonly given_up: number
}

/**
 * What an alert is raised for, with its figure of now and the last alerts.
 */
export type AlertRuleResponse = {
  readonly object: 'alert_rule'
  /**
   * Of a change: destinations that are not configured. Absent where there are none.
   */
  readonly warnings?: readonly string[]
  readonly workspace: string
  readonly rule: string
  readonly measure: 'spend_day' | 'spend_month' | 'balance' | 'runway_days' | 'error_rate' | 'unreconciled'
  readonly threshold: string
  readonly key_id: string | null
  readonly tag: string | null
  readonly destinations: readonly string[]
  /**
   * Null where there is too little to measure: fewer than 20 requests in the hour, a runway on the first day of a month or without spend.
   */
  readonly figure: string | null
  /**
   * The last one, and those that are not delivered to all destinations.
   */
  readonly alerts: {
    /**
     * The webhook's id.
     */
    readonly id: string
    /**
     * What the rule measured when it was raised, in whose unit `figure` and `threshold` are.
     */
    readonly measure: 'spend_day' | 'spend_month' | 'balance' | 'runway_days' | 'error_rate' | 'unreconciled'
    readonly period: string
    readonly figure: string
    readonly threshold: string
    readonly raised_at: string
    /**
     * Until then it is sent again to destinations that have not accepted it.
     */
    readonly sent_until: string
    /**
     * Those that the rule had when it was raised.
     */
    readonly destinations: readonly string[]
    readonly delivered_to: readonly string[]
    /**
     * Of destinations that have not accepted it, why, and since when for this reason.
     */
    readonly failures: {
      readonly destination: string
      readonly reason: string
      readonly at: string
    }[]
  }[]
}

/**
 * What a bare name leads to.
 */
export type AliasResponse = {
  readonly object: 'alias'
  /**
   * Of a change: names in it that lead to no model of a configured provider with a price, as yet. Absent where there are none.
   */
  readonly warnings?: readonly string[]
  readonly alias: string
  readonly model: string | null
  readonly source: 'administration' | 'configuration'
  readonly configured: string | null
}

/**
 * Money that was added.
 */
export type CreditResponse = {
  readonly object: 'credit'
  readonly reference: string
  /**
   * USD.
   */
  readonly amount: string
  readonly workspace?: WorkspaceResponse
  readonly note?: string
  readonly expires_at?: string | null
  readonly sequence?: number
  readonly actor?: string | null
  readonly time?: string
}

/**
 * How a provider, or one of its deployments, is.
 */
export type DeploymentResponse = {
  readonly object: 'deployment'
  readonly provider: string
  /**
   * Null: the provider has one.
   */
  readonly deployment: string | null
  /**
   * `ejected` for a model at least, in the process that answers; `failing`: every call failed; `unused`: none was made.
   */
  readonly state: 'unused' | 'healthy' | 'failing' | 'ejected'
  /**
   * From then on calls are counted, in the tables, of all processes: in the present hour and the one before it.
   */
  readonly since: string
  /**
   * Without those that the gateway or its client ended before there was an answer.
   */
  readonly calls: number
  /**
   * Of the calls: a refusal of the request itself is an answer.
   */
  readonly failed: number
  /**
   * Of streams that it answered where it was the request's only call: from the call to the first token.
   */
  readonly first_token: {
    readonly counted: number
    readonly median_ms: number | null
    readonly p95_ms: number | null
  }
  readonly last_failure: {
    /**
     * The end of its request.
     */
    readonly at: string
    readonly model: string
    /**
     * Null: no answer came.
     */
    readonly status: number | null
    readonly reason: string | null
  } | null
  ejections:
    | {
        readonly model: string
        /**
         * `account`: its key was refused; `limited`: it asked to wait.
         */
        readonly reason: 'failed' | 'account' | 'limited'
        /**
         * From then on one call at a time probes it.
         */
        readonly until: string
      }[]
    | null
}

/**
 * What an administrator or an operator changed.
 */
export type EventResponse = {
  readonly object: 'event'
  /**
   * Of the event itself; null while tables of an earlier release are read.
   */
  readonly id: string | null
  /**
   * Of its frame in the log.
   */
  readonly sequence: number
  /**
   * Among the events of its frame.
   */
  readonly index: number
  readonly type: string
  readonly workspace: string | null
  readonly subject: string | null
  readonly actor: string | null
  readonly time: string
  readonly detail: object
}

/**
 * An invoice or a credit note on a closed month. `lines` and what follows are those of one invoice, not of a list. `digest` is the SHA-256 of the document as HTML.
 */
export type InvoiceResponse = {
  readonly object: 'invoice'
  readonly id: string
  readonly number: number
  readonly kind: 'invoice' | 'credit_note'
  readonly workspace: string
  readonly month: string
  readonly covers: readonly string[]
  readonly corrects: string | null
  readonly issued_on: string
  readonly net: string
  readonly tax: string
  readonly gross: string
  readonly digest: string
  readonly account?: string | null
  readonly seller?: Party
  readonly buyer?: Party
  readonly lines?: {
    readonly kind: 'usage' | 'fee' | 'included' | 'correction'
    readonly model: string
    readonly requests: number
    readonly amount: string
  }[]
  readonly tags?: {
    readonly name: string
    readonly lines: {
      readonly value: string
      readonly amount: string
    }[]
  }[]
  readonly exact?: string
  readonly tax_rate?: string
  readonly period?: {
    readonly sequence: number
    readonly digest: string
  }
}
export type Party = {
  readonly name: string
  readonly address: readonly string[]
  readonly tax_id: string | null
}

/**
 * Who calls.
 */
export type KeyResponse = {
  readonly object: 'key'
  readonly id: string
  readonly workspace: string
  readonly name: string
  readonly prefix: string
  readonly state: 'active' | 'revoked'
  readonly expires_at: string | null
  /**
   * Of pages whose scripts alone may call with it; null: every caller may.
   */
  readonly origins: readonly string[] | null
  readonly replaces: string | null
  /**
   * Shown once, where the key is made.
   */
  readonly secret?: string
}

/**
 * A UTC month that is open, closed, or being closed (`sequence` is that of the frame from which on nothing is posted in it). The digest is that of its statements; totals are of all of them, in USD, debits above zero; `exceptions` counts what was open and accepted.
 */
export type PeriodResponse = {
  readonly object: 'period'
  readonly month: string
  readonly state: 'open' | 'closing' | 'closed'
  /**
   * When it can be closed: some minutes after its end, by which what ended in it is stored.
   */
  readonly closable_from: string
  /**
   * Null for one that is open.
   */
  readonly sequence: number | null
  readonly digest: string | null
  readonly totals: {
    readonly workspaces: number
    readonly requests: number
    readonly opening: string
    readonly credits: string
    readonly charges: string
    readonly corrections: string
    readonly fees: string
    readonly lapsed: string
    readonly closing: string
  } | null
  readonly exceptions: number | null
}

/**
 * What can be subscribed to.
 */
export type PlanResponse = {
  readonly object: 'plan'
  /**
   * Of a change: names in it that lead to no model of a configured provider with a price, as yet. Absent where there are none.
   */
  readonly warnings?: readonly string[]
  readonly id: string
  readonly name: string
  /**
   * The fee of one period, USD.
   */
  readonly price: string
  readonly period: 'day' | 'month' | 'year'
  /**
   * Credit of each period, USD.
   */
  readonly included_credit: string
  readonly limits: SetLimitsRequest
}

/**
 * What another table would change or has changed.
 */
export type PriceImportResponse = {
  readonly object: 'price_import'
  readonly dry_run: boolean
  readonly counts: {
    readonly added: number
    readonly changed: number
    readonly unchanged: number
    readonly unsupported: number
  }
  readonly changes: {
    readonly change: 'added' | 'changed' | 'unchanged' | 'unsupported'
    readonly name: string
    readonly model?: string | null
    readonly differences: readonly object[]
    readonly left_out: readonly object[]
    /**
     * Rates in force that the row does not have and that are kept.
     */
    readonly kept: {
      readonly item: string
      readonly rate: string
    }[]
    readonly sheet?: object
  }[]
  readonly published: {
    readonly model: string
    readonly effective_from: string
    readonly version: string
  }[]
}

/**
 * What a model costs from an instant on.
 */
export type PriceResponse = {
  readonly object: 'price'
  readonly model: string
  readonly effective_from: string
  readonly version: string
  readonly source: string
  readonly snapshots?: readonly string[]
  readonly sheet?: PriceSheet
  readonly video?: VideoSheet
  readonly in_force?: boolean
}

/**
 * An adjustment that another administrator than the one who proposed it approves or rejects, by its reference.
 */
export type ProposalResponse = {
  readonly object: 'proposal'
  readonly workspace: string
  /**
   * Of the adjustment that it becomes.
   */
  readonly id: string
  /**
   * USD: above zero gives money back.
   */
  readonly amount: string
  readonly reason: string
  readonly reference: string
  /**
   * What it corrects; null: nothing in particular.
   */
  readonly of: string | null
  readonly note: string
  readonly proposed_by: string
  readonly expires_at: string
  readonly status: 'open' | 'expired' | 'rejected'
}

/**
 * Of a UTC month, of all workspaces. What was given back is below zero; `net` is the sum of charges, corrections and fees.
 */
export type ReportResponse = {
  readonly object: 'report'
  readonly month: string
  readonly group_by: readonly string[]
  /**
   * Those with a movement in the month, whose statements the total was compared with.
   */
  readonly workspaces: number
  readonly rows: readonly Row[]
  readonly total: Row
}
export type Row = {
  /**
   * By the name of each group; `unattributed` where it has no value; within quotes, a value that is that word.
   */
  readonly group: {
    readonly [k: string]: string
  }
  readonly requests: number
  /**
   * USD.
   */
  readonly charges: string
  /**
   * USD.
   */
  readonly corrections: string
  /**
   * USD.
   */
  readonly fees: string
  /**
   * USD.
   */
  readonly net: string
}

/**
 * Where a request for a model, an alias or a router would go now. Nothing is called, and limits of rates and money are not looked at.
 */
export type RouteResponse = {
  readonly object: 'route'
  /**
   * The name as given.
   */
  readonly asked: string
  /**
   * The router that it names.
   */
  readonly router: string | null
  /**
   * Of the router: as listed, or drawn by weight for each request.
   */
  readonly order: 'listed' | 'weighted' | null
  /**
   * In the order in which they are tried; of a weighted router, as listed.
   */
  readonly candidates: {
    readonly model: string
    readonly provider: string
    /**
     * Its name in the call upstream.
     */
    readonly upstream_model: string
    readonly price_version: string
    /**
     * The share of requests that try it first.
     */
    readonly first: number
    /**
     * USD for the tokens that were named; null without any.
     */
    readonly cost: string | null
  }[]
  /**
   * Candidates of the router that are not tried.
   */
  readonly skipped: {
    readonly model: string
    /**
     * What a request for it alone would be refused with.
     */
    readonly code: string
    readonly message: string
  }[]
}

/**
 * What gateway/<router> tries.
 */
export type RouterResponse = {
  readonly object: 'router'
  /**
   * Of a change: names in it that lead to no model of a configured provider with a price, as yet. Absent where there are none.
   */
  readonly warnings?: readonly string[]
  readonly router: string
  readonly candidates: readonly Candidate[] | null
  readonly order: 'listed' | 'weighted' | null
  readonly source: 'administration' | 'configuration'
  readonly configured: {
    readonly candidates: readonly Candidate[] | null
    readonly order: 'listed' | 'weighted' | null
  } | null
}
export type Candidate = {
  readonly model: string
  readonly weight: number
}

/**
 * The plan that a workspace has, on the terms of its period.
 */
export type SubscriptionResponse = {
  readonly object: 'subscription'
  readonly id: string
  readonly workspace: string
  readonly plan: string
  readonly name: string
  /**
   * The fee of one period, USD.
   */
  readonly price: string
  readonly period: 'day' | 'month' | 'year'
  /**
   * Credit of each period, USD.
   */
  readonly included_credit: string
  readonly limits: SetLimitsRequest
  readonly starts_at: string
  readonly expires_at: string
  /**
   * False: it ends with its period.
   */
  readonly renews: boolean
}

/**
 * Keeps a month from being closed: a request or a task without an end, or a figure that is neither confirmed nor corrected.
 */
export type UnfinishedResponse = {
  readonly object: 'unfinished'
  readonly kind: 'open request' | 'open task' | 'unexplained usage' | 'unexplained deduction'
  readonly workspace: string
  readonly id: string
}
