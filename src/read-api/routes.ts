import type { ErrorCode } from '../errors/gateway-error.ts'
import type { Permission } from '../http/admin-roles.ts'
import type { HttpMiddleware } from '../http/context.ts'
import type { Operation, ResponseDescription } from '../http/operation.ts'
import { type ProofParts, showCharge, showProof } from './charge.ts'
import * as charges from './charges.ts'
import { showFindings } from './findings.ts'
import { type HealthParts, showLedgerHealth } from './health.ts'
import * as holds from './holds.ts'
import * as keys from './keys.ts'
import * as outcomes from './outcomes.ts'
import type { PagedParts } from './positions.ts'
import * as refusals from './refusals.ts'
import * as requests from './requests.ts'
import * as statement from './statement.ts'
import { followLedger, type LedgerTailParts } from './tail.ts'
import * as tasks from './tasks.ts'
import * as usage from './usage.ts'
import { showWallet, type WalletParts } from './wallet.ts'
import * as limits from './workspace-limits.ts'

type LedgerParts = HealthParts &
  PagedParts &
  ProofParts &
  LedgerTailParts &
  WalletParts &
  Parameters<typeof limits.showLimits>[0] &
  usage.UsageParts

export interface LedgerRoute {
  /** Appended to each of `ledgerPrefixes`. */
  readonly path: string
  readonly summary: string
  /** A file of `schemas/responses`; null for a stream of server-sent events. */
  readonly answer: string | null
  readonly query?: NonNullable<Operation['query']>
  readonly permission: Permission
  /** Beyond those of every read of the tables. */
  readonly refusals?: readonly ErrorCode[]
  /** Whether an administrator may read it for all workspaces at once. */
  readonly ofAll?: true
  /** Of what the edge has in memory, which no position of the tables is shown for or waited for. */
  readonly isFromMemory?: true
  readonly serve: (parts: LedgerParts) => HttpMiddleware
}

export const ledgerRoutes: readonly LedgerRoute[] = [
  {
    path: '/wallet',
    permission: 'read_money',
    summary: 'Balance, holds and how long the money lasts',
    answer: 'ledger-wallet',
    serve: showWallet,
  },
  {
    path: '/usage',
    permission: 'read_money',
    summary: 'What was used and charged, summed by day, model, key or surface, and by a tag or the end users',
    answer: 'ledger-usage',
    query: usage.usageParameters,
    serve: usage.showLedgerUsage,
  },
  {
    path: '/statement',
    permission: 'read_money',
    summary: 'Every movement of the wallet, in the order of the log or newest first',
    answer: 'ledger-statement',
    query: statement.statementParameters,
    serve: statement.showStatement,
  },
  {
    path: '/holds',
    permission: 'read_money',
    summary: "What of the wallet's money is set aside",
    answer: 'ledger-holds',
    query: holds.holdsParameters,
    serve: ({ readModels }) => holds.showHolds(readModels),
  },
  {
    path: '/requests',
    permission: 'read_money',
    summary: 'The requests that have ended, failed ones included, newest first',
    answer: 'ledger-requests',
    query: requests.requestsParameters,
    ofAll: true,
    serve: requests.showRequests,
  },
  {
    path: '/outcomes',
    permission: 'read',
    summary: 'How requests ended by hour: how many, how many failed, and when the first token of streams came',
    answer: 'ledger-outcomes',
    query: outcomes.outcomesParameters,
    ofAll: true,
    serve: outcomes.showOutcomes,
  },
  {
    path: '/refusals',
    permission: 'read',
    summary: 'How many requests were refused before they were routed, by minute, key and code, newest first',
    answer: 'ledger-refusals',
    query: refusals.refusalsParameters,
    ofAll: true,
    serve: refusals.showRefusals,
  },
  {
    path: '/charges',
    permission: 'read_money',
    summary: 'What was charged, newest first',
    answer: 'ledger-charges',
    query: charges.chargesParameters,
    serve: charges.showCharges,
  },
  {
    path: '/charges/:id',
    permission: 'read_money',
    summary: 'One charge explained, from the events of the log',
    answer: 'ledger-charge',
    refusals: ['not_found', 'log_unavailable'],
    serve: showCharge,
  },
  {
    path: '/charges/:id/proof',
    permission: 'read_money',
    summary: 'A file that proves one charge; to a key where its frame holds events of its workspace alone',
    answer: 'ledger-proof',
    refusals: ['not_found', 'access_denied', 'conflict', 'not_implemented', 'log_unavailable'],
    serve: showProof,
  },
  {
    path: '/tasks',
    permission: 'read_money',
    summary: 'Video tasks and their states, newest first',
    answer: 'ledger-tasks',
    query: tasks.tasksParameters,
    serve: tasks.showTasks,
  },
  {
    path: '/keys',
    permission: 'read',
    summary: 'The names of keys by id',
    answer: 'ledger-keys',
    query: keys.known,
    isFromMemory: true,
    serve: keys.showKeys,
  },
  {
    path: '/limits',
    permission: 'read',
    summary:
      'The limits of the workspace, and those of its working keys, tags and end users with what is spent of them',
    answer: 'ledger-limits',
    query: limits.limitsParameters,
    isFromMemory: true,
    serve: limits.showLimits,
  },
  {
    path: '/findings',
    permission: 'read_money',
    summary: 'What a reconciliation looks at that is in the ledger alone: open, overdue, late, estimated, corrected',
    answer: 'ledger-findings',
    ofAll: true,
    serve: showFindings,
  },
  {
    path: '/health',
    permission: 'read',
    summary: 'Whether requests can be served, and how far what is read is behind the log',
    answer: 'ledger-health',
    ofAll: true,
    serve: showLedgerHealth,
  },
  {
    path: '/tail',
    permission: 'read_money',
    summary: 'What is written to the log from now on, as server-sent events',
    answer: null,
    refusals: ['concurrency_limit_exceeded'],
    ofAll: true,
    serve: followLedger,
  },
]

export const describeRoute = ({ answer }: LedgerRoute): ResponseDescription =>
  answer === null ? { schema: null, streams: true } : { schema: { $ref: `responses/${answer}.json` } }

/** The key's own workspace, one that an administrator names, or all. */
export const ledgerPrefixes = {
  own: '/v1/ledger',
  named: '/admin/v1/workspaces/:workspace/ledger',
  all: '/admin/v1/ledger',
} as const
