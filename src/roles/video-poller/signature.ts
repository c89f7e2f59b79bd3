import { createHmac } from 'node:crypto'

const secretPrefix = 'whsec_'

/**
 * The `webhook-signature` of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`. The secret is base64, with or
 * without its prefix `whsec_`; the timestamp is in whole seconds.
 */
export const webhookSignature = (secret: string, id: string, timestampSeconds: number, body: string): string => {
  const key = Buffer.from(secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : secret, 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')}`
}
