import { Command } from 'commander'
import t from 'tap'
import { adminOperations } from '../../src/administration/operations/table.ts'
import { registerOperations } from '../../src/cli/operations.ts'
import { runtime, startTestGateway } from '../support/gateway.ts'

const program = new Command()
registerOperations(program, () => Promise.resolve())

/** `workspace open <workspace> --name --credit-limit --json`, for each command. */
const describeCommands = (command: Command, words: readonly string[] = []): readonly string[] => {
  const here = [...words, command.name()]
  if (command.commands.length > 0) return command.commands.flatMap((each) => describeCommands(each, here))
  const names = command.registeredArguments.map((argument) => {
    const name = argument.variadic ? `${argument.name()}...` : argument.name()
    return argument.required ? `<${name}>` : `[${name}]`
  })
  const options = command.options.map(({ long, mandatory }) => (mandatory ? `${long}!` : `${long}`))
  return [[...here, ...names, ...options].join(' ')]
}

t.test('commands take what the requests of their operations have', (t) => {
  t.same(program.commands.flatMap((command) => describeCommands(command)).toSorted(), [
    'adjust <workspace> <usd> --reason! --reference! --of --note --json',
    'adjustment approve <workspace> <reference> --json',
    'adjustment list --workspace --json',
    'adjustment reject <workspace> <reference> --json',
    'alert destinations --json',
    'alert list --workspace --json',
    'alert set <workspace> <rule> --measure! --threshold! --key-id --tag --to! --json',
    'alert unset <workspace> <rule>',
    'alias list --json',
    'alias set <alias> <model>',
    'alias unset <alias>',
    'close <month> --with-exceptions --json',
    'credit <workspace> <usd> --reference! --note --expires --json',
    'invoice issue <month> --workspace --dry-run --json',
    'invoice list --workspace --month --json',
    'invoice print <invoice>',
    'invoice show <invoice> --json',
    'key expire <key> <instant>',
    'key issue <workspace> --name --expires --origins --json',
    'key list [workspace] --json',
    'key revoke <key>',
    'key rotate <key> --grace! --expires --json',
    'limits clear <workspace> --key --tag --user --end-user',
    'limits set <workspace> --requests-per-minute --tokens-per-minute --concurrent-requests --model-limit --spend-day --spend-month --spend-total --any-model --allow-model --key --tag --user --end-user --json',
    'limits show <workspace> --tag --user --end-user --json',
    'periods --json',
    'plan cancel <workspace> --json',
    'plan list --json',
    'plan publish <plan> --name --price! --period --credit --limits-file --json',
    'plan show <workspace> --json',
    'plan subscribe <workspace> <plan> --id --no-renew --json',
    'prices import <file> --format --dry-run --allow-free --model --remove --from --source --all --json',
    'prices publish [file] --json',
    'prices show [model] --json',
    'reopen <month> --reason!',
    'route show <model> --key --prompt-tokens --output-tokens --json',
    'router list --json',
    'router set <router> <candidates...> --weighted',
    'router unset <router>',
    'workspace change <workspace> --name --credit-limit --account --json',
    'workspace close <workspace> --json',
    'workspace forget-end-users <workspace>',
    'workspace list --json',
    'workspace open <workspace> --name --credit-limit --account --json',
    'workspace resume <workspace> --json',
    'workspace show <workspace> --json',
    'workspace suspend <workspace> --json',
  ])
  t.end()
})

t.test('operations have names of their own, and commands too', (t) => {
  const names = adminOperations.map(({ name }) => name)
  t.equal(new Set(names).size, names.length)
  for (const name of names) t.match(name, /^[a-z]+\.[a-z-]+$/)
  t.end()
})

t.test('a command that moves money is bound by no role', async (t) => {
  const { operator, config } = await startTestGateway(t)
  const { log, tail, platform } = operator
  const own = new Command().exitOverride()
  registerOperations(own, (_, work) => work({ log, tail, platform, config, runtime }))
  const printed = t.capture(console, 'log')
  await own.parseAsync(['workspace', 'open', 'lent', '--credit-limit', '5', '--json'], { from: 'user' })
  printed.restore()
  t.match(JSON.parse(String(printed()[0]?.args[0])), { workspace: 'lent', credit_limit: '5' })
})

t.test('commands take no token', (t) => {
  const options = program.commands.flatMap((group) => [group, ...group.commands]).flatMap((each) => each.options)
  t.notOk(options.some(({ long }) => long === '--token'))
  t.end()
})

t.test('what is wrong with a command is found before a server is needed', async (t) => {
  const folder = t.testdir({ 'broken.json': '{', 'table.json': '{"x":{}}', 'prices.json': '{"prices":[{}]}' })
  const run = (...words: readonly string[]): Promise<unknown> => {
    const own = new Command().exitOverride().configureOutput({ writeErr: () => undefined })
    registerOperations(own, () => Promise.reject(new Error('a session was opened')))
    for (const command of own.commands.flatMap((group) => [group, ...group.commands]))
      command.exitOverride().configureOutput({ writeErr: () => undefined })
    return own.parseAsync(words, { from: 'user' })
  }
  const refused: readonly (readonly [RegExp, ...(readonly string[])])[] = [
    [/prices\[0\]\.model: is required/, 'prices', 'publish', `${folder}/prices.json`],
    [/ENOENT/, 'prices', 'publish', `${folder}/none.json`],
    [/holds no price/, 'prices', 'import', `${folder}/table.json`],
    [/cannot be read/, 'plan', 'publish', 'pro', '--price', '1', '--limits-file', `${folder}/broken.json`],
    [/--period/, 'plan', 'publish', 'pro', '--price', '1', '--period', 'week'],
    [/plan cannot be published: planId/, 'plan', 'publish', 'a plan', '--price', '1'],
    [/subscription_id must match pattern .* \(--id/, 'plan', 'subscribe', 'acme', 'pro', '--id', 'a b'],
    [/such as 2026-11, got `november`/, 'close', 'november'],
    [/such as 2026-11, got `2026-13`/, 'reopen', '2026-13', '--reason', 'x'],
    [/such as 2026-11, got `november`/, 'invoice', 'issue', 'november'],
    [/such as 2026-11, got `november`/, 'invoice', 'list', '--month', 'november'],
    [/in USD is such as 12.50/, 'adjust', 'acme', '1,50', '--reason', 'goodwill', '--reference', 'r'],
    [/--requests-per-minute/, 'limits', 'set', 'acme', '--requests-per-minute', 'many'],
  ]
  for (const [message, ...words] of refused) await t.rejects(run(...words), { message }, words.join(' '))
})
