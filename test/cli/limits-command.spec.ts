import { Command } from 'commander'
import t from 'tap'
import { registerOperations, type WithOperationSession } from '../../src/cli/operations.ts'
import type { Platform } from '../../src/cli/platform.ts'
import { initialLedger } from '../../src/domain/ledger/ledger.ts'
import { LedgerTail } from '../../src/log/ledger-tail.ts'
import { credited, keyIssued, opened, planSubscribed, pricePublished, workspaceId } from '../roles/projector/facts.ts'
import { runtime } from '../support/gateway.ts'
import { MemoryLog } from '../support/memory-log.ts'

const log = new MemoryLog()
await log.append([opened(), keyIssued('key-1')])
await log.postToWallet(workspaceId, [credited('invoice-1')])
const tail = new LedgerTail(initialLedger(), log)
await tail.waitForSequence(await log.lastSequence())
t.teardown(() => tail.stop())

const catalog = { providers: new Map([['openai', { models: {} }]]), aliases: {}, routers: {} }

/** What a command prints; throws what it is refused with. */
const platform = {
  connect: () => Promise.reject(new Error('it erases nothing')),
  endUsers: { name: 'GATEWAY', role: 'operator', replicas: 1 },
  tables: null,
} as unknown as Platform
const limits = async (...words: readonly string[]): Promise<string> => {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined })
  const withSession: WithOperationSession = (_command, work) =>
    work({
      log,
      tail,
      runtime,
      platform,
      config: {
        requestsPerMinute: 100,
        catalog,
        prices: { prices: [] },
        tagNames: ['team'],
        invoicing: null,
        approvalAbovePicos: null,
        alertDestinations: new Map(),
      },
    })
  registerOperations(program, withSession)
  for (const command of program.commands.flatMap((group) => [group, ...group.commands]))
    command.exitOverride().configureOutput({ writeErr: () => undefined })
  const printed = t.capture(console, 'log')
  const errors = t.capture(console, 'error')
  try {
    await program.parseAsync(['limits', ...words], { from: 'user' })
  } finally {
    printed.restore()
    errors.restore()
  }
  return [...printed(), ...errors()].map(({ args }) => args.join(' ')).join('\n')
}
const ofKey = ['acme', '--key', 'key-1', '--json']
const limitsOfKey = async (...words: readonly string[]): Promise<unknown> => {
  const lines = (await limits('set', ...ofKey, ...words)).split('\n')
  return JSON.parse(lines.find((line) => line.includes('"key":"key-1"')) ?? '{}').limits
}

t.test('what is named is changed, the rest stays', async (t) => {
  t.same(await limitsOfKey('--spend-day', '1.50', '--allow-model', 'openai/*', '--allow-model', 'x/y'), {
    spend: { day: '1.50' },
    allowedModels: ['openai/*', 'x/y'],
  })
  t.same(await limitsOfKey('--spend-day', 'none', '--spend-total', '9', '--requests-per-minute', '5', '--any-model'), {
    spend: { total: '9' },
    requestsPerMinute: 5,
  })
  const paces = ['--model-limit', 'x/a,requests-per-minute=1', '--model-limit', 'x/b,concurrent-requests=2']
  t.match(await limitsOfKey(...paces), {
    models: { 'x/a': { requestsPerMinute: 1 }, 'x/b': { concurrentRequests: 2 } },
  })
  t.same(await limitsOfKey('--model-limit', 'x/a', '--model-limit', 'x/b', '--requests-per-minute', 'none'), {
    spend: { total: '9' },
  })
  t.match(await limits('set', ...ofKey, '--spend-total', '9.0'), /unchanged/)
  t.match(
    await limits('set', 'acme', '--tokens-per-minute', '7', '--concurrent-requests', '3'),
    /7 tokens\/min, 3 at once/,
  )
  t.match(await limits('show', 'acme'), /key-1 +0 of 9/)
  t.match(await limits('clear', 'acme', '--key', 'key-1'), /^lifted/)
  t.match(await limits('clear', 'acme', '--key', 'key-1'), /none/)
  t.notMatch(await limits('show', 'acme'), /key-1/)
})

t.test('tags and end users have spend limits', async (t) => {
  const alice = 'a1'.repeat(32)
  const ofTeam = ['acme', '--tag', 'team=a b']
  t.match(await limits('set', ...ofTeam, '--spend-day', '1.50'), /^of .*\ntag team=a b +0 of 1.5 [^\n]*$/)
  t.match(JSON.parse(await limits('set', 'acme', '--end-user', alice, '--spend-total', '9', '--json')), {
    key: null,
    end_user: alice,
    limits: { spend: { total: '9' } },
    spent_total: '0',
  })
  t.match(await limits('set', ...ofTeam, '--spend-day', 'none', '--spend-month', '3'), /team=a b +0 of 3/)
  t.match(await limits('set', ...ofTeam, '--spend-month', '3'), /unchanged/)
  const all = await limits('show', 'acme')
  for (const name of ['(workspace)', 'tag team=a b', `end user ${alice}`]) t.match(all, name)
  t.match(await limits('show', ...ofTeam, '--json'), /^{"workspace":"acme","key":null,"tag":"team=a b",[^\n]*}$/)
  t.match(await limits('clear', ...ofTeam), /^lifted/)
  t.match(await limits('clear', ...ofTeam), /none/)
  t.match(await limits('clear', 'acme', '--end-user', alice), /^lifted/)
  t.notMatch(await limits('show', 'acme'), /end user|team/)
  t.match(await limits('set', 'acme', '--tag', 'tema=x', '--spend-day', '1'), /warning: `tema` is not among the `tags`/)
  await limits('clear', 'acme', '--tag', 'tema=x')
})

t.test('what is in force is shown, with where it comes from', async (t) => {
  t.match(await limits('show', 'acme'), /100 requests\/min \(configuration\)/)
  const ofPlan = { requestsPerMinute: 10, allowedModels: ['openai/*'] }
  const days = ['2026-01-01', '2099-01-01'] as const
  await log.postToWallet(workspaceId, [planSubscribed('subscription-1', days, { limits: ofPlan })])
  await tail.waitForSequence(await log.lastSequence())
  await limits('set', 'acme', '--tokens-per-minute', '9')
  t.match(await limits('show', 'acme'), /10 requests\/min \(plan\), 9 tokens\/min, .* openai\/\* \(plan\)/)
  t.match(JSON.parse((await limits('show', 'acme', '--json')).split('\n')[0] ?? ''), {
    in_force: { requestsPerMinute: 10, tokensPerMinute: 9 },
    sources: { requestsPerMinute: 'plan', tokensPerMinute: 'own' },
  })
})

t.test('a model that nobody has is allowed, with a warning', async (t) => {
  await log.append([pricePublished('v1', '2099-01-01T00:00:00Z', 'openai/later')])
  await tail.waitForSequence(await log.lastSequence())
  const names = ['openai/later', 'openai/*', 'openai/later-2026-01-01', 'openai/nope', 'nope/x', 'nope/*']
  const told = await limits('set', ...ofKey, ...names.flatMap((name) => ['--allow-model', name]))
  t.same(
    [...told.matchAll(/^warning: `(.*)` leads to no model yet/gm)].map(([, name]) => name),
    ['openai/later-2026-01-01', 'openai/nope', 'nope/x', 'nope/*'],
  )
  t.notMatch(await limits('set', ...ofKey, '--any-model'), 'warning')
})

t.test('what makes no sense is refused, and nothing is set', async (t) => {
  const { sequence } = tail.ledger
  const refused: readonly (readonly [words: readonly string[], RegExp])[] = [
    [['set', 'acme', '--spend-day', '1'], /--key/],
    [['set', 'nobody', '--requests-per-minute', '1'], /no such workspace/],
    [['set', 'acme', '--key', 'key-9', '--spend-day', '1'], /no such key/],
    [['set', ...ofKey, '--spend-day', '-1'], /--spend-day/],
    [['set', ...ofKey, '--requests-per-minute', '0'], /--requests-per-minute/],
    [['set', ...ofKey, '--allow-model', 'gateway/auto'], /--allow-model/],
    [['set', ...ofKey, '--model-limit', 'x/a,rpm=1'], /--model-limit/],
    [['show', 'nobody'], /no such workspace/],
    [['set', 'acme', '--tag', 'team=a', '--requests-per-minute', '1'], /no limits but `spend`/],
    [['set', 'acme', '--tag', 'team', '--spend-day', '1'], /a tag and its value, such as team=search/],
    [['set', 'acme', '--tag', 'team=a\u0007', '--spend-day', '1'], /a tag and its value, such as team=search/],
    [['set', 'acme', '--end-user', 'alice', '--spend-day', '1'], /the `end_user` of a charge/],
    [['set', ...ofKey, '--tag', 'team=a', '--spend-day', '1'], /`key`, `tag`/],
    [['clear', 'acme', '--tag', 'team=a', '--user', 'alice'], /`tag`, `user`/],
  ]
  for (const [words, message] of refused) await t.rejects(limits(...words), { message }, words.join(' '))
  t.equal(tail.ledger.sequence, sequence)
})
