import t from 'tap'
import { findMarkedDeployment, makerOf, markOf, unmark } from '../../../src/providers/dialect/provider-mark.ts'

const eu = makerOf({ name: 'openai', deployment: 'eu' })
const us = makerOf({ name: 'openai', deployment: 'us' })
const undivided = makerOf({ name: 'openai' })
const other = makerOf({ name: 'grok' })

const cases: readonly (readonly [what: string, made: string, reader: string, isRead: boolean])[] = [
  ['by the deployment that made it', eu, eu, true],
  ['by another deployment', eu, us, false],
  ['by the provider, once its deployments are gone', eu, undivided, true],
  ['by a deployment, of the provider before it had any', undivided, us, true],
  ['by another provider', eu, other, false],
]

for (const [what, made, reader, isRead] of cases)
  t.test(`marked content is read ${what}: ${isRead}`, async (t) => {
    t.equal(unmark(reader, `${markOf(made)}AbC=`), isRead ? 'AbC=' : null)
  })

t.test('content without a mark came from the provider; a mark that is none is nobody’s', async (t) => {
  t.equal(unmark(eu, 'AbC='), 'AbC=')
  for (const broken of ['gw1:', 'gw1:openai', 'gw1:%:x']) t.equal(unmark(eu, broken), null, broken)
})

t.test('a body names the deployment that made the last of its content', async (t) => {
  const item = (maker: string): object => ({ type: 'reasoning', encrypted_content: `${markOf(maker)}x` })
  const bodyOf = (...makers: readonly string[]) => ({ model: 'm', input: [...makers.map(item), { role: 'user' }] })
  t.equal(findMarkedDeployment('openai', bodyOf(eu, us)), 'us')
  t.equal(findMarkedDeployment('openai', bodyOf(us, eu, other, undivided)), 'eu')
  t.equal(findMarkedDeployment('openai', bodyOf(undivided)), null)
  t.equal(findMarkedDeployment('openai', bodyOf()), null)
  t.equal(findMarkedDeployment('open', bodyOf(eu)), null)
  const signed = Buffer.from(`${markOf(us)}AbC=`).toString('base64')
  t.equal(findMarkedDeployment('openai', { contents: [{ parts: [{ thoughtSignature: signed }] }] }), 'us')
})
