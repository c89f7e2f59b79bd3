import t from 'tap'
import { authenticationLimits } from '../../../src/providers/authentication/limits.ts'
import { type Credential, RenewedCredential } from '../../../src/providers/authentication/renewed-credential.ts'
import { HttpFault } from '../../../src/providers/http.ts'

const { refusedPauseMs, renewBeforeMs, renewPauseMs, unusableBeforeMs } = authenticationLimits
const lifetimeMs = 3_600_000
const { signal } = new AbortController()

const service = () => {
  const pending: PromiseWithResolvers<Credential<string>>[] = []
  let nowMs = 1_000_000
  const credential = new RenewedCredential<string>(
    () => {
      const asked = Promise.withResolvers<Credential<string>>()
      pending.push(asked)
      return asked.promise
    },
    () => nowMs,
  )
  return {
    credential,
    pending,
    pass: (ms: number) => {
      nowMs += ms
    },
    issue: (value: string, forMs = lifetimeMs) => pending.at(-1)?.resolve({ value, expiresAtMs: nowMs + forMs }),
  }
}

t.test('one request serves all who wait, and is used until it is renewed', async (t) => {
  const { credential, pending, pass, issue } = service()
  const asked = Promise.all([1, 2, 3].map(() => credential.get(signal)))
  t.equal(pending.length, 1)
  issue('first')
  t.same(await asked, ['first', 'first', 'first'])
  pass(lifetimeMs - renewBeforeMs - 1)
  t.equal(await credential.get(signal), 'first')
  t.equal(pending.length, 1, 'not renewed yet')
  pass(1)
  t.same(await Promise.all([credential.get(signal), credential.get(signal)]), ['first', 'first'])
  t.equal(pending.length, 2, 'one renewal, without a wait')
  issue('second')
  await new Promise(setImmediate)
  t.equal(await credential.get(signal), 'second')
})

t.test('while renewals fail, the present one is used until it cannot be', async (t) => {
  const { credential, pending, pass, issue } = service()
  const first = credential.get(signal)
  issue('first')
  await first
  pass(lifetimeMs - renewBeforeMs)
  await credential.get(signal)
  pending.at(-1)?.reject(new Error('the service is down'))
  await new Promise(setImmediate)
  t.equal(await credential.get(signal), 'first')
  t.equal(pending.length, 2, 'and no further one right after')
  pass(renewBeforeMs - unusableBeforeMs)
  const late = credential.get(signal)
  pending.at(-1)?.reject(new Error('the service is down'))
  await t.rejects(late, { kind: 'authentication', isUnsent: true, cause: { message: 'the service is down' } })
  await t.rejects(credential.get(signal), { message: /authentication/ })
  t.equal(pending.length, 3, 'those in between get the same outcome')
  pass(renewPauseMs)
  const again = credential.get(signal)
  issue('second')
  t.equal(await again, 'second')
})

t.test('who leaves waits no longer, and ends no renewal of others', async (t) => {
  const { credential, issue } = service()
  const leaving = new AbortController()
  const left = credential.get(leaving.signal)
  const stays = credential.get(signal)
  leaving.abort()
  await t.rejects(left, { message: /aborted/ })
  issue('first')
  t.equal(await stays, 'first')
})

t.test('a refused one is renewed, but not again and again', async (t) => {
  const { credential, pending, pass, issue } = service()
  const first = credential.get(signal)
  issue('first')
  await first
  credential.discard()
  t.equal(await credential.get(signal), 'first', 'it is brand-new: another would be refused as well')
  pass(renewPauseMs)
  credential.discard()
  const second = credential.get(signal)
  issue('second')
  t.equal(await second, 'second')
  pass(refusedPauseMs - 1)
  credential.discard()
  t.equal(await credential.get(signal), 'second', 'what refuses this one too refuses all')
  t.equal(pending.length, 2)
  pass(1)
  credential.discard()
  const third = credential.get(signal)
  issue('third')
  t.equal(await third, 'third')
})

t.test('a refused one is used on where no other can be had, and from then on without a wait', async (t) => {
  const { credential, pending, pass, issue } = service()
  const first = credential.get(signal)
  issue('first')
  await first
  pass(renewPauseMs)
  credential.discard()
  const leaving = new AbortController()
  const left = credential.get(leaving.signal)
  const waits = credential.get(signal)
  leaving.abort()
  await t.rejects(left, { message: /aborted/ })
  pending.at(-1)?.reject(new Error('the service is down'))
  t.equal(await waits, 'first')
  t.equal(await credential.get(signal), 'first')
  t.equal(pending.length, 2, 'not at once again')
  pass(renewPauseMs)
  t.same(await Promise.all([credential.get(signal), credential.get(signal)]), ['first', 'first'])
  t.equal(pending.length, 3, 'one renewal, without a wait')
  issue('second')
  await new Promise(setImmediate)
  t.equal(await credential.get(signal), 'second')
})

t.test('while a service that failed is asked again, others do not wait for it', async (t) => {
  const { credential, pending, pass, issue } = service()
  const first = credential.get(signal)
  pending.at(-1)?.reject(new Error('the service is down'))
  await t.rejects(first, { message: /authentication/ })
  pass(renewPauseMs)
  const asks = credential.get(signal)
  await t.rejects(credential.get(signal), { message: /authentication/ })
  t.equal(pending.length, 2)
  issue('second')
  t.equal(await asks, 'second')
  t.equal(await credential.get(signal), 'second')
})

t.test('one that does not expire is kept', async (t) => {
  const { credential, pending, pass } = service()
  const first = credential.get(signal)
  pending.at(-1)?.resolve({ value: 'for ever', expiresAtMs: null })
  await first
  pass(10 * lifetimeMs)
  t.equal(await credential.get(signal), 'for ever')
  t.equal(pending.length, 1)
})

t.test('a service that never answers is a fault, not a wait', async (t) => {
  const credential = new RenewedCredential<string>(() => new Promise(() => undefined), Date.now, 10)
  const keepsRunning = setTimeout(() => undefined, 5_000)
  const fault = await credential.get(signal).catch((thrown: unknown) => thrown)
  clearTimeout(keepsRunning)
  t.ok(fault instanceof HttpFault)
  t.match(fault, { kind: 'authentication' })
})
