import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startSandbox } from '../../../sandbox/server.ts'
import { parseWitnessKey, witnessKeyText } from '../../../src/audit/cosignature.ts'
import { createSigner, deriveVerifier, type Verifier, verifierText } from '../../../src/audit/note.ts'
import { type Gateway, startGateway } from '../../../src/cli/gateway.ts'
import type { AuditConfig } from '../../../src/config/audit.ts'
import { chat, chatBody, until } from '../../support/clients.ts'
import { prepareDataFolder } from '../../support/clusters.ts'
import { configOf, openOperator, runtime, temporaryFolder } from '../../support/gateway.ts'
import { recordingLogger } from '../../support/log-lines.ts'
import { runProgram } from '../../support/program.ts'
import { framesOf } from '../../support/sealing.ts'
import { startWitness } from '../../support/witnesses.ts'
import { startLitewitness } from '../../witness/litewitness.ts'

const everyMs = 500

/** `make witness` sets it: the witnesses are those that others wrote, which do not show what they have cosigned. */
const outside = process.env['LITEWITNESS']

const startOutside = async (t: Test, program: string, log: Verifier) => {
  const { url, key, stop } = await startLitewitness(program, [log])
  t.teardown(stop)
  return { url, publicKey: witnessKeyText(key) }
}

const signers = {
  a: createSigner('a.test/ledger', Buffer.alloc(32, 1)),
  b: createSigner('b.test/ledger', Buffer.alloc(32, 2)),
}
type Name = keyof typeof signers
const otherOf = (name: Name): Name => (name === 'a' ? 'b' : 'a')

/** A gateway, and beside it a witness of the other one's log. */
const placeOf = async (t: Test, name: Name, sandboxUrl: string) => {
  const folder = await temporaryFolder(t)
  const signer = signers[name]
  const log = deriveVerifier(signers[otherOf(name)])
  const witness =
    outside === undefined
      ? await startWitness(t, folder, '--name', `witness.test/${name}`, '--log', verifierText(log))
      : await startOutside(t, outside, log)
  const logger = recordingLogger()
  const dataFolder = join(folder, 'data')
  await prepareDataFolder(dataFolder)
  const start = (witnesses: AuditConfig['witnesses']): Promise<Gateway> => {
    const known = { sealing: true, origin: signer.name, signer, verifier: deriveVerifier(signer), previous: [] }
    const audit = witnesses === undefined ? known : { ...known, witnesses }
    const config = configOf(dataFolder, sandboxUrl, { config: { audit } })
    return startGateway(config, { ...runtime, logger }, (fault) => t.fail(fault.message))
  }
  const errors = () => logger.lines.filter(({ level }) => level === 'error')
  return { folder, dataFolder, witness, start, logger, errors }
}
type Place = Awaited<ReturnType<typeof placeOf>>

const answer = async (t: Test, { url, demoKey }: Gateway, times: number): Promise<void> => {
  for (let time = 0; time < times; time += 1)
    t.equal((await chat(url, demoKey!, chatBody('openai/plain', false))).status, 200)
}

const verify = async (name: Name, { folder, dataFolder }: Place, by: Place, ...words: readonly string[]) => {
  const audit = {
    origin: signers[name].name,
    public_key: verifierText(deriveVerifier(signers[name])),
    witnesses: { quorum: 1, list: [{ url: by.witness.url, public_key: by.witness.publicKey }] },
  }
  await writeFile(join(folder, 'gateway.yaml'), JSON.stringify({ audit }))
  return runProgram(folder, dataFolder, 'verify', ...words)
}

t.test('a log that is rewritten and sealed with its own key is found by its witness', async (t) => {
  const sandbox = await startSandbox(runtime)
  t.teardown(() => sandbox.stop())
  const [a, b] = [await placeOf(t, 'a', sandbox.url), await placeOf(t, 'b', sandbox.url)]
  const by = ({ witness }: Place) => ({
    quorum: 1,
    everyMs,
    list: [{ url: witness.url, key: parseWitnessKey(witness.publicKey) }],
  })
  const both = [await a.start(by(b)), await b.start(by(a))]
  for (const gateway of both) await answer(t, gateway, 2)
  const operator = await openOperator(configOf(a.dataFolder, sandbox.url, {}))
  const frames = () => framesOf(operator.platform.log)
  await until(async () => (await frames()).some(({ data }) => Buffer.from(data).includes('CheckpointCosigned')))
  await operator.stop()
  for (const gateway of both) await gateway.stop()
  t.same([...a.errors(), ...b.errors()], [])
  for (const [name, place, other] of [
    ['a', a, b],
    ['b', b, a],
  ] as const) {
    const found = await verify(name, place, other, '--json')
    t.match(JSON.parse(found.out), { verdict: 'proven' })
    const { sealed_to: sealedTo, cosigned_to: cosignedTo } = JSON.parse(found.out)
    t.equal(cosignedTo, sealedTo, 'a stop leaves nothing that is not cosigned')
    t.match(await verify(name, place, other), { code: 0, out: /are cosigned by enough witnesses/ })
  }

  await rm(a.dataFolder, { recursive: true })
  await prepareDataFolder(a.dataFolder)
  const rewritten = await a.start(undefined)
  await answer(t, rewritten, 12)
  await rewritten.stop()
  if (outside === undefined)
    t.match(await verify('a', a, b), {
      code: 1,
      out: /log-forked: .* the checkpoint of size \d+ in the witness witness\.test\/b is of another history/,
    })
  t.match(await verify('b', b, a), { code: 0 }, 'the other log is as it was')

  const sent = await a.start(by(b))
  await until(() => a.logger.lines.some(({ event }) => event === 'witness.refused'))
  t.match(a.errors(), [
    { fields: { witness: /^witness\.test\/(b|litewitness)$/, status: 422, reason: /another history/ } },
  ])
  await answer(t, sent, 1)
  await sent.stop()

  await rm(a.dataFolder, { recursive: true })
  await prepareDataFolder(a.dataFolder)
  const shorter = await a.start(by(b))
  await until(() => a.logger.lines.some(({ event }) => event === 'seal.stopped'))
  t.match(a.errors().at(-1), {
    fields: { fault: { message: /has cosigned \d+ frames, and the log ends at frame \d+/ } },
  })
  await answer(t, shorter, 1)
  await shorter.stop()
})
