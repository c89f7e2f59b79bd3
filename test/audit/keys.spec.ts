import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { parseSigningKey, signingKeyText } from '../../src/audit/keys.ts'
import { createSigner, deriveVerifier, NoteFault, verifierText } from '../../src/audit/note.ts'

const seed = Buffer.alloc(32, 7)
const expected = verifierText(deriveVerifier(createSigner('example.com/log', seed)))

t.test('a seed in base64 and the same key as PEM are one key', async (t) => {
  const pem = String(createSigner('any', seed).privateKey.export({ type: 'pkcs8', format: 'pem' }))
  for (const text of [signingKeyText(seed), ` ${signingKeyText(seed)}\n`, pem])
    t.equal(verifierText(deriveVerifier(parseSigningKey('example.com/log', text))), expected)
})

t.test('what is no such key is refused, without its text', async (t) => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ type: 'pkcs8', format: 'pem' })
  const publicPem = createPublicKey(createSigner('any', seed).privateKey).export({ type: 'spki', format: 'pem' })
  const wrong = [
    '',
    'cret',
    'cret'.repeat(11),
    signingKeyText(Buffer.alloc(31)),
    signingKeyText(Buffer.alloc(33)),
    '-----BEGIN PRIVATE KEY-----\ncret\n-----END PRIVATE KEY-----',
    String(rsa),
    String(publicPem),
  ]
  for (const text of wrong)
    try {
      parseSigningKey('example.com/log', text)
      t.fail(text)
    } catch (fault) {
      t.ok(fault instanceof NoteFault, text.slice(0, 30))
      t.notMatch(String(fault), /cret|MII/)
    }
})
