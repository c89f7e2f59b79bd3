import t from 'tap'
import { tablesOf } from '../../src/commands/platform.ts'
import { replay } from '../../src/commands/replay.ts'
import { Clients, chat, chatBody, until } from '../clients.ts'
import { startTestGateway } from '../gateway.ts'

t.test(
  'the tables are rebuilt from the log under load, compared row by row, and swapped',
  { timeout: 60_000 },
  async (t) => {
    const models = { broken: 'broken;break_after=4', down: 'down;status=503' }
    const { gateway, operator, account } = await startTestGateway(t, { models })
    const kinds = ['openai/plain', 'openai/plain', 'openai/broken', 'openai/down']
    let turn = 0
    const ask = () => {
      turn += 1
      return chat(gateway.url, account.secret, chatBody(kinds[turn % kinds.length]!, turn % 3 === 0))
    }
    const clients = new Clients(8, ask)
    await until(() => clients.journal.length > 200)

    const parts = { log: operator.log, place: tablesOf(operator.platform).place }
    const first = await replay({ ...parts, swap: false })
    t.same(
      first.comparisons.filter(({ differences }) => differences > 0),
      [],
    )
    const requests = first.comparisons.find(({ table }) => table === 'requests')
    t.ok((requests?.rows ?? 0) > 100, `${requests?.rows} requests were compared`)

    const swapped = await replay({ ...parts, swap: true })
    t.match(swapped, { equal: true, swapped: true })
    const before = clients.journal.length
    await until(() => clients.journal.length > before + 100)
    await clients.stop()
    await operator.caughtUp()
    await until(
      async () => (await tablesOf(operator.platform).database.checkpoint()) === (await operator.log.lastSequence()),
    )
    const last = await replay({ ...parts, swap: false })
    t.ok(last.equal, 'the projector went on in the swapped tables')
    t.ok(last.sequence > swapped.sequence)
  },
)
