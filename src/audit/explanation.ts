import type { Attempt, PriceSheet, Usage } from '../events/types.ts'
import type { UsageColumn } from '../projections/usage/table.ts'
import type { Recomputed } from './recompute.ts'

/** The public JSON form: amounts are decimal USD, times ISO 8601 in UTC. */
export type Explanation = RequestExplanation | TaskExplanation

/** `open`: not ended yet. `given_back`: a task whose hold was released without a verdict of the vendor. */
export type ChargeState = 'open' | 'charged' | 'failed' | 'given_back'

interface Explained {
  readonly object: 'charge'
  readonly id: string
  readonly state: ChargeState
  readonly workspace: string
  readonly key: { readonly id: string; readonly name: string | null; readonly prefix: string | null }
  readonly price: ExplainedPrice | null
  readonly charge: ExplainedCharge | null
  readonly wallet: readonly ExplainedMovement[]
  readonly adjustments: readonly ExplainedAdjustment[]
  /** The charge after its adjustments. */
  readonly net: string
  readonly events: readonly ExplainedEvent[]
  readonly proof: ExplainedProof
  readonly log_sequence: number
  /** False if an earlier release wrote part of the tables, until they are rebuilt: the log may have more events. */
  readonly complete: boolean
}

export interface RequestExplanation extends Explained {
  readonly kind: 'request'
  /** Null if the log has only the closing event yet. */
  readonly asked: {
    readonly at: string
    readonly surface: string
    readonly model: string
    readonly router: string | null
    readonly stream: boolean
    readonly output_cap: number | null
    readonly deadline: string
  } | null
  readonly plan: readonly {
    readonly model: string
    readonly provider: string
    readonly upstream_model: string
    readonly price_version: string
  }[]
  readonly attempts: readonly {
    readonly model: string
    readonly provider: string
    readonly outcome: Attempt['outcome']
    readonly status: number | null
    readonly reason: string | null
    readonly duration_ms: number
    /** Which of the provider's deployments was called; absent: it has one. */
    readonly deployment?: string
    /** The provider's own id of the call; absent: it sent none. */
    readonly upstream_request_id?: string
  }[]
  readonly ended: {
    readonly at: string
    readonly served: { readonly level: number; readonly model: string; readonly provider: string } | null
    readonly outcome: string
    readonly status: number | null
  } | null
  readonly usage: ExplainedUsage | null
  readonly reservation: {
    readonly reserved: string
    readonly allowance: string | null
    /** The part of the charge above the reservation. */
    readonly beyond: string
  } | null
}

export interface TaskExplanation extends Explained {
  readonly kind: 'task'
  readonly asked: {
    readonly at: string
    readonly surface: string
    readonly kind: string
    readonly model: string
    readonly provider: string
    readonly upstream_model: string
    readonly price_version: string
    readonly external_task_id: string | null
  }
  readonly hold: {
    readonly amount: string
    readonly units_max: string
    readonly unit_price: string
    readonly deadline: string
  }
  readonly submitted: { readonly at: string; readonly vendor_task_id: string } | null
  readonly progress: readonly { readonly at: string; readonly status: string; readonly percent: number }[]
  readonly ended: {
    readonly at: string
    readonly outcome: string
    readonly vendor_task_id: string | null
    /** The vendor's own figure, as it wrote it. */
    readonly deduction: string | null
    readonly source: 'reported' | 'estimated' | null
    readonly reason: string | null
    readonly vendor_code: number | null
    readonly given_back: string
    readonly beyond: string
  } | null
  readonly late_verdicts: readonly {
    readonly at: string
    readonly sequence: number
    readonly outcome: string
    readonly deduction: string | null
    readonly cost: string
    readonly reason: string | null
  }[]
}

export interface ExplainedUsage extends Readonly<Record<UsageColumn, number>> {
  readonly source: 'reported' | 'estimated'
  /** If one answer took several samplings: the largest prompt, which decides the price tier. */
  readonly prompt_largest?: number
  /** As the provider reported them; absent: the standard ones. */
  readonly service_tier?: string
  readonly inference_geo?: string
  readonly tool_calls: Usage['toolCalls']
  /** It cannot be: the reservation is charged until an operator confirms it. Absent: it can. */
  readonly plausible?: false
  /** Figures that the provider reported below zero, by its own names; they count as 0. Absent: none. */
  readonly negative?: Readonly<Record<string, number>>
  /** Of an answer that was left before its thinking was reported: how much of it is estimated, and from what. */
  readonly estimate?: {
    readonly hidden_tokens: number
    readonly thinking_ms: number
    readonly tokens_per_minute: number
    /** Where the rate is from: the model's last streams, or the default of a model that was not observed yet. */
    readonly basis: 'observed' | 'default'
  }
}

export interface ExplainedPrice {
  readonly model: string
  readonly version: string
  readonly effective_from: string
  readonly source: string
  readonly sequence: number
  /** Rates of the service tier and of the tier of the prompt, USD per million tokens; null for a task. */
  readonly per_million_tokens: PriceSheet['per_million_tokens'] | null
  /** The prompt size in tokens above which they apply; null for the first tier. */
  readonly prompt_tokens_above: number | null
  /** The service tier whose rates they are; absent: the standard one. */
  readonly service_tier?: string
  /** What they are multiplied by, for the region; absent: nothing. */
  readonly region_multiplier?: string
  /** What the provider reported and the sheet has no price for: it was charged as the standard one. */
  readonly unpriced?: { readonly service_tier?: string; readonly inference_geo?: string }
  /** USD per call, of the tools that were called. */
  readonly per_call: Readonly<Record<string, string>>
  /** USD per unit of a task; null for a request. */
  readonly unit_price: string | null
}

export interface ExplainedCharge {
  readonly lines: readonly {
    readonly item: string
    readonly quantity: number | string
    readonly unit_price: string
    readonly amount: string
  }[]
  readonly total: string
  readonly recomputed: Recomputed
}

export interface ExplainedMovement {
  readonly at: string
  readonly sequence: number
  readonly event_index: number
  readonly line: number
  readonly kind: string
  readonly amount: string
  readonly held: string
  readonly balance_before: string
  readonly balance_after: string
  readonly held_before: string
  readonly held_after: string
}

export interface ExplainedAdjustment {
  readonly at: string
  readonly sequence: number
  readonly adjustment_id: string
  readonly amount: string
  readonly reason: string
  readonly note: string
}

export interface ExplainedEvent {
  readonly sequence: number
  readonly event_index: number
  readonly at: string
  readonly type: string
  readonly id: string
  readonly source: string
  /** False for an event that came after the end and changed nothing. */
  readonly counts: boolean
  /** The size of the first checkpoint over its frame; null if it is not sealed yet. */
  readonly sealed_by: number | null
}

export interface ExplainedProof {
  readonly sequence: number
  /** The first checkpoint over it; null if it is not sealed yet. */
  readonly checkpoint: { readonly size: number; readonly sequence: number } | null
  readonly command: string
}
