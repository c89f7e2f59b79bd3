/** What the page knows of the answers of the read API and the admin API: amounts are decimal USD, times ISO 8601. */

export interface Page<Row> {
  data: Row[]
  next_cursor: string | null
}

export interface Wallet {
  workspace: { id: string; name: string }
  balance: string
  held: string
  available: string
  credit_limit: string
  credits: string
  charges: string
  fees: string
  adjustments: string
  lapsed: string
  runway: Runway
}

export interface Runway {
  since: string
  spent: string
  per_day: string
  until: string | null
}

export interface Hold {
  id: string
  purpose: string
  amount: string
  remaining: string
  deadline: string
}

export interface UsageRow {
  day?: string
  model?: string
  key?: string
  surface?: string
  requests: number
  tokens: Record<string, number>
  total: string
}

export interface Movement {
  at: string
  sequence: number
  event_index: number
  line: number
  kind: string
  reference: string
  amount: string
  held: string
  balance_after: string
  held_after: string
  /** Of a credit; empty for every other movement. */
  note: string
}

export interface Statement extends Page<Movement> {
  from: string | null
  to: string | null
  final: boolean
  opening: { balance: string; held: string }
  closing: { balance: string; held: string }
}

export interface Charge {
  kind: 'request' | 'task'
  id: string
  at: string
  sequence: number
  key: string
  surface: string
  model: string
  provider: string
  level: number | null
  source: string
  outcome: string
  prompt_tokens: number | null
  output_tokens: number | null
  total: string
}

export interface Task {
  id: string
  kind: string
  model: string
  key: string
  surface: string
  status: 'QUEUED' | 'SUBMITTED' | 'IN_PROGRESS' | 'SUCCESS' | 'FAILURE'
  progress: number
  held: string
  total: string
  source: string | null
  queued_at: string
  submitted_at: string | null
  finished_at: string | null
  deadline: string
  external_task_id: string | null
  fail_reason: string | null
}

export interface Finding {
  kind: string
  workspace: string
  id: string
  at: string
  amount: string
  detail: string
}

export interface Health {
  at: string
  ready: boolean
  checks: Record<string, { ok: boolean; reason?: string }>
  log: { sequence: number | null }
  ledger: { sequence: number }
  tables: { sequence: number | null; behind_frames: number | null; behind_seconds: number | null }
  sealed: { size: number; unsealed_frames: number }
}

export interface ToldEvent {
  sequence: number
  index: number
  type: string
  time: string
  workspace: string | null
  subject: string
  actor: string | null
  detail: Record<string, string | number | boolean>
}

export interface Workspace {
  id: string
  name: string
  credit_limit: string
  balance: string
  held: string
  available: string
}

export interface Key {
  id: string
  name: string
  prefix: string
  state: 'active' | 'revoked'
  expires_at: string | null
  replaces?: string | null
  secret?: string
}

export interface Limits {
  requests_per_minute?: number
  tokens_per_minute?: number
  concurrent_requests?: number
  spend?: { day?: string; month?: string; total?: string }
  allowed_models?: string[]
  models?: Record<string, object>
}

export interface StandingLimits {
  key: string | null
  limits: Limits
  in_force?: Limits
  sources?: Partial<Record<keyof Limits, 'own' | 'plan' | 'configuration'>>
  spent?: { day: string; month: string; total: string }
}

/** One charge explained, as far as the page shows it. */
export interface Explanation {
  kind: 'request' | 'task'
  id: string
  state: string
  workspace: string
  key: { id: string; name: string | null; prefix: string | null }
  asked: Record<string, string | number | boolean | null> | null
  plan?: { model: string; provider: string; upstream_model: string; price_version: string }[]
  attempts?: {
    model: string
    provider: string
    outcome: string
    status: number | null
    reason: string | null
    duration_ms: number
  }[]
  ended: Record<string, unknown> | null
  usage?: {
    source: 'reported' | 'estimated'
    plausible?: false
    negative?: Record<string, number>
    estimate?: { hidden_tokens: number; thinking_ms: number; tokens_per_minute: number; basis: 'observed' | 'default' }
  } | null
  reservation?: { reserved: string; allowance: string | null; beyond: string } | null
  hold?: { amount: string; units_max: string; unit_price: string; deadline: string }
  progress?: { at: string; status: string; percent: number }[]
  price: {
    model: string
    version: string
    effective_from: string
    source: string
    sequence: number
    per_million_tokens: Record<string, string> | null
    unit_price: string | null
  } | null
  charge: {
    lines: { item: string; quantity: number | string; unit_price: string; amount: string }[]
    total: string
    recomputed: unknown
  } | null
  wallet: (Omit<Movement, 'reference'> & { balance_before: string; held_before: string })[]
  adjustments: { at: string; sequence: number; adjustment_id: string; amount: string; reason: string; note: string }[]
  net: string
  events: {
    sequence: number
    event_index: number
    at: string
    type: string
    id: string
    source: string
    counts: boolean
    sealed_by: number | null
  }[]
  proof: { sequence: number; checkpoint: { size: number; sequence: number } | null; command: string }
  log_sequence: number
  complete: boolean
}
