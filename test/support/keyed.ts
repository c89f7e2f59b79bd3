import { formatUsd } from '../../src/domain/money.ts'
import { chatBody } from './clients.ts'
import { type Operator, sheetOf } from './gateway.ts'

/** What an answer of `openai/exact` costs: 20 words at 2 USD per million; the prompt is free. */
export const exactUsd = '0.00004'
const answerTokens = 20

/** Models of a test with idempotency keys: an answer at once, one after 400 ms, and a long stream. All cost the same. */
export const keyedOptions = {
  models: {
    exact: `exact;output_tokens=${answerTokens}`,
    slow: `slow;output_tokens=${answerTokens};delay_ms=400`,
    trickle: `trickle;output_tokens=${answerTokens};chunk_delay_ms=50`,
  },
  sheets: Object.fromEntries(
    ['exact', 'slow', 'trickle'].map((name) => [
      `openai/${name}`,
      sheetOf({ per_million_tokens: { input: '0', output: '2' } }),
    ]),
  ),
} as const

/** What a client saw of a request with a key; null where the connection broke. */
export interface KeyedAnswer {
  readonly status: number
  readonly text: string
  readonly requestId: string | null
  readonly originalId: string | null
  readonly isReplayed: boolean
  readonly shouldRetry: string | null
  readonly retryAfter: string | null
  readonly code: string | null
}

const codeIn = (text: string): string | null => /"code":"([a-z_]+)"/.exec(text)?.[1] ?? null

const answerOf = async (response: Response): Promise<KeyedAnswer> => {
  const { status, headers } = response
  const text = await response.text()
  return {
    status,
    text,
    requestId: headers.get('x-gateway-request-id'),
    originalId: headers.get('x-gateway-original-request-id'),
    isReplayed: headers.get('idempotent-replayed') === 'true',
    shouldRetry: headers.get('x-should-retry'),
    retryAfter: headers.get('retry-after'),
    code: status === 200 ? null : codeIn(text),
  }
}

export interface Keyed {
  readonly url: string
  readonly secret: string
  readonly key: string
  readonly body: string
  readonly path?: string
}

export const askKeyed = async ({
  url,
  secret,
  key,
  body,
  path = '/v1/chat/completions',
}: Keyed): Promise<KeyedAnswer | null> => {
  try {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
        'idempotency-key': key,
      },
      body,
    })
    return await answerOf(response)
  } catch {
    return null
  }
}

export const exactBody = (stream = false, model = 'exact'): string => chatBody(`openai/${model}`, stream, answerTokens)

/** What a workspace has paid, what was given back taken off. */
export const netUsd = async (operator: Operator, workspaceId: string): Promise<string> => {
  await operator.caughtUp()
  const { chargesPicos, adjustmentsPicos } = operator.tail.ledger.wallets.get(workspaceId)!
  return formatUsd(chargesPicos - adjustmentsPicos)
}
