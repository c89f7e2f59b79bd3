/** The month of docs/examples/month: two workspaces, six requests, a plan, credit that lapses and a correction. */
import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import type { Fact } from '../../src/events/envelope.ts'
import {
  adjusted,
  creditExpired,
  credited,
  creditedUntil,
  opened,
  planSubscribed,
  routed,
  used,
} from '../roles/projector/facts.ts'

export const exampleMonth = '2026-09'
const month = exampleMonth

export const exampleConfig = `tags: [team]
invoices:
  seller: { name: Gateway GmbH, address: ["Hauptstr. 1, 10115 Berlin"], tax_id: DE123456789 }
  tax_rate: "19"
  buyers: { acme: { name: Acme GmbH, address: ["Marktplatz 5, 20095 Hamburg"] } }
`

const prices = {
  'openai/gpt-4.1': ['0.000002', '0.000008'],
  'anthropic/claude-sonnet-5': ['0.000003', '0.000015'],
} as const

interface ExampleRequest {
  readonly workspaceId: string
  readonly model: keyof typeof prices
  readonly day: number
  readonly tokens: readonly [number, number]
  readonly team?: string
}

const requests: readonly ExampleRequest[] = [
  { workspaceId: 'acme', model: 'openai/gpt-4.1', day: 3, tokens: [120_000, 8_000], team: 'search' },
  { workspaceId: 'acme', model: 'openai/gpt-4.1', day: 3, tokens: [40_000, 2_500], team: 'support' },
  { workspaceId: 'north', model: 'openai/gpt-4.1', day: 4, tokens: [64_000, 1_000] },
  { workspaceId: 'acme', model: 'anthropic/claude-sonnet-5', day: 11, tokens: [200_000, 30_000], team: 'search' },
  { workspaceId: 'north', model: 'anthropic/claude-sonnet-5', day: 12, tokens: [9_000, 700] },
  { workspaceId: 'acme', model: 'anthropic/claude-sonnet-5', day: 24, tokens: [310_000, 12_345], team: 'support' },
]

const factsOf = ({ workspaceId, model, tokens, team }: ExampleRequest, place: number): readonly Fact[] => {
  const requestId = `request-${place + 1}`
  const lines = (['input', 'output'] as const).map((item, each) => ({
    ...{ item, quantity: tokens[each]!, unitPrice: prices[model][each]! },
    amount: formatUsd(BigInt(tokens[each]!) * parseUsd(prices[model][each]!)),
  }))
  const total = formatUsd(lines.reduce((sum, { amount }) => sum + parseUsd(amount), 0n))
  const provider = model.slice(0, model.indexOf('/'))
  const keyId = `key-of-${team ?? workspaceId}`
  const served = { model, provider, outcome: 'served', status: 200, reason: null, durationMs: 812 } as const
  const attempts = [{ ...served, upstreamRequestId: `req_${place + 1}` }]
  return [
    routed(requestId, { workspaceId, keyId, model, reserved: '5', tags: team === undefined ? {} : { team } }),
    used(requestId, { workspaceId, keyId, model, provider, lines, total, reserved: '5', attempts }),
  ]
}

const goodwill = (workspaceId: string, requestId: string, amount: string): Fact => {
  const { type, data } = adjusted(`goodwill-${requestId}`, amount, workspaceId)
  return { type, data: { ...data, reason: 'goodwill', corrects: requestId, note: 'The answer came late.' } }
}

/** Puts facts of a day of the month, at half past nine, into the log; those of a wallet on its subject. */
type Post = (atMs: number, facts: readonly Fact[], wallet?: string) => Promise<void>

/** `acme` is there already. */
export const postExampleMonth = async (postAt: Post): Promise<void> => {
  const post = (day: number, facts: readonly Fact[], wallet?: string): Promise<void> =>
    postAt(Date.UTC(2026, 8, day, 9, 30), facts, wallet)
  await post(1, [opened('north', '0')])
  await post(1, [credited('bank-4711', '50', 'acme')], 'acme')
  await post(1, [credited('bank-4712', '5', 'north')], 'north')
  const plan = planSubscribed('acme-team', [`${month}-02`, '2099-01-01'], { price: '20', includedCredit: '5' })
  await post(2, [plan], 'acme')
  for (const [place, request] of requests.entries()) await post(request.day, factsOf(request, place))
  // At once: the gateway's scheduler, whose clock is the present, would end a credit that was alone in the log.
  const promotion = [
    creditedUntil('promotion', '2026-09-25T09:30:00Z', '3', 'north'),
    creditExpired('promotion', '3', 'north'),
  ]
  await post(25, promotion, 'north')
  await post(28, [goodwill('acme', 'request-6', '0.25')], 'acme')
}
