import type { FactOf } from '../../events/envelope.ts'
import type { AlertRaised, AlertRuleSet } from '../../events/types.ts'
import { findLimitKey } from '../accounts/accounts.ts'
import { dayMs, utcDayOf } from '../instant.ts'
import { formatUsd, parseUsd, picosPerUsd } from '../money.ts'
import { isLabel, type Labels, labelsOf, tagHolder } from './holders.ts'
import { walletLimits } from './limits.ts'
import { spendingInPeriod } from './spending.ts'
import { availablePicos, balancePicos, spendingOf, type Wallet, type WalletDraft } from './wallet.ts'

export type AlertFact = FactOf<
  'AlertRuleSet' | 'AlertRuleRemoved' | 'AlertRaised' | 'AlertDelivered' | 'AlertDeliveryFailed'
>

interface RaisedAlert extends AlertRaised {
  /** ISO 8601. */
  readonly raisedAt: string
  readonly deliveredTo: readonly string[]
  /** One for each reason of a destination, in their order; absent in snapshots that do not have them. */
  readonly failures?: readonly DeliveryFailure[]
}

interface DeliveryFailure {
  readonly destination: string
  readonly reason: string
  /** ISO 8601: when it failed for this reason first. */
  readonly at: string
}

type Reconciled = ReadonlyMap<
  string,
  { readonly unreconciledPicos: bigint; readonly day: string; readonly sequence: number }
>

/** Of the requests that a rule counts, in one period. */
interface RequestCount {
  readonly period: string
  readonly spentPicos: bigint
  readonly requests: number
  readonly failed: number
}

export interface WatchedRule extends AlertRuleSet {
  readonly count: RequestCount
  /** The last one, and those that are not delivered to all destinations. */
  readonly alerts: readonly RaisedAlert[]
}

const periodLengths = {
  spend_day: 10,
  spend_month: 7,
  balance: 10,
  runway_days: 10,
  error_rate: 13,
  unreconciled: 10,
} as const

/** The UTC month, day or hour of an instant in which a rule raises once: `2026-11`, `2026-11-27`, `2026-11-27T18`. */
const periodAt = ({ measure }: Pick<AlertRuleSet, 'measure'>, time: string): string =>
  time.slice(0, periodLengths[measure])

const isDelivered = ({ destinations, deliveredTo }: RaisedAlert): boolean =>
  destinations.every((name) => deliveredTo.includes(name))

/** Not delivered within a day. */
const isAbandoned = ({ raisedAt }: RaisedAlert, time: string): boolean =>
  Date.parse(time) - Date.parse(raisedAt) > walletLimits.alertTriesMs

const noCount: RequestCount = { period: '', spentPicos: 0n, requests: 0, failed: 0 }

/** What a rule of the same requests has counted is kept. */
const setRule = ({ alertRules }: WalletDraft, data: AlertRuleSet): void => {
  const before = alertRules.get(data.rule)
  const isSame = (['measure', 'keyId', 'tag'] as const).every((name) => before?.[name] === data[name])
  alertRules.set(data.rule, {
    ...data,
    count: isSame ? (before?.count ?? noCount) : noCount,
    alerts: before?.alerts ?? [],
  })
}

const changeAlerts = (
  { alertRules }: WalletDraft,
  name: string,
  change: (alerts: readonly RaisedAlert[]) => readonly RaisedAlert[],
): void => {
  const rule = alertRules.get(name)
  if (rule !== undefined) alertRules.set(name, { ...rule, alerts: change(rule.alerts) })
}

const confirm = (
  alerts: readonly RaisedAlert[],
  { alertId, destination }: FactOf<'AlertDelivered'>['data'],
): readonly RaisedAlert[] =>
  alerts
    .map((alert) =>
      alert.alertId === alertId ? { ...alert, deliveredTo: [...new Set([...alert.deliveredTo, destination])] } : alert,
    )
    .filter((alert, place, all) => place === all.length - 1 || !isDelivered(alert))

const addFailure = (
  alerts: readonly RaisedAlert[],
  { alertId, destination, reason }: FactOf<'AlertDeliveryFailed'>['data'],
  at: string,
): readonly RaisedAlert[] => {
  const isSame = (known: DeliveryFailure): boolean => known.destination === destination && known.reason === reason
  return alerts.map((alert) => {
    const failures = alert.failures ?? []
    if (alert.alertId !== alertId || failures.some(isSame)) return alert
    return { ...alert, failures: [...failures, { destination, reason, at }] }
  })
}

/** Moves no money. A drafted fact has no time yet, which nothing is decided by. */
export const applyAlert = (wallet: WalletDraft, fact: AlertFact, time: string): void => {
  switch (fact.type) {
    case 'AlertRuleSet':
      setRule(wallet, fact.data)
      break
    case 'AlertRuleRemoved':
      wallet.alertRules.delete(fact.data.rule)
      break
    case 'AlertRaised':
      changeAlerts(wallet, fact.data.rule, (alerts) => [
        ...alerts.filter((alert) => !isDelivered(alert) && !isAbandoned(alert, time)),
        { ...fact.data, raisedAt: time, deliveredTo: [] },
      ])
      break
    case 'AlertDelivered':
      changeAlerts(wallet, fact.data.rule, (alerts) => confirm(alerts, fact.data))
      break
    case 'AlertDeliveryFailed':
      changeAlerts(wallet, fact.data.rule, (alerts) => addFailure(alerts, fact.data, time))
  }
}

interface CountedRequest {
  readonly keyId: string
  readonly labels: Labels
  /** ISO 8601: when it was routed, by which it is charged. */
  readonly routedAt: string
  /** ISO 8601. */
  readonly endedAt: string
  readonly spentPicos: bigint
  readonly hasFailed: boolean
}

const counts = (wallet: Wallet, { keyId, tag }: AlertRuleSet, request: CountedRequest): boolean =>
  (keyId === undefined || findLimitKey(wallet, keyId) === findLimitKey(wallet, request.keyId)) &&
  (tag === undefined || labelsOf(request.labels).includes(tagHolder(tag)))

const added = (count: RequestCount, period: string, { spentPicos, hasFailed }: CountedRequest): RequestCount => {
  if (period < count.period) return count
  const before = period === count.period ? count : { ...noCount, period }
  return {
    period,
    spentPicos: before.spentPicos + spentPicos,
    requests: before.requests + 1,
    failed: before.failed + Number(hasFailed),
  }
}

/** For rules whose figures the wallet does not have by itself. */
export const countRequest = (wallet: Wallet, request: CountedRequest): void => {
  for (const rule of wallet.alertRules.values()) {
    const isError = rule.measure === 'error_rate'
    if ((!isError && rule.tag === undefined) || !counts(wallet, rule, request)) continue
    const period = periodAt(rule, isError ? request.endedAt : request.routedAt)
    wallet.alertRules.set(rule.rule, { ...rule, count: added(rule.count, period, request) })
  }
}

const spentPicos = (
  wallet: Wallet,
  { keyId, tag, count }: WatchedRule,
  time: string,
  unit: 'day' | 'month',
): bigint => {
  if (tag !== undefined) return count.period === time.slice(0, count.period.length) ? count.spentPicos : 0n
  const day = utcDayOf(time)
  const of = (holder: string) => spendingInPeriod(spendingOf(wallet, holder), day).spent[`${unit}Picos`]
  if (keyId !== undefined) return of(keyId)
  return [...wallet.spendings.keys()].filter((holder) => !isLabel(holder)).reduce((sum, holder) => sum + of(holder), 0n)
}

/** Days, in the unit of amounts; null on the first day of a month, and where nothing was spent in it. */
const runwayPicos = (wallet: Wallet, rule: WatchedRule, time: string): bigint | null => {
  const elapsedMs = Date.parse(time) - Date.parse(`${time.slice(0, 7)}-01`)
  const spent = spentPicos(wallet, rule, time, 'month')
  if (elapsedMs < dayMs || spent <= 0n) return null
  return (((availablePicos(wallet) * BigInt(elapsedMs)) / spent) * picosPerUsd) / BigInt(dayMs)
}

/** Percent, in the unit of amounts; null for too few requests to be a rate. */
const errorPicos = ({ count: { period, requests, failed } }: WatchedRule, time: string): bigint | null =>
  period !== time.slice(0, period.length) || requests < walletLimits.errorRateRequestsMin
    ? null
    : (BigInt(failed) * 100n * picosPerUsd) / BigInt(requests)

const sumUnreconciled = (reconciled: Reconciled): bigint | null =>
  reconciled.size === 0 ? null : [...reconciled.values()].reduce((sum, each) => sum + each.unreconciledPicos, 0n)

/** With 12 decimals, whatever its unit. */
const measure = (wallet: Wallet, rule: WatchedRule, time: string, reconciled: Reconciled): bigint | null => {
  switch (rule.measure) {
    case 'spend_day':
      return spentPicos(wallet, rule, time, 'day')
    case 'spend_month':
      return spentPicos(wallet, rule, time, 'month')
    case 'balance':
      return balancePicos(wallet)
    case 'runway_days':
      return runwayPicos(wallet, rule, time)
    case 'error_rate':
      return errorPicos(rule, time)
    case 'unreconciled':
      return sumUnreconciled(reconciled)
  }
}

const decimals = {
  spend_day: 12,
  spend_month: 12,
  balance: 12,
  runway_days: 1,
  error_rate: 2,
  unreconciled: 12,
} as const

/** Decimal; a rate and days are cut after a few decimals. */
const figureOf = (wallet: Wallet, rule: WatchedRule, time: string, reconciled: Reconciled): string | null => {
  const picos = measure(wallet, rule, time, reconciled)
  if (picos === null) return null
  const unit = 10n ** BigInt(12 - decimals[rule.measure])
  return formatUsd((picos / unit) * unit)
}

const fallsBelow: ReadonlySet<AlertRuleSet['measure']> = new Set(['balance', 'runway_days'])

/** Null where the threshold is not reached, or the alert is raised already. */
const dueAlert = (watched: WatchedRule, figure: string, time: string, invoice: number): AlertRaised | null => {
  const { count, alerts, ...rule } = watched
  const over = parseUsd(figure) - parseUsd(rule.threshold)
  if (fallsBelow.has(rule.measure) ? over > 0n : over < 0n) return null
  const period = periodAt(rule, time)
  const cause = rule.measure === 'unreconciled' ? [invoice] : []
  const alertId = [rule.workspaceId, rule.rule, period, rule.threshold, ...cause].join(':')
  return alerts.some((alert) => alert.alertId === alertId) ? null : { ...rule, alertId, figure, period }
}

interface MeasuredRule {
  readonly rule: WatchedRule
  /** Null where there is too little to measure. */
  readonly figure: string | null
  readonly due: AlertRaised | null
}

/** What is unreconciled changes by nothing else. */
const lastRecorded = (reconciled: Reconciled): { readonly day: string; readonly sequence: number } =>
  [...reconciled.values()].reduce((last, each) => (each.sequence > last.sequence ? each : last), {
    unreconciledPicos: 0n,
    day: '',
    sequence: 0,
  })

export const measureRules = (wallet: Wallet, nowMs: number, reconciled: Reconciled): readonly MeasuredRule[] => {
  const now = new Date(nowMs).toISOString()
  const last = lastRecorded(reconciled)
  return [...wallet.alertRules.values()].map((rule) => {
    const time = rule.measure === 'unreconciled' ? last.day : now
    const figure = figureOf(wallet, rule, time, reconciled)
    return { rule, figure, due: figure === null ? null : dueAlert(rule, figure, time, last.sequence) }
  })
}

interface SentAlert {
  readonly rule: string
  readonly alertId: string
  readonly destination: string
}

export type AlertCommand =
  | { readonly type: 'SetAlertRule'; readonly rule: AlertRuleSet }
  | { readonly type: 'RemoveAlertRule'; readonly rule: string }
  /** Commanded by a process that has found it due. */
  | { readonly type: 'RaiseAlert'; readonly alert: AlertRaised }
  | ({ readonly type: 'ConfirmAlert' } & SentAlert)
  | ({ readonly type: 'RecordAlertFailure'; readonly reason: string } & SentAlert)
