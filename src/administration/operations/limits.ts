import { findSetLimits, type LimitsInForce } from '../../domain/accounts/limits.ts'
import { formatUsd, parseUsd } from '../../domain/money.ts'
import type { Limits, Pace } from '../../events/types.ts'
import { pageOf } from '../../http/page.ts'
import type { AdminContext } from '../admin-context.ts'
import {
  type EffectiveLimits,
  executeSetLimits,
  findEffectiveLimits,
  findSpending,
  type KeyId,
  listEffectiveLimits,
  modelsIn,
} from '../limits-changes.ts'
import {
  type AdminOperation,
  defineOperation,
  type OperationContext,
  type OperationInput,
  type OperationResult,
} from '../operation.ts'
import type { SetLimitsRequest } from '../requests.types.ts'
import type { StandingLimitsResponse } from '../responses.types.ts'
import { findWarnings } from '../routing-changes.ts'

type PaceRequest = Pick<SetLimitsRequest, 'requests_per_minute' | 'tokens_per_minute' | 'concurrent_requests'>

const withoutAbsent = <Members extends object>(members: Members) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

const paceOf = ({ requests_per_minute, tokens_per_minute, concurrent_requests }: PaceRequest): Pace =>
  withoutAbsent({
    requestsPerMinute: requests_per_minute,
    tokensPerMinute: tokens_per_minute,
    concurrentRequests: concurrent_requests,
  })

const renderPace = ({ requestsPerMinute, tokensPerMinute, concurrentRequests }: Pace): PaceRequest =>
  withoutAbsent({
    requests_per_minute: requestsPerMinute,
    tokens_per_minute: tokensPerMinute,
    concurrent_requests: concurrentRequests,
  })

const mapped = <From, To>(
  members: Readonly<Record<string, From>> | undefined,
  map: (value: From) => To,
): Readonly<Record<string, To>> | undefined =>
  members && Object.fromEntries(Object.entries(members).map(([name, value]) => [name, map(value)]))

export const limitsOfRequest = ({ models, spend, allowed_models, ...pace }: SetLimitsRequest): Limits => ({
  ...paceOf(pace),
  ...withoutAbsent({ models: mapped(models, paceOf), spend, allowedModels: allowed_models }),
})

const usdText = (usd: string): string => formatUsd(parseUsd(usd))

export const renderLimits = ({ models, spend, allowedModels, ...pace }: Limits): SetLimitsRequest => ({
  ...renderPace(pace),
  ...withoutAbsent({
    models: mapped(models, renderPace),
    spend: spend && mapped({ ...spend }, usdText),
    allowed_models: allowedModels,
  }),
})

const renderSpent = (context: Pick<AdminContext, 'tail'>, workspaceId: string, keyId: string, nowMs: number) => {
  const { dayPicos, monthPicos, totalPicos } = findSpending(context, workspaceId, keyId, nowMs)
  return { day: formatUsd(dayPicos), month: formatUsd(monthPicos), total: formatUsd(totalPicos) }
}

/** USD on a UTC day, in its month and ever. */
export const spentRecord = (context: Pick<AdminContext, 'tail'>, workspaceId: string, keyId: string, nowMs: number) => {
  const { day, month, total } = renderSpent(context, workspaceId, keyId, nowMs)
  return { spent_day: day, spent_month: month, spent_total: total }
}

const renderSources = ({
  requestsPerMinute,
  tokensPerMinute,
  concurrentRequests,
  ...sources
}: LimitsInForce['sources']) =>
  withoutAbsent({
    requests_per_minute: requestsPerMinute,
    tokens_per_minute: tokensPerMinute,
    concurrent_requests: concurrentRequests,
    models: sources.models,
    allowed_models: sources.allowedModels,
  })

const renderInForce = ({ limits, sources }: LimitsInForce) => ({
  in_force: renderLimits(limits),
  sources: renderSources(sources),
})

const renderEffective = (
  context: OperationContext,
  workspaceId: string,
  { keyId, limits, inForce }: EffectiveLimits,
): StandingLimitsResponse => ({
  object: 'limits',
  workspace: workspaceId,
  key: keyId,
  limits: renderLimits(limits),
  ...(inForce === null ? {} : renderInForce(inForce)),
  ...(keyId === null ? {} : { spent: renderSpent(context, workspaceId, keyId, context.clock()) }),
})

interface LimitsRecord {
  readonly workspace: string
  /** Null for the limits of the workspace. */
  readonly key: KeyId
  readonly limits: Limits
  /** Only for the workspace: with those of its plan and of the configuration. */
  readonly in_force?: Limits
  readonly sources?: LimitsInForce['sources']
  readonly spent_day?: string
  readonly spent_month?: string
  readonly spent_total?: string
}

const listRecords = (context: OperationContext, workspaceId: string): readonly LimitsRecord[] =>
  listEffectiveLimits(context, workspaceId, context.requestsPerMinute).map(({ keyId, limits, inForce }) => ({
    workspace: workspaceId,
    key: keyId,
    limits,
    ...(inForce === null ? {} : { in_force: inForce.limits, sources: inForce.sources }),
    ...(keyId === null ? {} : spentRecord(context, workspaceId, keyId, context.clock())),
  }))

const spendText = (spent: string | undefined, limit: string | undefined): string =>
  limit === undefined ? '' : `${spent} of ${limit}`

type Sources = LimitsInForce['sources']

const sourced = (text: string, source: Sources[keyof Sources]): string =>
  text === '' || source === undefined || source === 'own' ? text : `${text} (${source})`

const paceNames = {
  requestsPerMinute: 'requests/min',
  tokensPerMinute: 'tokens/min',
  concurrentRequests: 'at once',
} as const satisfies Record<keyof Pace, string>

const paceText = (pace: Pace, sources: Sources = {}): string =>
  (Object.keys(paceNames) as (keyof Pace)[])
    .filter((member) => pace[member] !== undefined)
    .map((member) => sourced(`${pace[member]} ${paceNames[member]}`, sources[member]))
    .join(', ')

const modelPaces = (models: Limits['models'] = {}): string =>
  Object.entries(models)
    .map(([model, pace]) => `${model}: ${paceText(pace)}`)
    .join('; ')

const allowedText = ({ allowedModels }: Limits): string =>
  allowedModels === undefined ? 'every' : allowedModels.join(' ') || 'none'

const summarizeRecord = ({ key, limits, in_force = limits, sources = {}, ...spent }: LimitsRecord) => ({
  key: key ?? '(workspace)',
  spend_day: spendText(spent.spent_day, limits.spend?.day),
  spend_month: spendText(spent.spent_month, limits.spend?.month),
  spend_total: spendText(spent.spent_total, limits.spend?.total),
  pace: paceText(in_force, sources),
  models: sourced(allowedText(in_force), sources.allowedModels),
  model_paces: sourced(modelPaces(in_force.models), sources.models),
})

/** Whole as JSON; in words for a table. */
const limitsRecords = (context: OperationContext, workspaceId: string, { json }: { readonly json: boolean }) => {
  const records = listRecords(context, workspaceId)
  return json ? records.map((record) => ({ ...record })) : records.map(summarizeRecord)
}

/** `openai/gpt-4o,requests-per-minute=10`; null for a model alone. */
const parseModelPace = (text: string) => {
  const [model = '', ...paces] = text.split(',')
  const limits = paces.map((each) => each.split('=')).map(([name = '', n]) => [name.replaceAll('-', '_'), Number(n)])
  return { [model]: paces.length === 0 ? null : Object.fromEntries(limits) }
}

const page = pageOf('limits')

/** `key` is empty for the limits of the workspace. */
const setLimits = async (
  context: OperationContext,
  { id: workspaceId, key }: { readonly id: string; readonly key: string },
  limits: Limits,
): Promise<OperationResult> => {
  const keyId = key === '' ? null : key
  const changed = await executeSetLimits(context, workspaceId, keyId, limits)
  const effective = findEffectiveLimits(context, workspaceId, keyId, context.requestsPerMinute)
  const warnings = findWarnings(context, context.catalog(), modelsIn(limits))
  return { changed, warnings, body: renderEffective(context, workspaceId, effective) }
}

const set = {
  request: 'requests/admin/set-limits.json',
  answer: 'limits',
  run: (context: OperationContext, input: OperationInput<SetLimitsRequest>) =>
    setLimits(context, input, limitsOfRequest(input.body)),
}

const clear = {
  answer: 'limits',
  run: (context: OperationContext, input: OperationInput) => setLimits(context, input, {}),
}

const path = '/admin/v1/workspaces/:id/limits'
const keyPath = '/admin/v1/workspaces/:id/keys/:key/limits'

export const limitOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'limits.show',
    summary: 'The limits of a workspace and of its working keys, with what is spent',
    query: page.known,
    answer: 'list of limits',
    http: { method: 'get', path },
    cli: {
      arguments: { id: '<workspace>' },
      records: (context, { id }, _body, output) => limitsRecords(context, id, output),
    },
    run: (context, { id, query }) => {
      const found = listEffectiveLimits(context, id, context.requestsPerMinute)
      const render = (effective: EffectiveLimits) => renderEffective(context, id, effective)
      return { body: page.show(found, ({ keyId }) => keyId ?? '', render, query) }
    },
  }),
  defineOperation({
    ...set,
    name: 'limits.set',
    summary: 'Set the limits of a workspace, whole',
    http: { method: 'put', path },
    cli: {
      summary: 'change the limits that are named and leave the others; `none` lifts one',
      arguments: { id: '<workspace>' },
      keyOption: 'Of one key, by its id. Default: of the whole workspace.',
      members: {
        models: {
          flags: '--model-limit <model,…>',
          description:
            '<model>,requests-per-minute=N,tokens-per-minute=N,concurrent-requests=N limits one model; a model alone lifts it.',
          parse: parseModelPace,
        },
        'spend.day': { description: 'What a key may spend in a day (UTC), see --key.' },
        'spend.month': { description: 'What a key may spend in a month (UTC), see --key.' },
        'spend.total': { description: 'What a key may spend ever, see --key.' },
        allowed_models: [
          { flags: '--any-model', value: null, description: 'Allow every model again.' },
          {
            flags: '--allow-model <model>',
            description: 'Allow this <provider>/<model>, or <provider>/*, and no others; repeatable.',
            parse: (text) => text,
          },
        ],
      },
      current: ({ tail }, { id, key }) => ({
        ...renderLimits(findSetLimits(tail.ledger.accounts, id, key === '' ? null : key)),
      }),
      records: (context, { id }, _body, output) => limitsRecords(context, id, output),
      reports: { unchanged: 'unchanged' },
    },
  }),
  defineOperation({
    ...clear,
    name: 'limits.clear',
    summary: 'Lift every limit of a workspace',
    http: { method: 'delete', path },
    cli: {
      arguments: { id: '<workspace>' },
      keyOption: 'Of one key, by its id. Default: of the whole workspace.',
      reports: { changed: 'lifted', unchanged: 'there were none' },
    },
  }),
  defineOperation({
    ...set,
    name: 'limits.set-of-key',
    summary: 'Set the limits of a key, whole',
    http: { method: 'put', path: keyPath },
  }),
  defineOperation({
    ...clear,
    name: 'limits.clear-of-key',
    summary: 'Lift every limit of a key',
    http: { method: 'delete', path: keyPath },
  }),
]
