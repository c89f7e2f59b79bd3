import t from 'tap'
import { formatUsd } from '../../../src/domain/money.ts'
import { availablePicos } from '../../../src/domain/wallet/wallet.ts'
import { chat, chatBody, until } from '../../support/clients.ts'
import { runtime, startTestGateway } from '../../support/gateway.ts'

t.test('what an edge leaves behind goes back at its deadline, what it does not need goes back at once', async (t) => {
  const { gateway, operator, account } = await startTestGateway(t)
  const wallet = () => operator.tail.ledger.wallets.get(account.workspaceId)!
  const releases = async (holdId: string) =>
    (await operator.events()).filter((event) => event.type === 'HoldReleased' && event.data.holdId === holdId)

  t.test('a dead edge: the scheduler releases its allowance, once, and not before the deadline', async (t) => {
    const holdId = runtime.newId()
    const deadlineMs = runtime.clock() + 700
    const { workspaceId } = account
    const data = {
      holdId,
      workspaceId,
      purpose: 'allowance',
      amount: '40',
      deadline: new Date(deadlineMs).toISOString(),
      owner: 'dead',
    } as const
    const appended = await operator.log.appendToWallet(
      workspaceId,
      [{ type: 'HoldPlaced', data }],
      wallet().subjectSequence,
    )
    t.notMatch(appended, { conflict: true })
    await operator.tail.waitForSequence(appended.sequence)
    t.equal(formatUsd(availablePicos(wallet())), '60')
    await until(async () => (await releases(holdId)).length > 0)
    t.ok(runtime.clock() >= deadlineMs)
    await operator.caughtUp()
    t.equal(formatUsd(availablePicos(wallet())), '100')
    const [release, ...more] = await releases(holdId)
    t.match(release, { data: { reason: 'expired' } })
    t.same(more, [])
  })

  t.test('a living edge: an idle allowance is returned, and nothing stays held', async (t) => {
    t.equal((await chat(gateway.url, account.secret, chatBody('openai/plain', false))).status, 200)
    await until(async () => {
      await operator.caughtUp()
      return wallet().chargesPicos > 0n && wallet().heldPicos === 0n
    })
    const events = await operator.events()
    const placed = events.filter((event) => event.type === 'HoldPlaced' && event.data.owner !== 'dead')
    const returned = events.filter((event) => event.type === 'HoldReleased' && event.data.reason === 'returned')
    t.equal(placed.length, returned.length)
  })
})
