import t from 'tap'
import { cosign, type WitnessKey, witnessKeyOf } from '../../src/audit/cosignature.ts'
import { GrowingTree, hashFrame } from '../../src/audit/merkle.ts'
import { createSigner, deriveVerifier, type Signer, signCheckpoint, splitNote } from '../../src/audit/note.ts'
import { SealBuilder, signSeal } from '../../src/audit/seal.ts'
import { verifyLog } from '../../src/audit/verify.ts'
import { resolveWitnesses } from '../../src/cli/witness-options.ts'
import { opened } from '../roles/projector/facts.ts'
import { MemoryLog, rawFrameOf } from '../support/memory-log.ts'

const signer = createSigner('example.com/log', Buffer.alloc(32, 7))
const witnesses = ['w1', 'w2', 'w3'].map((name, place) => createSigner(name, Buffer.alloc(32, place + 1)))
const keys = witnesses.map((each) => witnessKeyOf(each.name, deriveVerifier(each).publicKey))
const minuteMs = 60_000

/** A log whose frames are stored a second after each other. */
class SealedMemoryLog {
  readonly log = new MemoryLog({ checksSchemas: true })
  #sealing = new SealBuilder()

  async write(count: number, word = 'one'): Promise<void> {
    for (let frame = 0; frame < count; frame += 1) await this.log.append([opened(`${word}-${this.log.frames.length}`)])
  }

  async seal(): Promise<number> {
    for (const frame of this.log.frames.slice(this.#sealing.size)) this.#sealing.take(rawFrameOf(frame))
    const data = signSeal(this.#sealing.next(), signer)
    await this.log.append([{ type: 'CheckpointSealed', data }])
    this.#sealing.advanceTo({ size: data.size, root: Buffer.from(data.root, 'base64') })
    return data.size
  }

  noteAt(size: number): string {
    const tree = new GrowingTree()
    for (const frame of this.log.frames.slice(0, size)) tree.append(hashFrame(rawFrameOf(frame)))
    return signCheckpoint({ origin: signer.name, size, root: tree.root }, signer)
  }

  async cosign(size: number, by: Signer, note = this.noteAt(size), signedAs = by): Promise<void> {
    const { body } = splitNote(note)
    const root = body.split('\n')[2]!
    const line = cosign(body, { ...signedAs, name: by.name }, deriveVerifier(by), 1e12)
    const data = { size, root, witness: by.name, note: `${note}${line}` }
    await this.log.append([{ type: 'CheckpointCosigned', data }])
  }

  async verify(quorum: number, agedMs: number | null = 60 * minuteMs) {
    const newest = rawFrameOf(this.log.frames.at(-1)!).storedMs
    const { findings, unproven, cosignedTo } = await verifyLog({
      source: this.log,
      verifiers: [deriveVerifier(signer)],
      witnesses: { keys, quorum },
      ...(agedMs === null ? {} : { readClock: async () => newest + agedMs }),
    })
    return { findings, cosignedTo, uncosigned: unproven.filter((reason) => reason.includes('cosignature')) }
  }
}

const cosignedLog = async () => {
  const made = new SealedMemoryLog()
  await made.write(4)
  const size = await made.seal()
  await made.cosign(size, witnesses[0]!)
  await made.cosign(size, witnesses[1]!)
  return { made, size }
}

t.test('as many witnesses as the quorum have to cosign what is no longer new', async (t) => {
  const { made, size } = await cosignedLog()
  t.same(await made.verify(2), { findings: [], cosignedTo: size, uncosigned: [] })
  t.same((await made.verify(3)).uncosigned, [
    `the checkpoint of size ${size} is older than 5 minutes and needs the cosignatures of 3 of 3 witnesses: it has that of w1 and w2`,
  ])
  await made.write(3)
  const later = await made.seal()
  t.same((await made.verify(2, minuteMs)).uncosigned, [], 'the second one is new')
  t.match((await made.verify(2)).uncosigned, [/the checkpoint of size \d+ is older .* it has none/])
  await made.cosign(later, witnesses[1]!)
  t.match((await made.verify(2)).uncosigned, [/it has that of w2/])
  await made.cosign(later, witnesses[2]!)
  t.same(await made.verify(2), { findings: [], cosignedTo: later, uncosigned: [] })
})

t.test('the times of frames excuse nothing: they are not sealed', async (t) => {
  const { made, size } = await cosignedLog()
  t.same((await made.verify(2, null)).uncosigned, [])
  t.match((await made.verify(3, null)).uncosigned, [/3 of 3 witnesses/], 'no clock but theirs: all of it is due')
  await made.write(9)
  const later = await made.seal()
  t.match((await made.verify(2, null)).uncosigned, [new RegExp(`the checkpoint of size ${later} `)])

  const forged = new SealedMemoryLog()
  await forged.write(size, 'forged')
  await forged.seal()
  t.match((await forged.verify(2, 0)).uncosigned, [/no checkpoint of the log has the cosignatures of 2 of 3 witnesses/])
  t.match((await forged.verify(2, null)).uncosigned, [/it has none/])
})

t.test('one witness counts once, whatever its names, and the log is none of its own', async (t) => {
  const [w1] = witnesses
  const named = (name: string) => witnessKeyOf(name, deriveVerifier(w1!).publicKey)
  const resolve = (...witness: readonly WitnessKey[]) =>
    resolveWitnesses({ witness }, () => undefined, [deriveVerifier(signer)])
  t.match(resolve(named('w1')), { quorum: 1 })
  t.throws(() => resolve(named('w1'), named('w1-twin')), /one key twice/)
  t.throws(() => resolve(named('w1'), named('w1')), /one key twice/)
  t.throws(() => resolve(witnessKeyOf('w9', deriveVerifier(signer).publicKey)), /a key of the log itself/)
})

t.test(
  'a history that was rewritten, and sealed again with the key, is found by a cosignature that is left',
  async (t) => {
    const { made, size } = await cosignedLog()
    await made.write(6)
    const later = await made.seal()
    const rewritten = new SealedMemoryLog()
    await rewritten.write(4)
    await rewritten.seal()
    await rewritten.cosign(size, witnesses[0]!)
    await rewritten.cosign(size, witnesses[1]!)
    await rewritten.write(9, 'another')
    await rewritten.seal()
    await rewritten.cosign(later, witnesses[0]!, made.noteAt(later))
    const { findings } = await rewritten.verify(2)
    t.match(findings, [{ kind: 'log-forked', sequence: size + 1, toSequence: later }])
    t.match(findings[0]!.text, /cosigned: in frame \d+ is a checkpoint of size \d+ with another root, signed by w1/)

    const same = new SealedMemoryLog()
    await same.write(later - 2, 'another')
    await same.seal()
    await same.write(2, 'another')
    await same.cosign(later, witnesses[0]!, made.noteAt(later))
    t.match(
      (await same.verify(1)).findings,
      [{ kind: 'log-forked', sequence: 1, toSequence: later }],
      'at a size between checkpoints',
    )
  },
)

t.test('a cosigned checkpoint of frames that are not there, and one that is forged', async (t) => {
  const { made } = await cosignedLog()
  const longer = new SealedMemoryLog()
  await longer.write(50)
  await made.cosign(50, witnesses[0]!, longer.noteAt(50))
  t.match((await made.verify(2)).findings, [{ kind: 'log-truncated', toSequence: 50 }])

  const { made: forged, size } = await cosignedLog()
  await forged.cosign(size, witnesses[0]!, forged.noteAt(size), witnesses[2]!)
  t.match((await forged.verify(2)).findings, [
    {
      kind: 'checkpoint-forged',
      text: /holds a cosigned checkpoint that is not trusted: the cosignature of w1 is not valid/,
    },
  ])
  const { made: unsigned, size: of } = await cosignedLog()
  const stranger = createSigner(signer.name, Buffer.alloc(32, 9))
  await unsigned.cosign(
    of,
    witnesses[0]!,
    signCheckpoint({ origin: signer.name, size: of, root: Buffer.alloc(32) }, stranger),
  )
  t.match((await unsigned.verify(2)).findings, [
    { kind: 'checkpoint-forged', text: /is not signed by example.com\/log/ },
  ])
})
