import type { PriceFile } from '../../src/domain/pricing/price-file.ts'
import type { SimKeys } from './keys.ts'
import type { AdminAction } from './plan.ts'
import { vendorUnitsPerSecond } from './vendor.ts'

interface AdminRequest {
  readonly method: string
  readonly path: string
  readonly body: object
}

/** Of every model, from an instant on that rises with the version. */
export const pricesWith = (output: string, version: number): PriceFile => {
  const effective_from = new Date(Date.parse('2026-01-01T00:00:00Z') + version * 60_000).toISOString()
  const common = { effective_from, source: 'a simulation' }
  const units_per_second = { std: String(vendorUnitsPerSecond), pro: '0.8' }
  return {
    prices: [
      ...['openai/plain', 'grok/plain'].map((model) => ({
        ...common,
        model,
        sheet: {
          currency: 'USD' as const,
          per_million_tokens: { input: '10', output: model === 'grok/plain' ? `${output}1` : output },
          max_output_tokens: 3_000,
        },
      })),
      { ...common, model: 'vv/v3', video: { currency: 'USD' as const, unit_price: `0.${output}`, units_per_second } },
    ],
  }
}

const expiry = (nowMs: number, afterMs: number | null): { readonly expires_at?: string } =>
  afterMs === null ? {} : { expires_at: new Date(nowMs + afterMs).toISOString() }

const ofKey = (action: AdminAction & { type: 'revoke_key' | 'rotate_key' }, keys: SimKeys): AdminRequest | null => {
  const { workspace, draw } = action
  // The limited key is rotated too: its limit and what was spent of it bind the fresh one.
  const key = keys.draw(workspace, draw) ?? (action.type === 'rotate_key' ? keys.limited(workspace) : undefined)
  if (key === undefined) return null
  const path = `/admin/v1/keys/${key.keyId}`
  return action.type === 'revoke_key'
    ? { method: 'POST', path: `${path}/revoke`, body: {} }
    : { method: 'POST', path: `${path}/rotate`, body: { grace_seconds: action.graceSeconds } }
}

/** Null where it names a key that does not exist yet. */
export const adminRequest = (action: AdminAction, keys: SimKeys, nowMs: number): AdminRequest | null => {
  const id = 'workspace' in action ? `workspace-${action.workspace}` : ''
  const workspace = `/admin/v1/workspaces/${id}`
  switch (action.type) {
    case 'credit': {
      const { usd: amount, reference, lapsesAfterMs } = action
      return {
        method: 'POST',
        path: `${workspace}/credits`,
        body: { amount, reference, ...expiry(nowMs, lapsesAfterMs) },
      }
    }
    case 'limits': {
      const { requestsPerMinute: limit } = action
      return {
        method: 'PUT',
        path: `${workspace}/limits`,
        body: limit === null ? {} : { requests_per_minute: limit },
      }
    }
    case 'key_limits': {
      const { keyId } = keys.limited(action.workspace)
      return { method: 'PUT', path: `${workspace}/keys/${keyId}/limits`, body: { spend: { total: action.usd } } }
    }
    case 'price':
      return { method: 'POST', path: '/admin/v1/prices', body: pricesWith(action.output, action.version) }
    case 'subscribe':
      return {
        method: 'PUT',
        path: `${workspace}/subscription`,
        body: { plan: action.plan, subscription_id: action.id },
      }
    case 'cancel_plan':
      return { method: 'DELETE', path: `${workspace}/subscription`, body: {} }
    case 'credit_limit':
      return { method: 'PATCH', path: workspace, body: { credit_limit: action.usd } }
    case 'issue_key': {
      const { name, expiresAfterMs } = action
      return { method: 'POST', path: '/admin/v1/keys', body: { workspace: id, name, ...expiry(nowMs, expiresAfterMs) } }
    }
    case 'revoke_key':
    case 'rotate_key':
      return ofKey(action, keys)
  }
}
