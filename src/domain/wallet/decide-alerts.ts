import type { AlertRuleSet } from '../../events/types.ts'
import type { AlertCommand, AlertFact, WatchedRule } from './alerts.ts'
import { walletLimits } from './limits.ts'
import type { WalletDraft } from './wallet.ts'

const settings = ['measure', 'threshold', 'keyId', 'tag'] as const satisfies readonly (keyof AlertRuleSet)[]

const isSame = (rule: AlertRuleSet, before: WatchedRule | undefined): boolean =>
  before !== undefined &&
  settings.every((name) => rule[name] === before[name]) &&
  rule.destinations.join() === before.destinations.join()

/** Undefined where the destination has it, or nothing waits for it any more. */
const findUndelivered = (
  { alertRules }: Pick<WalletDraft, 'alertRules'>,
  { rule, alertId, destination }: { readonly rule: string; readonly alertId: string; readonly destination: string },
) => alertRules.get(rule)?.alerts.find((each) => each.alertId === alertId && !each.deliveredTo.includes(destination))

/** A repeated command adds nothing: several schedulers raise one alert. */
export const decideAlerts = (
  command: AlertCommand,
  { workspaceId, alertRules }: WalletDraft,
): { readonly facts: readonly AlertFact[] } => {
  switch (command.type) {
    case 'SetAlertRule':
      return {
        facts: isSame(command.rule, alertRules.get(command.rule.rule))
          ? []
          : [{ type: 'AlertRuleSet', data: command.rule }],
      }
    case 'RemoveAlertRule': {
      const { rule } = command
      return { facts: alertRules.has(rule) ? [{ type: 'AlertRuleRemoved', data: { workspaceId, rule } }] : [] }
    }
    case 'RaiseAlert': {
      const rule = alertRules.get(command.alert.rule)
      const isRaised = rule?.alerts.some(({ alertId }) => alertId === command.alert.alertId)
      return { facts: isRaised === false ? [{ type: 'AlertRaised', data: command.alert }] : [] }
    }
    case 'ConfirmAlert': {
      const { rule, alertId, destination } = command
      if (findUndelivered({ alertRules }, command) === undefined) return { facts: [] }
      return { facts: [{ type: 'AlertDelivered', data: { workspaceId, alertId, rule, destination } }] }
    }
    case 'RecordAlertFailure': {
      const { rule, alertId, destination, reason } = command
      const alert = findUndelivered({ alertRules }, command)
      if (alert === undefined) return { facts: [] }
      const known = (alert.failures ?? []).filter((each) => each.destination === destination)
      const isKnown = known.some((each) => each.reason === reason)
      if (isKnown || known.length >= walletLimits.alertFailureReasonsMax) return { facts: [] }
      return { facts: [{ type: 'AlertDeliveryFailed', data: { workspaceId, alertId, rule, destination, reason } }] }
    }
  }
}
