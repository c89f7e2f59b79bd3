import { createHash } from 'node:crypto'
import type { measureRules } from '../../domain/wallet/alerts.ts'
import { faultCode } from '../../errors/gateway-error.ts'
import { type HttpClient, HttpFault } from '../../providers/http.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Semaphore } from '../../runtime/semaphore.ts'
import { webhookHeaders } from '../../runtime/webhooks.ts'
import { schedulerLimits } from './limits.ts'

type RaisedAlert = ReturnType<typeof measureRules>[number]['rule']['alerts'][number]

interface MailServer {
  readonly url: string
  readonly user?: string
  readonly password?: string
  readonly from: string
}

interface Mail {
  readonly to: string
  readonly messageId: string
  readonly subject: string
  readonly text: string
}

interface AlertDestination {
  /** Signed as Standard Webhooks has it; whatever takes `{"text": …}`; mail. */
  readonly type: 'webhook' | 'slack' | 'email'
  readonly url?: string
  /** Of a webhook. */
  readonly secret?: string
  /** Of mail. */
  readonly to?: string
  readonly smtp?: MailServer
}

/** Resolves when the server has accepted it; the signal ends the connection. */
export type SendMail = (server: MailServer, mail: Mail, signal: AbortSignal) => Promise<void>

interface SenderParts {
  readonly destinations: () => ReadonlyMap<string, AlertDestination>
  readonly http: HttpClient
  readonly sendMail: SendMail
  readonly clock: Clock
}

const units = {
  spend_day: 'USD were spent in the UTC day',
  spend_month: 'USD were spent in the UTC month',
  balance: 'USD is the balance',
  runway_days: 'days is the runway',
  error_rate: '% of requests failed in the UTC hour',
  unreconciled: 'USD of invoices are unreconciled, as recorded on',
} as const satisfies { readonly [M in RaisedAlert['measure']]: string }

const textOf = ({ workspaceId, keyId, tag, rule, measure, threshold, figure, period }: RaisedAlert): string => {
  const of = keyId === undefined ? '' : ` (key ${keyId})`
  const tagged = tag === undefined ? '' : ` (tag ${tag})`
  return `${workspaceId}${of}${tagged}: ${figure} ${units[measure]} ${period}; the threshold of ${rule} is ${threshold}.`
}

const webhookBody = ({
  destinations,
  deliveredTo,
  failures,
  workspaceId,
  alertId,
  keyId,
  tag,
  raisedAt,
  ...alert
}: RaisedAlert) =>
  JSON.stringify({
    type: 'alert.raised',
    timestamp: raisedAt,
    data: { id: alertId, workspace: workspaceId, ...alert, key_id: keyId ?? null, tag: tag ?? null },
  })

const contentOf = (
  { type, secret = '' }: AlertDestination,
  alert: RaisedAlert,
  nowMs: number,
): { readonly body: string; readonly headers: Readonly<Record<string, string>> } => {
  if (type === 'slack')
    return { body: JSON.stringify({ text: textOf(alert) }), headers: { 'content-type': 'application/json' } }
  const body = webhookBody(alert)
  return { body, headers: webhookHeaders(secret, alert.alertId, nowMs, body) }
}

/** A server or reader of mail drops a second one with the same id; an alert's own may have characters that no such id has. */
const mailOf = (alert: RaisedAlert, to: string, { from }: MailServer): Mail => ({
  to,
  messageId: `<${createHash('sha256').update(alert.alertId).digest('hex').slice(0, 32)}${from.slice(from.lastIndexOf('@'))}>`,
  subject: textOf(alert),
  text: `${textOf(alert)}\n\nAlert ${alert.alertId}, raised at ${alert.raisedAt}.\n`,
})

const untilLate = (signal: AbortSignal): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(schedulerLimits.alertSendMs)])

const connections = new Semaphore(schedulerLimits.mailsAtOnceMax)

const sendByMail = async (
  { sendMail }: SenderParts,
  { to, smtp }: AlertDestination,
  alert: RaisedAlert,
  signal: AbortSignal,
): Promise<string | null> => {
  if (to === undefined || smtp === undefined) return 'it is not configured'
  try {
    await connections.run(to, () => sendMail(smtp, mailOf(alert, to, smtp), untilLate(signal)))
    return null
  } catch (fault) {
    return String(faultCode(fault) ?? 'it cannot be sent')
  }
}

/** Null once it is accepted, else why it is not, without the address: its owner may have put a secret in it. */
export const sendAlert = async (
  parts: SenderParts,
  name: string,
  alert: RaisedAlert,
  signal: AbortSignal,
): Promise<string | null> => {
  const destination = parts.destinations().get(name)
  if (destination === undefined) return 'it is not configured'
  if (destination.type === 'email') return sendByMail(parts, destination, alert, signal)
  try {
    const response = await parts.http.request({
      url: destination.url ?? '',
      method: 'POST',
      ...contentOf(destination, alert, parts.clock()),
      signal: untilLate(signal),
      firstByteTimeoutMs: schedulerLimits.alertSendMs,
    })
    response.discard()
    return response.status >= 200 && response.status < 300 ? null : `status ${response.status}`
  } catch (fault) {
    return fault instanceof HttpFault ? fault.kind : 'it cannot be sent'
  }
}
