import t from 'tap'
import {
  type AccountFact,
  applyToAccounts,
  draftAccounts,
  initialAccounts,
} from '../../../src/domain/accounts/accounts.ts'
import { type AccountCommand, decideAccounts } from '../../../src/domain/accounts/decide.ts'
import { parseUsd } from '../../../src/domain/money.ts'

const workspaceId = 'acme'
const opened: AccountFact = { type: 'WorkspaceOpened', data: { workspaceId, name: 'Acme', creditLimit: '5' } }
const issued = (keyId: string, more: object = {}): AccountFact => ({
  type: 'KeyIssued',
  data: { keyId, workspaceId, name: 'ci', sha256: sha256Of(keyId), prefix: 'sk-abc…', ...more },
})
const sha256Of = (keyId: string): string => Buffer.from(keyId).toString('hex').padEnd(64, '0')
const revoked = (keyId: string): AccountFact => ({ type: 'KeyRevoked', data: { keyId, workspaceId } })
const changed = (name: string, creditLimit: string): AccountFact => ({
  type: 'WorkspaceChanged',
  data: { workspaceId, name, creditLimit },
})
const expirySet = (keyId: string, expiresAt: string): AccountFact => ({
  type: 'KeyExpirySet',
  data: { keyId, workspaceId, expiresAt },
})

const given = (...facts: readonly AccountFact[]) => {
  const accounts = initialAccounts()
  for (const fact of facts) applyToAccounts(accounts, fact)
  return accounts
}

const decided = (command: AccountCommand, ...facts: readonly AccountFact[]) => decideAccounts(command, given(...facts))

const noon = '2026-12-01T12:00:00.000Z'
const noonMs = Date.parse(noon)
const fresh = { keyId: 'key-2', sha256: sha256Of('key-2'), prefix: 'sk-def…' }
const issue: AccountCommand = { type: 'IssueKey', workspaceId, name: 'ci', ...fresh }
const rotate = (more: object = {}): AccountCommand => ({
  type: 'RotateKey',
  keyId: 'key-1',
  fresh,
  graceEndsAtMs: noonMs,
  ...more,
})

const statusIs = (type: 'WorkspaceSuspended' | 'WorkspaceResumed' | 'WorkspaceClosed'): AccountFact => ({
  type,
  data: { workspaceId },
})

t.test('a workspace is suspended and resumed, and closed for good', async (t) => {
  const [suspend, resume, close] = (['SuspendWorkspace', 'ResumeWorkspace', 'CloseWorkspace'] as const).map(
    (type): AccountCommand => ({ type, workspaceId }),
  )
  const [suspended, resumed, closed] = (['WorkspaceSuspended', 'WorkspaceResumed', 'WorkspaceClosed'] as const).map(
    statusIs,
  )
  for (const command of [suspend!, resume!, close!]) t.same(decided(command), { refused: 'workspace_unknown' })
  t.same(decided(suspend!, opened), { facts: [suspended] })
  t.same(decided(suspend!, opened, suspended!), { facts: [] })
  t.same(decided(resume!, opened), { facts: [] })
  t.same(decided(resume!, opened, suspended!), { facts: [resumed] })
  t.same(decided(close!, opened), { facts: [closed] })
  t.same(decided(close!, opened, suspended!), { facts: [closed] })
  t.same(decided(close!, opened, closed!), { facts: [] })
  const { workspaces } = given(opened, suspended!, changed('New', '5'))
  t.match(workspaces.get(workspaceId), { name: 'New', status: 'suspended' }, 'a change leaves the status')
  t.equal(given(opened, closed!, resumed!, suspended!).workspaces.get(workspaceId)?.status, 'closed')
  t.notOk('status' in given(opened, suspended!, resumed!).workspaces.get(workspaceId)!)

  const refused = { refused: 'workspace_closed' }
  const open: AccountCommand = { type: 'OpenWorkspace', workspaceId, name: 'Acme', creditLimitPicos: parseUsd('5') }
  for (const command of [suspend!, resume!, open, issue, { type: 'ChangeWorkspace', workspaceId, name: 'x' } as const])
    t.same(decided(command, opened, closed!), refused, command.type)
  t.same(decided(rotate(), opened, issued('key-1'), closed!), refused)
  t.same(decided({ type: 'RevokeKey', keyId: 'key-1' }, opened, issued('key-1'), closed!), {
    facts: [revoked('key-1')],
  })
  t.same(decided(issue, opened, suspended!), {
    facts: [issued('key-2', { sha256: fresh.sha256, prefix: fresh.prefix })],
  })
})

t.test('a workspace is opened once, and changed where something differs', async (t) => {
  const open: AccountCommand = { type: 'OpenWorkspace', workspaceId, name: 'Acme', creditLimitPicos: parseUsd('5') }
  t.same(decided(open), { facts: [opened] })
  t.same(decided(open, opened), { facts: [] }, 'said before')
  t.same(decided({ ...open, name: 'Other' }, opened), { refused: 'workspace_differs' })

  const change = { type: 'ChangeWorkspace', workspaceId } as const
  t.same(decided({ ...change, name: 'New' }), { refused: 'workspace_unknown' })
  t.same(decided({ ...change, name: 'New' }, opened), { facts: [changed('New', '5')] }, 'the rest stays')
  t.same(decided({ ...change, creditLimitPicos: 0n }, opened), { facts: [changed('Acme', '0')] })
  t.same(decided(change, opened), { facts: [] })
  t.same(decided({ ...change, name: 'Acme', creditLimitPicos: parseUsd('5') }, opened), { facts: [] })
  const moved: AccountFact = {
    type: 'WorkspaceChanged',
    data: { workspaceId, name: 'Acme', creditLimit: '5', account: 'acme-corp' },
  }
  t.same(decided({ ...change, account: 'acme-corp' }, opened), { facts: [moved] })
  t.same(decided({ ...change, account: 'acme-corp' }, opened, moved), { facts: [] })
  t.same(decided({ ...change, creditLimitPicos: 0n }, opened, moved), {
    facts: [{ ...moved, data: { ...moved.data, creditLimit: '0' } }],
  })
  t.same(decided({ ...change, account: '' }, opened, moved), { facts: [changed('Acme', '5')] })
  t.equal(given(opened, moved, changed('Acme', '5')).workspaces.get(workspaceId)?.account, undefined)
  t.same(decided({ ...open, account: 'acme-corp' }, opened), { refused: 'workspace_differs' })
  t.same(decided(open, opened, moved), { facts: [] })
  t.equal(given(changed('New', '1')).workspaces.size, 0, 'what was never opened is not changed')
})

t.test('a workspace has one working key of a name', async (t) => {
  t.same(decided(issue), { refused: 'workspace_unknown' })
  t.same(decided(issue, opened), { facts: [issued('key-2', { prefix: 'sk-def…' })] })
  t.same(decided(issue, opened, issued('key-1')), { refused: 'key_name_taken' })
  t.match(decided(issue, opened, issued('key-1'), revoked('key-1')), { facts: [{ type: 'KeyIssued' }] })
  t.match(decided({ ...issue, expiresAtMs: noonMs }, opened), { facts: [{ data: { expiresAt: noon } }] })
})

t.test('an expiry is set on a key that works', async (t) => {
  const set: AccountCommand = { type: 'SetKeyExpiry', keyId: 'key-1', expiresAtMs: noonMs }
  t.same(decided(set, opened), { refused: 'key_unknown' })
  t.same(decided(set, opened, issued('key-1')), { facts: [expirySet('key-1', noon)] })
  t.same(decided(set, opened, issued('key-1', { expiresAt: noon })), { facts: [] })
  t.same(decided(set, opened, issued('key-1'), revoked('key-1')), { refused: 'key_revoked' })
})

t.test('a key is rotated once; both work until the grace is over', async (t) => {
  const replacing = issued('key-2', { prefix: 'sk-def…', replaces: 'key-1' })
  t.same(decided(rotate(), opened, issued('key-1')), { facts: [replacing, expirySet('key-1', noon)] })
  t.same(
    decided(rotate({ graceEndsAtMs: null }), opened, issued('key-1')),
    { facts: [replacing, revoked('key-1')] },
    'no grace: it ends at once',
  )
  t.same(decided(rotate(), opened), { refused: 'key_unknown' })
  t.same(decided(rotate(), opened, issued('key-1'), revoked('key-1')), { refused: 'key_revoked' })

  const after = [opened, issued('key-1'), replacing, expirySet('key-1', noon)]
  t.same(decided(rotate(), ...after), { refused: 'key_replaced' })
  const accounts = given(...after)
  t.match(accounts.keysBySha256.get(sha256Of('key-1')), { keyId: 'key-1', expiresAtMs: noonMs })
  t.match(accounts.keysBySha256.get(sha256Of('key-2')), { keyId: 'key-2', expiresAtMs: null, replaces: 'key-1' })
  t.same(
    decided({ ...issue, keyId: 'key-3' }, ...after, revoked('key-1')),
    { refused: 'key_name_taken' },
    'its heir has the name',
  )
})

t.test('the fresh key ends when the one it replaces would have, unless it is told otherwise', async (t) => {
  const early = '2026-12-01T11:00:00.000Z'
  const expiresOf = (command: AccountCommand, expiresAt: string) => {
    const decision = decided(command, opened, issued('key-1', { expiresAt }))
    return 'facts' in decision ? decision.facts.map(({ data }) => ('expiresAt' in data ? data.expiresAt : null)) : []
  }
  t.same(expiresOf(rotate(), '2027-01-01T00:00:00.000Z'), ['2027-01-01T00:00:00.000Z', noon])
  t.same(expiresOf(rotate(), early), [early], 'a key that ends within its grace gets no longer one')
  t.same(expiresOf(rotate({ expiresAtMs: null }), early), [null])
  t.same(expiresOf(rotate({ expiresAtMs: noonMs }), early), [noon])
})

t.test('a key ends once, and at its expiry', async (t) => {
  const revoke: AccountCommand = { type: 'RevokeKey', keyId: 'key-1' }
  t.same(decided(revoke), { refused: 'key_unknown' })
  t.same(decided(revoke, opened, issued('key-1')), { facts: [revoked('key-1')] })
  t.same(decided(revoke, opened, issued('key-1'), revoked('key-1')), { facts: [] })

  const expire = (nowMs: number): AccountCommand => ({ type: 'ExpireKey', keyId: 'key-1', nowMs })
  const key = issued('key-1', { expiresAt: noon })
  t.same(decided(expire(noonMs - 1), opened, key), { facts: [] }, 'it was put off')
  t.same(decided(expire(noonMs), opened, key), {
    facts: [{ type: 'KeyRevoked', data: { keyId: 'key-1', workspaceId, reason: 'expired' } }],
  })
  t.same(decided(expire(noonMs), opened, key, revoked('key-1')), { facts: [] }, 'another was quicker')
  t.same(decided(expire(noonMs), opened, issued('key-1')), { facts: [] })
  t.same(decided(expire(noonMs)), { facts: [] })
})

t.test('a key that is issued a second time does not come back', async (t) => {
  const accounts = given(opened, issued('key-1'), revoked('key-1'), issued('key-1'))
  t.equal(accounts.keys.get('key-1')?.revoked, true)
  t.equal(accounts.keysBySha256.size, 0)
  applyToAccounts(accounts, expirySet('key-1', noon))
  t.equal(accounts.keysBySha256.size, 0, 'nor by an expiry')
})

t.test('a draft leaves the accounts as they are', async (t) => {
  const accounts = given(opened, issued('key-1'))
  const draft = draftAccounts(accounts)
  for (const fact of [changed('New', '0'), revoked('key-1'), issued('key-2')]) applyToAccounts(draft, fact)
  t.match(draft.workspaces.get(workspaceId), { name: 'New' })
  t.equal(draft.keysByName.get('acme ci'), 'key-2')
  t.match(accounts.workspaces.get(workspaceId), { name: 'Acme' })
  t.equal(accounts.keysByName.get('acme ci'), 'key-1')
  t.notOk(accounts.keys.has('key-2'))
})
