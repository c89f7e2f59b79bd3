import { findOrCreateWallet } from '../../domain/ledger/ledger.ts'
import { measureRules, type WatchedRule } from '../../domain/wallet/alerts.ts'
import { walletLimits } from '../../domain/wallet/limits.ts'
import type { Wallet } from '../../domain/wallet/wallet.ts'
import { GatewayError, invalidValue } from '../../errors/gateway-error.ts'
import type { AlertRuleSet } from '../../events/types.ts'
import { pageOf } from '../../http/page.ts'
import { requireKey } from '../account-changes.ts'
import { requireWorkspace, walletHandlerOf } from '../admin-context.ts'
import { type AdminOperation, defineOperation, type OperationContext, type OperationInput } from '../operation.ts'
import type { SetAlertRuleRequest } from '../requests.types.ts'
import type { AlertDestinationResponse, AlertRuleResponse } from '../responses.types.ts'
import { workspaceParameter } from './parameters.ts'

const page = pageOf('alert-rules')
const destinationsPage = pageOf('alert-destinations')
const namePattern = /^[a-z0-9][a-z0-9_-]{0,62}$/

type MeasuredRule = ReturnType<typeof measureRules>[number]

const lastFailures = ({
  deliveredTo,
  failures = [],
}: WatchedRule['alerts'][number]): AlertRuleResponse['alerts'][number]['failures'] =>
  failures.filter(
    ({ destination }, place) =>
      !deliveredTo.includes(destination) &&
      failures.findLastIndex((each) => each.destination === destination) === place,
  )

const renderRule = ({ rule: watched, figure }: MeasuredRule): AlertRuleResponse => {
  const { workspaceId, rule, measure, threshold, keyId, tag, destinations, alerts } = watched
  return {
    object: 'alert_rule',
    workspace: workspaceId,
    rule,
    measure,
    threshold,
    key_id: keyId ?? null,
    tag: tag ?? null,
    destinations,
    figure,
    alerts: alerts.map((alert) => ({
      ...{ id: alert.alertId, measure: alert.measure, period: alert.period },
      ...{ figure: alert.figure, threshold: alert.threshold },
      raised_at: alert.raisedAt,
      sent_until: new Date(Date.parse(alert.raisedAt) + walletLimits.alertTriesMs).toISOString(),
      ...{ destinations: alert.destinations, delivered_to: alert.deliveredTo },
      failures: lastFailures(alert),
    })),
  }
}

const listRules = ({ tail, clock }: OperationContext, workspaceId: string | undefined): readonly AlertRuleResponse[] =>
  [...tail.ledger.wallets.values()]
    .filter((wallet) => workspaceId === undefined || wallet.workspaceId === workspaceId)
    .flatMap((wallet) => measureRules(wallet, clock(), tail.ledger.reconciled).map(renderRule))

/** Throws `not_found`. */
const showRule = (context: OperationContext, workspaceId: string, name: string): AlertRuleResponse => {
  requireWorkspace(context, workspaceId)
  const found = listRules(context, workspaceId).find(({ rule }) => rule === name)
  if (found === undefined) throw new GatewayError('not_found', `${workspaceId} has no alert rule ${name}.`)
  return found
}

const recordOf = ({ object, alerts, destinations, key_id, tag, figure, ...rule }: AlertRuleResponse) => ({
  ...rule,
  of: key_id ?? tag ?? '',
  figure: figure ?? '',
  destinations: destinations.join(' '),
  last: alerts.at(-1)?.period ?? '',
  delivered: alerts.at(-1)?.delivered_to.join(' ') ?? '',
})

const ofRequests: ReadonlySet<AlertRuleSet['measure']> = new Set(['spend_day', 'spend_month', 'error_rate'])

/** Throws `invalid_value`. */
const requireRule = (context: OperationContext, { workspaceId, rule, measure, keyId, tag }: AlertRuleSet): void => {
  const { alertRules } = findOrCreateWallet(context.tail.ledger, workspaceId)
  if (!namePattern.test(rule)) throw invalidValue('key', 'a name has at most 63 of the characters a-z, 0-9, _ and -')
  if (!ofRequests.has(measure) && (keyId ?? tag) !== undefined)
    throw invalidValue('measure', 'a key and a tag have neither balance nor runway, and no invoice')
  if (keyId !== undefined && tag !== undefined) throw invalidValue('tag', 'a rule has a key or a tag, not both')
  if (keyId !== undefined && requireKey(context, keyId).workspaceId !== workspaceId)
    throw invalidValue('key_id', `it is not a key of ${workspaceId}`)
  if (!alertRules.has(rule) && alertRules.size >= walletLimits.alertRulesMax)
    throw new GatewayError('conflict', `A workspace has at most ${walletLimits.alertRulesMax} alert rules.`)
}

const execute = async (
  context: OperationContext,
  workspaceId: string,
  command: Parameters<ReturnType<typeof walletHandlerOf>['execute']>[1],
): Promise<boolean> => {
  const outcome = await walletHandlerOf(context).execute(workspaceId, command, context.actor)
  return 'facts' in outcome && outcome.facts.length > 0
}

const notConfigured = ({ alertDestinations }: OperationContext, destinations: readonly string[]): readonly string[] =>
  destinations
    .filter((name) => !alertDestinations().has(name))
    .map((name) => `${name} is not among the destinations of the configuration, as yet.`)

interface DestinationUse {
  readonly rules: number
  /** When the alerts were raised that it has not accepted. */
  readonly undelivered: readonly string[]
}

const noUse: DestinationUse = { rules: 0, undelivered: [] }

/** By name. */
const usesOfDestinations = (wallets: Iterable<Pick<Wallet, 'alertRules'>>): ReadonlyMap<string, DestinationUse> => {
  const uses = new Map<string, { rules: number; readonly undelivered: string[] }>()
  const useOf = (name: string) => {
    const use = uses.get(name) ?? { rules: 0, undelivered: [] }
    uses.set(name, use)
    return use
  }
  for (const { alertRules } of wallets)
    for (const { destinations, alerts } of alertRules.values()) {
      for (const name of new Set(destinations)) useOf(name).rules += 1
      for (const { destinations: sentTo, deliveredTo, raisedAt } of alerts)
        for (const name of new Set(sentTo)) if (!deliveredTo.includes(name)) useOf(name).undelivered.push(raisedAt)
    }
  return uses
}

/** Those of the configuration, and those that rules name. */
const listDestinations = ({
  tail,
  clock,
  alertDestinations,
}: OperationContext): readonly AlertDestinationResponse[] => {
  const uses = usesOfDestinations(tail.ledger.wallets.values())
  const configured = alertDestinations()
  const named = [...uses].filter(([, { rules }]) => rules > 0).map(([name]) => name)
  const triedSinceMs = clock() - walletLimits.alertTriesMs
  return [...new Set([...configured.keys(), ...named])].map((name) => {
    const { rules, undelivered } = uses.get(name) ?? noUse
    const waiting = undelivered.filter((raisedAt) => Date.parse(raisedAt) >= triedSinceMs)
    return {
      object: 'alert_destination',
      name,
      type: configured.get(name)?.type ?? null,
      rules,
      waiting: waiting.length,
      waiting_since: waiting.toSorted()[0] ?? null,
      given_up: undelivered.length - waiting.length,
    }
  })
}

export const alertOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'alert.list',
    summary: 'Alert rules, with their figure of now and the last alerts',
    query: { ...page.known, workspace: workspaceParameter },
    answer: 'list of alert_rule',
    http: { method: 'get', path: '/admin/v1/alert-rules' },
    permission: 'read_money',
    cli: {
      arguments: {},
      queryOptions: { workspace: ['<workspace>', 'Of that workspace alone.'] },
      records: (context, { querystring }) =>
        listRules(context, new URLSearchParams(querystring).get('workspace') ?? undefined).map(recordOf),
      reports: { absent: 'no alert rule is set' },
    },
    run: (context, { query: { workspace, ...query } }) => {
      if (workspace !== undefined) requireWorkspace(context, workspace)
      const placeOf = ({ workspace: of, rule }: AlertRuleResponse) => `${of} ${rule}`
      return { body: page.show(listRules(context, workspace), placeOf, (rule) => rule, query) }
    },
  }),
  defineOperation({
    name: 'alert.set',
    summary: 'Set an alert rule of a workspace, whole',
    request: 'requests/admin/set-alert-rule.json',
    answer: 'alert_rule',
    http: { method: 'put', path: '/admin/v1/workspaces/:id/alert-rules/:key' },
    permission: 'configure',
    cli: {
      arguments: { id: '<workspace>', key: '<rule>' },
      members: {
        measure: { required: true },
        threshold: { required: true },
        destinations: { flags: '--to <names...>', parse: (text) => text, required: true },
      },
      records: (context, { id, key }) =>
        listRules(context, id)
          .filter(({ rule }) => rule === key)
          .map(recordOf),
      reports: { unchanged: 'unchanged' },
    },
    run: async (context, { id: workspaceId, key, body }: OperationInput<SetAlertRuleRequest>) => {
      requireWorkspace(context, workspaceId)
      const { measure, threshold, key_id: keyId, tag, destinations } = body
      const of = { ...(keyId === undefined ? {} : { keyId }), ...(tag === undefined ? {} : { tag }) }
      const rule: AlertRuleSet = { workspaceId, rule: key, measure, threshold, ...of, destinations }
      requireRule(context, rule)
      const changed = await execute(context, workspaceId, { type: 'SetAlertRule', rule })
      return { changed, warnings: notConfigured(context, destinations), body: showRule(context, workspaceId, key) }
    },
  }),
  defineOperation({
    name: 'alert.unset',
    summary: 'Remove an alert rule; what is not delivered of its alerts is not sent any more',
    answer: 'alert_rule',
    http: { method: 'delete', path: '/admin/v1/workspaces/:id/alert-rules/:key' },
    permission: 'configure',
    cli: {
      arguments: { id: '<workspace>', key: '<rule>' },
      reports: { changed: 'removed', absent: 'there is no such rule' },
    },
    run: async (context, { id: workspaceId, key }) => {
      const body = showRule(context, workspaceId, key)
      return { changed: await execute(context, workspaceId, { type: 'RemoveAlertRule', rule: key }), body }
    },
  }),
  defineOperation({
    name: 'destination.list',
    summary: 'Where alerts are sent, with how many rules name it and what it has not accepted',
    query: destinationsPage.known,
    answer: 'list of alert_destination',
    http: { method: 'get', path: '/admin/v1/alert-destinations' },
    permission: 'read',
    cli: {
      words: 'alert destinations',
      arguments: {},
      records: (context) =>
        listDestinations(context).map(({ object, type, waiting_since: since, ...each }) => ({
          ...{ ...each, type: type ?? 'not configured' },
          waiting_since: since ?? '',
        })),
      reports: { absent: 'no destination is configured, and no alert rule names one' },
    },
    run: (context, { query }) => ({
      body: destinationsPage.show(
        listDestinations(context),
        ({ name }) => name,
        (each) => each,
        query,
      ),
    }),
  }),
]
