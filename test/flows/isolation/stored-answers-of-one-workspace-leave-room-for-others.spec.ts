import t from 'tap'
import { until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { untilKeyIsKnown } from '../../support/gateway.ts'
import { askKeyed, exactBody, keyedOptions, netUsd } from '../../support/keyed.ts'
import { startRolesTogether } from '../../support/roles-together.ts'

/** Room for one answer of the largest size, beside some hundred small ones. */
const quotaBytes = 600_000
const keysMax = 1_000

t.test(
  'two edges: a full workspace is refused before it pays, replays go on, and its neighbour is served',
  async (t) => {
    const { direct } = await startExternalServers(t)
    const bounds = { edge: { workspaceOutcomeBytesMax: quotaBytes } }
    const options = { ...keyedOptions, external: direct, counts: { edge: 2 }, bounds }
    const { urls, operator } = await startRolesTogether(t, options)
    const [one = '', other = ''] = urls
    const accounts = [
      await operator.openAccount('full', '100'),
      await operator.openAccount('neighbour', '100'),
    ] as const
    for (const url of urls) for (const account of accounts) await untilKeyIsKnown(url, account)
    const [full, neighbour] = accounts
    const ask = (url: string, { secret }: { readonly secret: string }, key: string, body = exactBody()) =>
      askKeyed({ url, secret, key, body })

    const failing = exactBody(false, 'absent')
    for (let place = 0; place < 20; place += 1)
      t.equal((await ask(one, full, `refused-${place}`, failing))?.status, 404)

    let stored = 0
    for (; stored < keysMax; stored += 1) {
      const answer = await ask(one, full, `key-${stored}`)
      if (answer?.status === 200) continue
      t.match(answer, { status: 429, code: 'idempotency_quota_exceeded' })
      t.ok(Number(answer?.retryAfter) > 3_600)
      break
    }
    t.comment(`${stored} answers in ${quotaBytes} bytes`)
    t.ok(stored > 20 && stored < keysMax)
    const paid = await netUsd(operator, full.workspaceId)
    await until(async () => (await ask(other, full, 'new'))?.status === 429) // What the first edge had leased is back.
    t.match(await ask(other, full, 'key-0'), { status: 200, isReplayed: true }, 'what was paid is replayed')
    t.match(await ask(one, full, `key-${stored - 1}`), { status: 200, isReplayed: true })
    t.match(await ask(one, neighbour, 'mine'), { status: 200, isReplayed: false })
    await until(async () => (await ask(other, neighbour, 'mine too'))?.status === 200) // Of so small a quota an edge leases all.
    t.equal(await netUsd(operator, full.workspaceId), paid, 'refusals and replays cost nothing')
  },
)
