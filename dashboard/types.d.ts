/** The answers of the read API and the admin API: amounts are decimal USD, times ISO 8601. */
import type {
  AdministratorResponse,
  AlertDestinationResponse,
  AlertRuleResponse,
  AliasResponse,
  DeploymentResponse,
  EventResponse,
  InvoiceResponse,
  KeyResponse,
  PeriodResponse,
  PlanResponse,
  PriceImportResponse,
  PriceResponse,
  ProposalResponse,
  ReportResponse,
  RouteResponse,
  RouterResponse,
  UnfinishedResponse,
  WorkspaceResponse,
} from '../src/administration/responses.types.ts'
import type {
  LedgerChargesResponse,
  LedgerFindingsResponse,
  LedgerHealthResponse,
  LedgerHoldsResponse,
  LedgerKeysResponse,
  LedgerOutcomesResponse,
  LedgerRefusalsResponse,
  LedgerRequestsResponse,
  LedgerStatementResponse,
  LedgerTasksResponse,
  LedgerUsageResponse,
  LedgerWalletResponse,
  SetLimitsRequest,
  StandingLimitsResponse,
} from '../src/read-api/responses.types.ts'

export interface Page<Row> {
  data: Row[]
  /** ISO 8601: how far back a page of filtered rows has looked; null or absent where none is left. */
  searched_to?: string | null
  next_cursor: string | null
}

export type Wallet = LedgerWalletResponse
export type Runway = Wallet['runway']
export type Hold = LedgerHoldsResponse['data'][number]
export type UsageRow = LedgerUsageResponse['data'][number]
export type Statement = LedgerStatementResponse
export type Movement = Statement['data'][number]
export type Charge = LedgerChargesResponse['data'][number]
export type Request = LedgerRequestsResponse['data'][number]
export type Task = LedgerTasksResponse['data'][number]
export type Finding = LedgerFindingsResponse['data'][number]
export type Refusals = LedgerRefusalsResponse['data'][number]
export type Outcomes = LedgerOutcomesResponse
export type Health = LedgerHealthResponse
export type Workspace = WorkspaceResponse
export type Period = PeriodResponse
export type Unfinished = UnfinishedResponse
export type Alias = AliasResponse
export type Deployment = DeploymentResponse
export type Router = RouterResponse
export type Route = RouteResponse
export type Report = ReportResponse
export type Plan = PlanResponse
export type Price = PriceResponse
export type PriceImport = PriceImportResponse
export type Proposal = ProposalResponse
export type AlertDestination = AlertDestinationResponse
export type AlertRule = AlertRuleResponse
export type AdminEvent = EventResponse
export type Invoice = InvoiceResponse
export type Administrator = AdministratorResponse
export interface SessionState {
  identity_provider: string | null
  signed_in: {
    administrator: Omit<Administrator, 'object'> | null
    workspace: { id: string; name: string } | null
    expires_at: string
    csrf_token: string
  } | null
}
export type Permission = Administrator['permissions'][number]
/** An administrator's has more members than the workspace's own. */
export type Key = LedgerKeysResponse['data'][number] & Partial<Pick<KeyResponse, 'replaces' | 'secret'>>
export type StandingLimits = Omit<StandingLimitsResponse, 'object' | 'workspace'>
export type Limits = SetLimitsRequest

export interface LoggedEvent {
  sequence: number
  index: number
  type: string
  time: string
  workspace: string | null
  subject: string
  actor: string | null
  detail: Record<string, string | number | boolean>
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
    deployment?: string
    upstream_request_id?: string
  }[]
  ended: Record<string, unknown> | null
  usage?: {
    source: 'reported' | 'estimated'
    output_total: number
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
