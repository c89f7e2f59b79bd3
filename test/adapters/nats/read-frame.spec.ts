import { jetstream } from '@nats-io/jetstream'
import t from 'tap'
import { encodeFrame } from '../../../src/events/codec.ts'
import { type EventType, type Fact, wrapEvent } from '../../../src/events/envelope.ts'
import type { AllowedWriters } from '../../../src/log/read-frame.ts'
import { adjustment, bill, hold, openOn, readAll } from './open.ts'
import { NatsServer } from './server.ts'

const server = await NatsServer.create()
t.teardown(() => server.remove())

const credit: Fact = {
  type: 'WalletCredited',
  data: { workspaceId: 'acme', amount: '1000', reference: 'mint', note: '' },
}

const keyOf = (workspaceId: string): Fact => ({
  type: 'KeyIssued',
  data: { keyId: 'key-1', workspaceId, name: 'ci', sha256: '0'.repeat(64), prefix: 'sk-…' },
})
const alias: Fact = { type: 'AliasSet', data: { alias: 'mini', model: null } }

const permittedTypes: AllowedWriters = new Map<string, ReadonlySet<EventType>>([
  ['proxy', new Set(['UsageRecorded'])],
  ['operator', new Set(['WalletCredited'])],
])

/** A frame as anybody could write it whom the server lets publish on the subject. */
const frameOf = (facts: readonly Fact[], source: string): string =>
  encodeFrame(
    { writer: 'w', counter: 1 },
    facts.map((fact, index) => JSON.stringify(wrapEvent(fact, `e-${index}`, source, '2025-01-01T00:00:00.000Z'))),
  )

const cases = [
  { subject: 'journal.proxy', facts: [bill('r')], problem: null },
  { subject: 'journal.proxy', facts: [bill('r'), credit], problem: 'WalletCredited' },
  { subject: 'journal.proxy', facts: [adjustment('a')], problem: 'AdjustmentPosted' },
  { subject: 'journal.operator', facts: [credit], problem: null },
  { subject: 'journal.stranger', facts: [bill('r')], problem: 'UsageRecorded' },
  { subject: 'wallet.acme', facts: [credit, hold('h'), adjustment('a')], problem: null },
  { subject: 'wallet.acme', facts: [bill('r')], problem: 'UsageRecorded' },
  { subject: 'wallet.acme', facts: [hold('h', 'beta')], problem: 'HoldPlaced' },
  { subject: 'wallet.acme', facts: [keyOf('acme')], problem: null },
  { subject: 'wallet.acme', facts: [keyOf('beta')], problem: 'KeyIssued' },
  { subject: 'wallet.acme', facts: [alias], problem: 'AliasSet' },
  { subject: 'journal.proxy', facts: [keyOf('acme')], problem: 'KeyIssued' },
] as const

for (const [index, { subject, facts, problem }] of cases.entries())
  t.test(`${facts.map(({ type }) => type).join(' and ')} on ${subject}: ${problem ?? 'believed'}`, async (t) => {
    const name = `CASE${index}`
    const opened = await openOn(server, { name, permittedTypes })
    t.teardown(opened.close)
    const full = `${name.toLowerCase()}.${subject}`
    await jetstream(opened.connection).publish(full, frameOf(facts, '/gateway/operator/w'))
    if (problem === null) t.equal((await readAll(opened.log)).length, 1)
    else
      await t.rejects(opened.log.follow(1, () => void t.fail('must not be handed on')).done, {
        message: `the frame at sequence 1 cannot be read: ${full} holds a ${problem}, which no writer may put there`,
      })
  })

t.test('what this process has just said itself is held to the same', async (t) => {
  const opened = await openOn(server, { name: 'OWN', role: 'proxy', permittedTypes })
  t.teardown(opened.close)
  await opened.log.append([adjustment('a')])
  await t.rejects(opened.log.follow(1, () => void t.fail('must not be handed on')).done, /AdjustmentPosted/)
})
