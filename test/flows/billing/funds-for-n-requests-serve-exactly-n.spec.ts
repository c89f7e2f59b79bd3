import t from 'tap'
import { formatUsd } from '../../../src/domain/money.ts'
import { balancePicos } from '../../../src/domain/wallet/wallet.ts'
import { chat, chatBody, type Seen } from '../../support/clients.ts'
import { type Account, sheetOf, startTestGateway } from '../../support/gateway.ts'

const clients = 500
const paidFor = 120
/** So few that all are answered, one after another, before the last has waited for as long as a request waits for money. */
const roomyFor = 20

// Each answer costs 20 words at 2 USD per million; the prompt is free, so that the worst case is the cost.
const exact = sheetOf({ per_million_tokens: { input: '0', output: '2' } })
const answerTokens = 20
const costPicos = BigInt(answerTokens) * 2_000_000n

const askTogether = (url: string, { secret }: Account, model: string): Promise<readonly Seen[]> =>
  Promise.all(Array.from({ length: clients }, () => chat(url, secret, chatBody(model, false, answerTokens))))

t.test('500 clients on money for exactly N', async (t) => {
  const { gateway, operator } = await startTestGateway(t, {
    models: { exact: `exact;output_tokens=${answerTokens}`, roomy: `roomy;completion_tokens=${answerTokens}` },
    sheets: {
      'openai/exact': exact,
      'openai/roomy': sheetOf({ per_million_tokens: { input: '0', output: '2' }, max_output_tokens: 4 * answerTokens }),
    },
  })

  t.test('where the worst case is the cost, exactly N are answered and the others get 402', async (t) => {
    const account = await operator.openAccount('exactly', formatUsd(costPicos * BigInt(paidFor)))
    const seen = await askTogether(gateway.url, account, 'openai/exact')
    t.equal(seen.filter(({ status, complete }) => status === 200 && complete).length, paidFor)
    t.same([...new Set(seen.map(({ status }) => status))].sort(), [200, 402])
    await operator.caughtUp()
    t.equal(balancePicos(operator.tail.ledger.wallets.get('exactly')!), 0n)
  })

  t.test('where the worst case is four times the cost, nobody is refused while money is only reserved', async (t) => {
    const account = await operator.openAccount('roomy', formatUsd(costPicos * BigInt(roomyFor)))
    const seen = await Promise.all(
      Array.from({ length: roomyFor }, () =>
        chat(gateway.url, account.secret, chatBody('openai/roomy', false, 4 * answerTokens)),
      ),
    )
    t.equal(seen.filter(({ status }) => status === 200).length, roomyFor)
    await operator.caughtUp()
    t.equal(balancePicos(operator.tail.ledger.wallets.get('roomy')!), 0n)
    t.equal((await chat(gateway.url, account.secret, chatBody('openai/roomy', false, 4 * answerTokens))).status, 402)
  })

  t.test('the wallet never went below zero, and every hold that was placed was covered', async (t) => {
    for (const { holds, heldPicos } of operator.tail.ledger.wallets.values()) {
      t.ok(heldPicos >= 0n)
      for (const { remainingPicos } of holds.values()) t.ok(remainingPicos >= 0n)
    }
  })
})
