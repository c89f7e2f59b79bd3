import { readFileSync } from 'node:fs'
import t from 'tap'
import { readAddReply } from '../../src/audit/add-checkpoint.ts'
import { cosign, parseWitnessKey, readCosignatures, witnessKeyOf, witnessKeyText } from '../../src/audit/cosignature.ts'
import {
  createSigner,
  deriveVerifier,
  NoteFault,
  signCheckpoint,
  splitNote,
  verifierText,
} from '../../src/audit/note.ts'
import { addRequest } from '../support/witnesses.ts'

const log = createSigner('log.test/ledger', Buffer.alloc(32, 7))
const witness = createSigner('witness.test/w1', Buffer.alloc(32, 9))
const key = witnessKeyOf(witness.name, deriveVerifier(witness).publicKey)
const note = signCheckpoint({ origin: log.name, size: 7, root: Buffer.alloc(32, 1) }, log)
const { body } = splitNote(note)
const nowMs = 1_790_000_000_999
const line = cosign(body, witness, deriveVerifier(witness), nowMs)

/** What litewitness 0.9.0 (filippo.io/torchwood) answered to requests of ours, as `make witness` sends them. */
const recorded = JSON.parse(readFileSync(new URL('litewitness.json', import.meta.url), 'utf8'))

t.test('recorded answers of a witness that others wrote are read as they were meant', async (t) => {
  const theirs = parseWitnessKey(recorded.key)
  t.equal(witnessKeyText(theirs), recorded.key)
  const sizes = [
    [0, 5],
    [5, 13],
    [5, 20],
  ] as const
  const outcomes = sizes.map(([from, to], place) => {
    const { body: request, reply } = recorded.exchanges[place]
    t.equal(addRequest(from, to, log), request, 'the request is the same today')
    return readAddReply(reply, request.slice(request.indexOf('\n\n') + 2), theirs)
  })
  t.match(outcomes, [{ type: 'cosigned' }, { type: 'cosigned' }, { type: 'conflict', size: 13 }])
  const [first] = recorded.exchanges
  const other = first.reply.body.replace(/.{6}\n$/, 'AAAAA=\n')
  const sent = first.body.slice(first.body.indexOf('\n\n') + 2)
  t.throws(() => readAddReply({ ...first.reply, body: other }, sent, theirs), /litewitness is not valid/)
})

t.test('a cosignature has the time of its making, in seconds, and is of one body alone', async (t) => {
  t.match(readCosignatures(line, body, [key]), [{ witness: 'witness.test/w1', seconds: 1_790_000_000 }])
  t.match(readCosignatures(`${note}${line}`, body, [key]), [{ line: line.trimEnd() }], 'also below the note')
  const { body: other } = splitNote(signCheckpoint({ origin: log.name, size: 8, root: Buffer.alloc(32, 1) }, log))
  t.throws(() => readCosignatures(line, other, [key]), NoteFault)
  t.throws(() => readCosignatures(cosign(body, witness, deriveVerifier(witness), 0), body, [key]), NoteFault)
  const stranger = createSigner('witness.test/w1', Buffer.alloc(32, 1))
  t.same(readCosignatures(cosign(body, stranger, deriveVerifier(stranger), nowMs), body, [key]), [], 'an unknown key')
  const extended = signCheckpoint({ origin: log.name, size: 7, root: Buffer.alloc(32, 1), extensions: ['more'] }, log)
  t.throws(() => readCosignatures(line, splitNote(extended).body, [key]), NoteFault, 'lines of the log are signed too')
})

t.test('a key of type 1 signs the text alone; other types are refused by name', async (t) => {
  const plain = parseWitnessKey(verifierText(deriveVerifier(witness)))
  const [signature = ''] = splitNote(
    signCheckpoint({ origin: log.name, size: 7, root: Buffer.alloc(32, 1) }, witness),
  ).signatures.map((each) => each.line)
  t.match(readCosignatures(signature, body, [plain, key]), [{ witness: witness.name, seconds: null }])
  t.same(readCosignatures(line, body, [plain]), [], 'a cosignature is no signature of the text')
  const refused = (type: number, bytes = 32) =>
    `w+00000000+${Buffer.concat([Buffer.of(type), Buffer.alloc(bytes)]).toString('base64')}`
  for (const [text, message] of [
    [refused(6, 1312), /type 6 \(ML-DSA-44 cosignatures\), which is not supported/],
    [refused(2), /type 2 \(ECDSA\)/],
    [refused(5), /type 5 \(timestamped RFC 6962 tree heads\)/],
    [refused(9), /type 9 \(unknown\)/],
    [refused(4), /not have the id beside it/],
    [refused(4, 31), /has 32 bytes, not 31/],
    ['w', /not a public key of a witness/],
  ] as const)
    t.throws(() => parseWitnessKey(text), { name: 'NoteFault', message })
})
