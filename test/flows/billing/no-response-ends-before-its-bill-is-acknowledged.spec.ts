import t from 'tap'
import { balancePicos } from '../../../src/domain/wallet/wallet.ts'
import type { Event } from '../../../src/events/envelope.ts'
import { chat, chatBody, until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { startTestGateway } from '../../support/gateway.ts'

const ofRequest = (events: readonly Event[], type: Event['type'], requestId: string | null): readonly Event[] =>
  events.filter((event) => event.type === type && 'requestId' in event.data && event.data.requestId === requestId)

t.test('the acknowledgement of a bill comes late, never, or after another writer', async (t) => {
  const { wire, throughWire, direct } = await startExternalServers(t)
  const { gateway, operator, account, sandbox } = await startTestGateway(t, {
    models: { slow: 'slow;delay_ms=400', quick: 'quick' },
    config: { external: throughWire },
    operatorConfig: { external: direct },
  })
  const ask = (model: string, stream: boolean, secret = account.secret) =>
    chat(gateway.url, secret, chatBody(model, stream))
  const callsOf = (model: string): number =>
    sandbox.calls().filter(({ upstreamModel }) => upstreamModel?.startsWith(model)).length
  const reachesUpstream = (model: string, count: number): Promise<void> => until(() => callsOf(model) >= count)
  t.equal((await ask('openai/slow', false)).status, 200)

  t.test('late: the answer waits for it', async (t) => {
    for (const stream of [false, true]) {
      const calls = callsOf('slow')
      const asked = ask('openai/slow', stream)
      await reachesUpstream('slow', calls + 1)
      wire.holdReplies()
      let ended = false
      void asked.then(() => {
        ended = true
      })
      const bills = async () => (await operator.events()).filter(({ type }) => type === 'UsageRecorded').length
      const before = await bills()
      await until(async () => (await bills()) > before)
      t.notOk(ended, 'the bill is stored, and the answer still waits')
      wire.passReplies()
      t.match(await asked, { status: 200, complete: true })
    }
  })

  t.test('lost with the connection: the same frame is sent again, and counts once', async (t) => {
    const calls = callsOf('slow')
    const asked = ask('openai/slow', false)
    await reachesUpstream('slow', calls + 1)
    wire.dropReplies()
    const bills = async () => (await operator.events()).filter(({ type }) => type === 'UsageRecorded').length
    const before = await bills()
    await until(async () => (await bills()) > before)
    wire.cut()
    wire.passReplies()
    const seen = await asked
    t.match(seen, { status: 200, complete: true })
    t.equal(ofRequest(await operator.events(), 'UsageRecorded', seen.requestId).length, 1)
  })

  t.test('never in time: the client gets an error, and what was not delivered is given back', async (t) => {
    const calls = callsOf('slow')
    const asked = ask('openai/slow', false)
    await reachesUpstream('slow', calls + 1)
    wire.holdReplies()
    const seen = await asked
    t.equal(seen.status, 503)
    wire.passReplies()
    await until(async () => (await operator.events()).some(({ type }) => type === 'AdjustmentPosted'))
    const events = await operator.events()
    const [bill] = ofRequest(events, 'UsageRecorded', seen.requestId)
    const adjustment = events.find(({ type }) => type === 'AdjustmentPosted')
    t.match(adjustment?.data, {
      corrects: seen.requestId,
      reason: 'undelivered',
      amount: bill?.type === 'UsageRecorded' ? bill.data.total : '?',
    })
  })

  t.test('a hold whose acknowledgement was lost, and another writer came behind it', async (t) => {
    const fresh = await operator.openAccount('fresh', '1')
    await until(
      async () =>
        (
          await fetch(`${gateway.url}/v1/dashboard/billing/usage`, {
            headers: { authorization: `Bearer ${fresh.secret}` },
          })
        ).status !== 401,
    )
    wire.dropReplies()
    const asked = ask('openai/quick', false, fresh.secret)
    const holds = async () =>
      (await operator.events()).filter((event) => event.type === 'HoldPlaced' && event.data.workspaceId === 'fresh')
        .length
    await until(async () => (await holds()) === 1)
    await operator.caughtUp()
    await operator.credit('fresh', '2', 'behind-the-hold')
    wire.cut()
    wire.passReplies()
    t.match(await asked, { status: 200, complete: true })
    t.equal(await holds(), 1, 'the hold was found behind, not placed again')
    t.ok(balancePicos(operator.tail.ledger.wallets.get('fresh')!) > 0n)
  })
})
