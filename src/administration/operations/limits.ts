import type { LimitsInForce } from '../../domain/accounts/limits.ts'
import type { Limits, Pace } from '../../events/types.ts'
import { readQuery } from '../../http/query.ts'
import {
  type EffectiveLimits,
  findEffectiveLimits,
  findOwnLimits,
  holderNames,
  type LimitsHolder,
  limitsOfRequest,
  limitsParameters,
  listLimitsHolders,
  pageOfLimits,
  renderEffective,
  renderLimits,
  spentRecord,
} from '../../read-api/workspace-limits.ts'
import { executeSetLimits, modelsIn } from '../limits-changes.ts'
import { findTagWarnings, holderParameters, readLimitsHolder } from '../limits-holder.ts'
import {
  type AdminOperation,
  type CommandPath,
  defineOperation,
  type OperationContext,
  type OperationInput,
  type OperationResult,
} from '../operation.ts'
import type { SetLimitsRequest } from '../requests.types.ts'
import { findWarnings } from '../routing-changes.ts'

type HolderNames = ReturnType<typeof holderNames>

interface LimitsRecord extends HolderNames {
  readonly workspace: string
  readonly limits: Limits
  /** Only for the workspace: with those of its plan and of the configuration. */
  readonly in_force?: Limits
  readonly sources?: LimitsInForce['sources']
  readonly spent_day?: string
  readonly spent_month?: string
  readonly spent_total?: string
}

const toRecord = (
  context: OperationContext,
  workspaceId: string,
  { holder, limits, inForce }: EffectiveLimits,
): LimitsRecord => ({
  workspace: workspaceId,
  ...holderNames(holder),
  limits,
  ...(inForce === null ? {} : { in_force: inForce.limits, sources: inForce.sources }),
  ...(holder === null ? {} : spentRecord(context, workspaceId, holder, context.clock())),
})

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

const nameText = ({ key, tag, end_user }: HolderNames): string => {
  if (tag !== undefined) return `tag ${tag}`
  return end_user === undefined ? (key ?? '(workspace)') : `end user ${end_user}`
}

const summarizeRecord = ({ limits, in_force = limits, sources = {}, ...spent }: LimitsRecord) => ({
  of: nameText(spent),
  spend_day: spendText(spent.spent_day, limits.spend?.day),
  spend_month: spendText(spent.spent_month, limits.spend?.month),
  spend_total: spendText(spent.spent_total, limits.spend?.total),
  pace: paceText(in_force, sources),
  models: sourced(allowedText(in_force), sources.allowedModels),
  model_paces: sourced(modelPaces(in_force.models), sources.models),
})

type Path = Parameters<typeof readLimitsHolder>[1]
type HolderQuery = Parameters<typeof readLimitsHolder>[2]

/** The tag or end user that is named, or all that have limits. Throws `not_found`. */
const findListed = async (
  context: OperationContext,
  path: Path,
  query: HolderQuery,
): Promise<readonly LimitsHolder[]> => {
  const holder = await readLimitsHolder(context, { ...path, key: '' }, query)
  return holder === null ? listLimitsHolders(context, path.id) : [holder]
}

const holderQuery = (path: CommandPath): HolderQuery => readQuery(path, holderParameters)

/** Whole as JSON; in words for a table. */
const limitsRecords = async (context: OperationContext, path: CommandPath, { json }: { readonly json: boolean }) => {
  const found = await findListed(context, path, holderQuery(path))
  const requestsPerMinute = context.requestsPerMinute()
  const records = found.map((holder) =>
    toRecord(context, path.id, findEffectiveLimits(context, path.id, holder, requestsPerMinute)),
  )
  return json ? records.map((record) => ({ ...record })) : records.map(summarizeRecord)
}

/** `openai/gpt-4o,requests-per-minute=10`; null for a model alone. */
const parseModelPace = (text: string) => {
  const [model = '', ...paces] = text.split(',')
  const limits = paces.map((each) => each.split('=')).map(([name = '', n]) => [name.replaceAll('-', '_'), Number(n)])
  return { [model]: paces.length === 0 ? null : Object.fromEntries(limits) }
}

const setLimits = async (
  context: OperationContext,
  workspaceId: string,
  holder: LimitsHolder,
  limits: Limits,
): Promise<OperationResult> => {
  const changed = await executeSetLimits(context, workspaceId, holder, limits)
  const effective = findEffectiveLimits(context, workspaceId, holder, context.requestsPerMinute())
  const warnings = findWarnings(context, context.catalog(), modelsIn(limits))
  return { changed, warnings, body: renderEffective(context, workspaceId, effective) }
}

const keyOf = ({ key }: Path): LimitsHolder => (key === '' ? null : key)

const setOfKey = {
  request: 'requests/admin/set-limits.json',
  answer: 'limits',
  run: (context: OperationContext, input: OperationInput<SetLimitsRequest>) =>
    setLimits(context, input.id, keyOf(input), limitsOfRequest(input.body)),
}

const clearOfKey = {
  answer: 'limits',
  run: (context: OperationContext, input: OperationInput) => setLimits(context, input.id, keyOf(input), {}),
}

const setOfNamed = {
  ...setOfKey,
  query: holderParameters,
  run: async (context: OperationContext, input: OperationInput<SetLimitsRequest, typeof holderParameters>) => {
    const holder = await readLimitsHolder(context, input, input.query)
    const result = await setLimits(context, input.id, holder, limitsOfRequest(input.body))
    return { ...result, warnings: [...(result.warnings ?? []), ...findTagWarnings(context, input.query)] }
  },
}

const clearOfNamed = {
  ...clearOfKey,
  query: holderParameters,
  run: async (context: OperationContext, input: OperationInput<undefined, typeof holderParameters>) =>
    setLimits(context, input.id, await readLimitsHolder(context, input, input.query), {}),
}

const queryOptions = {
  tag: ['<name=value>', 'Of all requests with this tag, such as team=search: spend limits alone.'],
  user: ['<name>', 'Of an end user, by the name that requests have: spend limits alone.'],
  end_user: ['<id>', 'Of an end user, by its id in charges and usage.'],
} as const

const path = '/admin/v1/workspaces/:id/limits'
const keyPath = '/admin/v1/workspaces/:id/keys/:key/limits'

export const limitOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'limits.show',
    summary: 'The limits of a workspace, and those of its working keys, tags and end users with what is spent',
    query: { ...limitsParameters, ...holderParameters },
    answer: 'list of limits',
    http: { method: 'get', path },
    permission: 'read',
    cli: {
      arguments: { id: '<workspace>' },
      queryOptions,
      records: (context, input, _body, output) => limitsRecords(context, input, output),
    },
    run: async (context, { query: { cursor, limit, ...named }, ...ids }) => {
      const found = await findListed(context, ids, named)
      return { body: pageOfLimits(context, ids.id, found, { cursor, limit }) }
    },
  }),
  defineOperation({
    ...setOfNamed,
    name: 'limits.set',
    summary: 'Set the limits of a workspace, or of a tag or an end user of it, whole',
    http: { method: 'put', path },
    permission: 'configure',
    cli: {
      summary: 'change the limits that are named and leave the others; `none` lifts one',
      arguments: { id: '<workspace>' },
      keyOption: 'Of one key, by its id. Default: of the whole workspace.',
      queryOptions,
      members: {
        models: {
          flags: '--model-limit <model,…>',
          description:
            '<model>,requests-per-minute=N,tokens-per-minute=N,concurrent-requests=N limits one model; a model alone lifts it.',
          parse: parseModelPace,
        },
        'spend.day': {
          description: 'What a key, a tag or an end user may spend in a day (UTC): see --key, --tag, --user.',
        },
        'spend.month': {
          description: 'What a key, a tag or an end user may spend in a month (UTC): see --key, --tag, --user.',
        },
        'spend.total': { description: 'What a key, a tag or an end user may spend ever: see --key, --tag, --user.' },
        allowed_models: [
          { flags: '--any-model', value: null, description: 'Allow every model again.' },
          {
            flags: '--allow-model <model>',
            description: 'Allow this <provider>/<model>, or <provider>/*, and no others; repeatable.',
            parse: (text) => text,
          },
        ],
      },
      current: async (context, input) => {
        const holder = await readLimitsHolder(context, input, holderQuery(input))
        return { ...renderLimits(findOwnLimits(context, input.id, holder)) }
      },
      records: (context, input, _body, output) => limitsRecords(context, input, output),
      reports: { unchanged: 'unchanged' },
    },
  }),
  defineOperation({
    ...clearOfNamed,
    name: 'limits.clear',
    summary: 'Lift every limit of a workspace, or of a tag or an end user of it',
    http: { method: 'delete', path },
    permission: 'configure',
    cli: {
      arguments: { id: '<workspace>' },
      keyOption: 'Of one key, by its id. Default: of the whole workspace.',
      queryOptions,
      reports: { changed: 'lifted', unchanged: 'there were none' },
    },
  }),
  defineOperation({
    ...setOfKey,
    name: 'limits.set-of-key',
    summary: 'Set the limits of a key, whole',
    http: { method: 'put', path: keyPath },
    permission: 'configure',
  }),
  defineOperation({
    ...clearOfKey,
    name: 'limits.clear-of-key',
    summary: 'Lift every limit of a key',
    http: { method: 'delete', path: keyPath },
    permission: 'configure',
  }),
]
