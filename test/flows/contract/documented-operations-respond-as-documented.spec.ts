import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createSigner, deriveVerifier } from '../../../src/audit/note.ts'
import { openOperatorPlatform } from '../../../src/cli/platform.ts'
import { parseUsd } from '../../../src/domain/money.ts'
import { pick } from '../../fuzz/mutations.ts'
import { opened, routed, used } from '../../roles/projector/facts.ts'
import { closedMonth, documentedOperations, documentedSheets } from '../../support/documented-operations.ts'
import { runtime, startTestGateway } from '../../support/gateway.ts'
import { invalidOf } from '../../support/invalid-input.ts'
import type { Documented, Sent } from '../../support/openapi-client.ts'
import { randomOf } from '../../support/random.ts'
import { quick, videoOptions } from '../../support/video.ts'

const seed = Number(process.env['OPENAPI_SEED'] ?? Date.now() % 100_000)
/** Invalid requests to each operation. */
const runs = Number(process.env['OPENAPI_RUNS'] ?? 1)
/** Until the tables have followed, and a video is made. */
const followedMs = 60_000
const againMs = 50
const signer = createSigner('gateway.test/ledger', Buffer.alloc(32, 7))
const audit = { sealing: true, origin: signer.name, signer, verifier: deriveVerifier(signer), previous: [] }
const token = 'a-token-of-ana-that-nobody-can-guess'

const start = async (t: Parameters<typeof startTestGateway>[0]) => {
  const admins = [{ name: 'ana', sha256: hash('sha256', token), role: 'owner' as const }]
  const invoicing = { seller: { name: 'Gateway GmbH', address: [] } }
  const approvalAbovePicos = parseUsd('1000')
  const options = videoOptions(documentedSheets, { admins, audit, invoicing, approvalAbovePicos })
  const { gateway, account, config } = await startTestGateway(t, options)
  const clock = (): number => Date.parse(`${closedMonth}-10`)
  const { log, stop } = await openOperatorPlatform(config, { ...runtime, clock }, quick.videoPoller)
  const billed = { workspaceId: 'billed' }
  await log.append([
    { ...opened(), data: { ...opened().data, ...billed } },
    routed('long-ago', billed),
    used('long-ago', billed),
  ])
  await stop()
  const { secret, workspaceId } = account
  return documentedOperations({ url: gateway.url, secret, adminToken: token, workspaceId })
}

t.test('valid requests are served, invalid ones refused, each as the document says', async (t) => {
  t.comment(`OPENAPI_SEED=${seed} OPENAPI_RUNS=${runs}`)
  const { client, send, validOf, onEveryModel, credentialsOf } = await start(t)
  const valid = new Map<Documented, readonly Sent[]>()

  /** As often as it takes for what was made to be there, and to be sealed. */
  const served = async (operation: Documented, sent: Sent): Promise<string> => {
    const giveUpAtMs = Date.now() + followedMs
    for (;;) {
      const received = await send(operation, sent)
      const undocumented = client.undocumented(operation, received)
      if (undocumented !== '') return undocumented
      if (received.status < 400) return ''
      const comes = received.status === 404 || (received.status === 409 && sent.path.endsWith('/proof'))
      if (!comes || Date.now() > giveUpAtMs) return `${received.status}: ${received.text}`
      await pause(againMs)
    }
  }
  for (const operation of client.operations) {
    const all = onEveryModel(operation, await validOf(operation))
    valid.set(operation, all)
    for (const sent of all)
      t.equal(
        await served(operation, sent),
        '',
        `${operation.name} ${sent.path} ${String(sent.body ?? '').slice(0, 100)}`,
      )
  }

  const random = randomOf(seed)
  const statuses = new Map<number, number>()
  for (const [operation, all] of valid)
    for (let run = 0; run < runs; run += 1) {
      const sent = pick(random, all)
      const invalid = invalidOf(client, operation, sent, credentialsOf(operation), random)
      const received = await send(operation, invalid.sent)
      statuses.set(received.status, (statuses.get(received.status) ?? 0) + 1)
      const undocumented = client.undocumented(operation, received)
      if (undocumented !== '') t.fail(`${operation.name}, ${invalid.what}: ${undocumented}`)
      else if (invalid.status !== undefined && invalid.status !== received.status)
        t.fail(`${operation.name}, ${invalid.what}: ${received.status} and not ${invalid.status}`)
      else if (invalid.mustBeRefused === true && received.status < 400)
        t.fail(`${operation.name}, ${invalid.what}: ${received.status}, though it is not what the document asks for`)
    }
  t.comment(JSON.stringify(Object.fromEntries([...statuses].sort(([a], [b]) => a - b))))
  t.ok([400, 401, 404].every((status) => runs < 6 || statuses.has(status)))
})
