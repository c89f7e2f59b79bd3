import t from 'tap'
import { startSandbox } from '../../../sandbox/server.ts'
import { createSigner, deriveVerifier } from '../../../src/audit/note.ts'
import { startGateway } from '../../../src/cli/gateway.ts'
import { chat, chatBody, until } from '../../support/clients.ts'
import { startExternalServers } from '../../support/external-servers.ts'
import { configOf, openOperator, runtime, temporaryFolder, untilKeyIsKnown } from '../../support/gateway.ts'
import type { LogLine } from '../../support/log-lines.ts'
import { recordingLogger } from '../../support/log-lines.ts'
import { checkpointsOf } from '../../support/sealing.ts'

const origin = 'gateway.test/ledger'
const signer = createSigner(origin, Buffer.alloc(32, 7))
const audit = { sealing: true, origin, signer, verifier: deriveVerifier(signer), previous: [] }

t.test('a gateway that starts while PostgreSQL is away serves and bills from a snapshot', async (t) => {
  const { direct, postgres } = await startExternalServers(t)
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const config = configOf(await temporaryFolder(t), sandbox.url, {
    config: { external: direct, audit, firstSeal: true },
  })
  const start = async (lines: LogLine[] = []) => {
    const logger = recordingLogger(lines)
    return startGateway(config, { ...runtime, logger }, (fault) => t.fail(fault.message))
  }
  const first = await start()
  const operator = await openOperator(config)
  t.teardown(() => operator.stop())
  const account = await operator.openAccount('acme', '100')
  await untilKeyIsKnown(first.url, account)
  t.equal((await chat(first.url, account.secret, chatBody('openai/plain', false))).status, 200)
  const { log } = operator.platform
  await until(async () => (await checkpointsOf(log)).length > 0)
  await first.stop()
  const [head] = await operator.platform.snapshots.list()
  t.ok(head)

  await postgres.stop()
  const lines: LogLine[] = []
  const second = await start(lines)
  t.match(
    lines.find(({ event }) => event === 'ledger.restored'),
    { fields: { sequence: head!.sequence } },
  )
  t.notOk(lines.some(({ event }) => event === 'ledger.replayed'))
  t.equal((await chat(second.url, account.secret, chatBody('openai/plain', false))).status, 200)
  await operator.caughtUp()
  t.equal((await operator.events()).filter(({ type }) => type === 'UsageRecorded').length, 2)
  await postgres.start()
  const { checkpoint } = operator.platform.tables!.database
  await until(async () => (await checkpoint()) >= head!.sequence)
  await second.stop()
})
