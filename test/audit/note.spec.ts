import fc from 'fast-check'
import t from 'tap'
import {
  type Checkpoint,
  createSigner,
  deriveVerifier,
  NoteFault,
  openCheckpoint,
  parseVerifier,
  signCheckpoint,
  verifierText,
} from '../../src/audit/note.ts'
import { propertyRuns } from '../support/property-runs.ts'

const signer = createSigner('example.com/log', Buffer.alloc(32, 7))
const verifier = deriveVerifier(signer)
const checkpoint: Checkpoint = { origin: 'example.com/log', size: 42, root: Buffer.alloc(32, 9) }

t.test('a note that was signed opens again', async (t) => {
  t.same(openCheckpoint(signCheckpoint(checkpoint, signer), verifier), checkpoint)
  t.same(openCheckpoint(signCheckpoint(checkpoint, signer), parseVerifier(verifierText(verifier))), checkpoint)
})

/** The example of the C2SP signed-note specification, from golang.org/x/mod/sumdb/note. */
t.test('the published example of the format', async (t) => {
  const peter = parseVerifier('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW')
  t.equal(verifierText(peter), 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW')
})

t.test('any changed character is noticed', async () => {
  const note = signCheckpoint(checkpoint, signer)
  fc.assert(
    fc.property(fc.nat(note.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (place, character) => {
      if (note[place] === character) return true
      const changed = note.slice(0, place) + character + note.slice(place + 1)
      try {
        const opened = openCheckpoint(changed, verifier)
        // Base64 has spare bits in its last character: the bytes, and what was signed, are the same.
        return (
          opened.size === checkpoint.size &&
          opened.root.equals(checkpoint.root) &&
          opened.origin === checkpoint.origin &&
          place > note.indexOf('\n\n')
        )
      } catch (fault) {
        return fault instanceof NoteFault
      }
    }),
    propertyRuns(500),
  )
})

t.test('another key, another log', async (t) => {
  const stranger = createSigner('example.com/log', Buffer.alloc(32, 8))
  t.throws(() => openCheckpoint(signCheckpoint(checkpoint, stranger), verifier), NoteFault)
  t.throws(
    () => openCheckpoint(signCheckpoint({ ...checkpoint, origin: 'example.com/other' }, signer), verifier),
    NoteFault,
  )
  t.throws(() => parseVerifier('example.com/log+00000000+AepKbGPinFIKvvVQexMuxfmVR3auvr57kkIe6mkURtIs'), NoteFault)
  t.throws(() => parseVerifier('nothing'), NoteFault)
  t.throws(() => createSigner('two words', Buffer.alloc(32)), NoteFault)
  t.throws(() => createSigner('short', Buffer.alloc(31)), NoteFault)
  t.throws(() => openCheckpoint('no note\n', verifier), NoteFault)
})
