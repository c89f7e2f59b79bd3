import type { Fact } from './envelope.ts'

/** Of what this release reads and writes. Raised with the first type, member or version that the release before cannot read. */
export const logFormat = 2

/** By type, or type and member, the format from which on it is written; the others are of format 1. */
const introducedIn: ReadonlyMap<string, number> = new Map(
  [
    'AlertRuleSet',
    'AlertRuleRemoved',
    'AlertRaised',
    'AlertDelivered',
    'AlertDeliveryFailed',
    'AdjustmentProposed',
    'AdjustmentApproved',
    'AdjustmentRejected',
    'CallbackFailed',
    'InvoiceIssued',
    'InvoiceReconciled',
    'PeriodClosed',
    'PeriodCutOff',
    'PeriodReopened',
    'RefusalsCounted',
    'WorkspaceClosed',
    'WorkspaceResumed',
    'WorkspaceSuspended',
    'AdjustmentPosted.tags',
    'AdjustmentPosted.endUser',
    'HoldPlaced.tags',
    'HoldPlaced.endUser',
    'KeyIssued.origins',
    'LimitsSet.tag',
    'LimitsSet.endUser',
    'WorkspaceChanged.account',
    'WorkspaceOpened.account',
  ].map((name) => [name, 2]),
)

/** Of an older format these are left out: they count only for limits that it cannot have. */
const leftOut: ReadonlySet<string> = new Set(['AdjustmentPosted.tags', 'AdjustmentPosted.endUser'])

const formatOf = (name: string): number => introducedIn.get(name) ?? 1

/** As a log of that format can have it. `unwritable` names what it cannot have. */
export const fitToFormat = (fact: Fact, format: number): Fact | { readonly unwritable: string } => {
  if (formatOf(fact.type) > format) return { unwritable: fact.type }
  const beyond = Object.keys(fact.data).filter((member) => formatOf(`${fact.type}.${member}`) > format)
  if (beyond.length === 0) return fact
  const unwritable = beyond.find((member) => !leftOut.has(`${fact.type}.${member}`))
  if (unwritable !== undefined) return { unwritable: `${fact.type}.${unwritable}` }
  const kept = Object.entries(fact.data).filter(([member]) => !beyond.includes(member))
  return { ...fact, data: Object.fromEntries(kept) } as Fact
}

/** Throws where a later release has raised the format beyond what this one reads. */
export const assertReadableFormat = (format: number): void => {
  if (format > logFormat)
    throw new Error(
      `the log has format ${format}, and this release reads it up to format ${logFormat}: start the release that finished the upgrade, or a later one`,
    )
}
