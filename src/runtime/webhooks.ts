import { createHmac } from 'node:crypto'

const secretPrefix = 'whsec_'

/** HMAC-SHA256 over `id.timestamp.body` (Standard Webhooks). The secret is base64, its prefix `whsec_` optional. */
export const webhookSignature = (secret: string, id: string, timestampSeconds: number, body: string): string => {
  const key = Buffer.from(secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : secret, 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')}`
}

/** The headers of a signed post of JSON. */
export const webhookHeaders = (secret: string, id: string, nowMs: number, body: string) => {
  const timestamp = Math.floor(nowMs / 1_000)
  return {
    'content-type': 'application/json',
    'user-agent': 'model-gateway',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': webhookSignature(secret, id, timestamp, body),
  }
}
