import t from 'tap'
import { readCosignatures, witnessKeyOf } from '../../src/audit/cosignature.ts'
import { emptyRoot, type GrowingTree } from '../../src/audit/merkle.ts'
import { createSigner, deriveVerifier, signCheckpoint, splitNote } from '../../src/audit/note.ts'
import { originHash, Witness } from '../../src/audit/witness.ts'
import { recordingLogger } from '../support/log-lines.ts'
import { addRequest, growthOf, MemoryCosignedStore } from '../support/witnesses.ts'

const origin = 'example.com/log'
const log = createSigner(origin, Buffer.alloc(32, 7))
const stranger = createSigner(origin, Buffer.alloc(32, 8))
const signer = createSigner('witness.example/w1', Buffer.alloc(32, 9))
const { publicKey } = deriveVerifier(signer)
const key = witnessKeyOf(signer.name, publicKey)
const nowMs = 1_790_000_000_000

const treeOf = (size: number, word?: string): GrowingTree => growthOf(0, size, word).tree
const proofOf = (from: number, to: number) => growthOf(from, to).proof
const noteOf = ({ size, root }: Pick<GrowingTree, 'size' | 'root'>, by = log, of = origin): string =>
  signCheckpoint({ origin: of, size, root }, by)
const requestOf = (from: number, to: number, changes = {}) => addRequest(from, to, log, changes)

const start = (store = new MemoryCosignedStore()) => {
  const logger = recordingLogger()
  const logs = [{ origin, verifier: deriveVerifier(log) }]
  return { witness: new Witness({ logs, signer, store, clock: () => nowMs, logger }), store, logger }
}

t.test(
  'a checkpoint that extends the one before is cosigned, with its time, and kept before it is answered',
  async (t) => {
    const { witness, store } = start()
    for (const [from, to] of [
      [0, 3],
      [3, 8],
      [8, 8],
      [8, 21],
    ] as const) {
      const { status, body } = await witness.addCheckpoint(requestOf(from, to))
      t.equal(status, 200)
      const signed = splitNote(noteOf(treeOf(to))).body
      t.match(readCosignatures(body, signed, [key]), [{ witness: signer.name, seconds: nowMs / 1_000 }])
      t.equal(store.notes.get(origin), `${noteOf(treeOf(to))}${body}`)
    }
    const again = start(store).witness
    t.match(await again.addCheckpoint(requestOf(0, 30)), { status: 409, type: 'text/x.tlog.size', body: '21\n' })
    t.match(await again.readCheckpoint(originHash(origin)), { status: 200, body: store.notes.get(origin)! })
    t.match(await again.readCheckpoint(originHash('example.com/other')), { status: 404 })
    t.match(await start().witness.readCheckpoint(originHash(origin)), { status: 404 })
  },
)

t.test('an answer tells why a checkpoint is not cosigned, and nothing is stored', async (t) => {
  const { witness, store, logger } = start()
  await witness.addCheckpoint(requestOf(0, 8))
  const held = store.notes.get(origin)
  const other = noteOf(treeOf(12, 'other'))
  const broken = noteOf(treeOf(12)).replace(/.{8}\n$/, 'AAAAAAA=\n')
  for (const [status, body] of [
    [404, requestOf(8, 12, { note: noteOf(treeOf(12), log, 'example.com/unknown') })],
    [403, requestOf(8, 12, { note: noteOf(treeOf(12), stranger) })],
    [403, requestOf(8, 12, { note: broken })],
    [403, requestOf(8, 12, { note: `${noteOf(treeOf(12))}${broken.split('\n\n')[1]}` })],
    [400, requestOf(8, 5)],
    [409, requestOf(7, 12)],
    [409, requestOf(0, 12)],
    [422, requestOf(8, 12, { note: other })],
    [422, requestOf(8, 12, { proof: proofOf(8, 13) })],
    [422, requestOf(8, 12, { proof: [] })],
    [422, requestOf(8, 8, { note: noteOf(treeOf(8, 'other')) })],
    [400, requestOf(8, 12).replace('old 8', 'old 08')],
    [400, requestOf(8, 12).replace('old 8', 'old -8')],
    [400, requestOf(8, 12).replace('old 8', 'old 9007199254740993')],
    [400, requestOf(8, 12).replace('old 8', 'new 8')],
    [400, requestOf(8, 12).replace(/\n.*\n/, '\nAAAA\n')],
    [400, requestOf(8, 12, { proof: Array.from({ length: 64 }, () => emptyRoot) })],
    [400, requestOf(8, 12, { note: splitNote(noteOf(treeOf(12))).body })],
    [400, ''],
  ] as const) {
    const answer = await witness.addCheckpoint(body)
    t.equal(answer.status, status, body.slice(0, 60))
    t.equal(store.notes.get(origin), held)
  }
  t.same(
    logger.lines.flatMap(({ event, fields }) => (event === 'witness.checkpoint_refused' ? [fields] : []))[0],
    { log: origin, size: 12, knownSize: 8, note: other },
    'a contradiction that the log has signed is kept',
  )
})

t.test('of nothing, the root of the empty tree alone is cosigned, and from nothing no proof is taken', async (t) => {
  const empty = { size: 0, root: emptyRoot }
  t.equal((await start().witness.addCheckpoint(requestOf(0, 0, { note: noteOf(empty) }))).status, 200)
  const forged = noteOf({ size: 0, root: treeOf(1).root })
  t.equal((await start().witness.addCheckpoint(requestOf(0, 0, { note: forged }))).status, 422)
  t.equal((await start().witness.addCheckpoint(requestOf(0, 3, { proof: [emptyRoot] }))).status, 422)
})

t.test('of requests at once that begin at one size, one is cosigned', async (t) => {
  const { witness, store } = start()
  const answers = await Promise.all([3, 5, 4, 9].map((size) => witness.addCheckpoint(requestOf(0, size))))
  t.same(
    answers.map(({ status, body }) => [status, status === 409 ? body : '']),
    [
      [200, ''],
      [409, '3\n'],
      [409, '3\n'],
      [409, '3\n'],
    ],
  )
  t.match(store.notes.get(origin), /\n3\n/)
})

t.test(
  'where the state cannot be read or written, nothing is cosigned, and the next request finds it as it was',
  async (t) => {
    const { witness, store, logger } = start()
    await witness.addCheckpoint(requestOf(0, 3))
    store.fault = new Error('no space left on device')
    t.equal((await witness.addCheckpoint(requestOf(3, 5))).status, 500)
    t.match(logger.lines.at(-1), { event: 'witness.state_unusable', level: 'error' })
    store.fault = null
    t.equal((await witness.addCheckpoint(requestOf(3, 6))).status, 200)
  },
)
