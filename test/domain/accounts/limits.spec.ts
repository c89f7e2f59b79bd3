import t from 'tap'
import { type Accounts, applyToAccounts, initialAccounts } from '../../../src/domain/accounts/accounts.ts'
import {
  decideLimits,
  modelPermissionOf,
  putLimits,
  resolveLimits,
  type SetLimits,
} from '../../../src/domain/accounts/limits.ts'
import type { Limits } from '../../../src/events/types.ts'

const given = (...commands: readonly SetLimits[]): Accounts => {
  const accounts = initialAccounts()
  for (const workspaceId of ['acme', 'other'])
    applyToAccounts(accounts, {
      type: 'WorkspaceOpened',
      data: { workspaceId, name: workspaceId, creditLimit: '0' },
    })
  applyToAccounts(accounts, {
    type: 'KeyIssued',
    data: { keyId: 'key-1', workspaceId: 'acme', name: 'one', sha256: 'ab'.repeat(32), prefix: 'sk-a' },
  })
  for (const command of commands) {
    const decision = decideLimits(command, accounts)
    if ('facts' in decision) for (const { data } of decision.facts) putLimits(accounts.limits, data)
  }
  return accounts
}

const rotated = (accounts: Accounts, keyId: string, replaces: string, workspaceId = 'acme'): Accounts => {
  const sha256 = Buffer.from(keyId).toString('hex').padEnd(64, '0')
  const data = { keyId, workspaceId, name: 'one', sha256, prefix: 'sk-b', replaces }
  applyToAccounts(accounts, { type: 'KeyIssued', data })
  return accounts
}

const ofWorkspace = (limits: Limits, workspaceId = 'acme'): SetLimits => ({ workspaceId, keyId: null, limits })
const ofKey = (limits: Limits, keyId = 'key-1', workspaceId = 'acme'): SetLimits => ({ workspaceId, keyId, limits })

const key = { keyId: 'key-1', workspaceId: 'acme' }

t.test('the limits of a workspace and of a key bind together, and replace the ones before whole', async (t) => {
  t.same(resolveLimits(given(), key), { workspace: {}, key: {} })
  const accounts = given(
    ofWorkspace({ requestsPerMinute: 5, allowedModels: ['openai/*'] }),
    ofKey({ spend: { day: '1' }, concurrentRequests: 2 }),
    ofWorkspace({ requestsPerMinute: 6 }),
  )
  t.same(resolveLimits(accounts, key), {
    workspace: { requestsPerMinute: 6 },
    key: { spend: { day: '1' }, concurrentRequests: 2 },
  })
  t.same(resolveLimits(accounts, { keyId: 'key-2', workspaceId: 'other' }), { workspace: {}, key: {} })
})

t.test('a key that took the place of another has its limits, and is set with it', async (t) => {
  const limits = { requestsPerMinute: 5, allowedModels: ['openai/a'] }
  const accounts = rotated(rotated(given(ofKey(limits)), 'key-2', 'key-1'), 'key-3', 'key-2')
  const third = { keyId: 'key-3', workspaceId: 'acme' }
  t.same(resolveLimits(accounts, third).key, limits)
  t.notOk(modelPermissionOf(accounts, third)('openai/b'))
  t.same(decideLimits(ofKey(limits, 'key-3'), accounts), { facts: [] })
  t.same(decideLimits(ofKey({}, 'key-3'), accounts), {
    facts: [{ type: 'LimitsSet', data: { workspaceId: 'acme', keyId: 'key-1', limits: {} } }],
  })
  for (const [replaces, workspaceId] of [
    ['key-1', 'other'],
    ['key-9', 'acme'],
    ['key-4', 'acme'],
  ] as const)
    t.same(
      resolveLimits(rotated(given(ofKey(limits)), 'key-4', replaces, workspaceId), { keyId: 'key-4', workspaceId }).key,
      {},
    )
})

t.test('limits of nobody are refused', async (t) => {
  const limits = { requestsPerMinute: 5 }
  t.same(decideLimits(ofWorkspace(limits, 'nobody'), given()), { refused: 'workspace_unknown' })
  t.same(decideLimits(ofKey(limits, 'key-2'), given()), { refused: 'key_unknown' })
  t.same(decideLimits(ofKey(limits, 'key-1', 'other'), given()), { refused: 'key_unknown' }, "another workspace's key")
})

t.test('a workspace spends what its wallet has: a spend limit is refused for it', async (t) => {
  t.same(decideLimits(ofWorkspace({ spend: { total: '1' } }), given()), { refused: 'spend_needs_key' })
})

t.test('what stands already is not said again, in whichever order and form', async (t) => {
  const standing = ofKey({
    requestsPerMinute: 5,
    models: { 'a/b': { requestsPerMinute: 1, tokensPerMinute: 2 }, 'c/d': { concurrentRequests: 3 } },
    spend: { day: '1.5', month: '10' },
    allowedModels: ['a/b', 'c/*'],
  })
  const same = ofKey({
    allowedModels: ['c/*', 'a/b', 'a/b'],
    spend: { month: '10.00', day: '1.50' },
    models: { 'c/d': { concurrentRequests: 3 }, 'a/b': { tokensPerMinute: 2, requestsPerMinute: 1 } },
    requestsPerMinute: 5,
  })
  t.same(decideLimits(same, given(standing)), { facts: [] })
  t.same(decideLimits(ofKey({}), given()), { facts: [] }, 'nothing was limited')
  t.match(decideLimits(ofKey({}), given(standing)), { facts: [{ type: 'LimitsSet', data: { limits: {} } }] })
})

t.test('each member makes a difference', async (t) => {
  const differing: readonly Limits[] = [
    { requestsPerMinute: 1 },
    { tokensPerMinute: 1 },
    { concurrentRequests: 1 },
    { models: { 'a/b': { requestsPerMinute: 1 } } },
    { models: { 'a/b': { tokensPerMinute: 1 } } },
    { spend: { day: '1' } },
    { spend: { month: '1' } },
    { spend: { total: '1' } },
    { allowedModels: [] },
    { allowedModels: ['a/b'] },
  ]
  for (const standing of differing)
    for (const limits of differing) {
      const decision = decideLimits(ofKey(limits), given(ofKey(standing)))
      t.equal('facts' in decision && decision.facts.length === 1, limits !== standing)
    }
})

t.test('a model may be used that both the workspace and the key allow', async (t) => {
  const rows: readonly (readonly [SetLimits[], allowed: string[], forbidden: string[]])[] = [
    [[], ['openai/a', 'x/y'], []],
    [
      [ofKey({ allowedModels: ['openai/a'] })],
      ['openai/a', 'openai/a-2025-10-01'],
      ['openai/a-mini', 'openai/b', 'x/a'],
    ],
    [[ofKey({ allowedModels: ['openai/a-2025-10-01'] })], ['openai/a-2025-10-01'], ['openai/a']],
    [[ofKey({ allowedModels: ['openai/*'] })], ['openai/a', 'openai/b/c'], ['openaix/a', 'x/openai/a', 'openai']],
    [[ofWorkspace({ allowedModels: ['x/*'] })], ['x/y'], ['openai/a']],
    [
      [ofWorkspace({ allowedModels: ['x/*', 'openai/a'] }), ofKey({ allowedModels: ['openai/*'] })],
      ['openai/a'],
      ['x/y'],
    ],
    [[ofKey({ allowedModels: [] })], [], ['openai/a']],
  ]
  for (const [commands, allowed, forbidden] of rows) {
    const mayUse = modelPermissionOf(given(...commands), key)
    t.same(allowed.filter(mayUse), allowed)
    t.same(forbidden.filter(mayUse), [])
  }
})
