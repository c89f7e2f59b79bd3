import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { type JournalFormat, readDoubleEntryJournal } from '../../src/audit/double-entry.ts'
import { readPeriodJournal } from '../../src/audit/period-journal.ts'
import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import { creditKey } from '../../src/domain/wallet/evolve.ts'
import type { FactOf } from '../../src/events/envelope.ts'
import { atCheckpoint } from '../../src/projections/checkpoint/queries.ts'
import { adjusted, creditExpired, credited, opened, planSubscribed, routed, used } from '../roles/projector/facts.ts'
import { openProjected, project } from '../roles/projector/projecting.ts'
import { temporaryFolder } from '../support/gateway.ts'
import { MemoryLog } from '../support/memory-log.ts'
import { startPostgres } from '../support/postgres.ts'

const run = promisify(execFile)
/** `make journals` names the folders of both programs; the texts are compared without them. */
const programs = process.env['JOURNAL_PROGRAMS']

const times = [
  '2026-02-20',
  '2026-02-20',
  '2026-02-21',
  '2026-03-02',
  '2026-03-02',
  '2026-03-03',
  '2026-03-04',
  '2026-03-04',
  '2026-03-31',
  '2026-04-01',
]
const corrected = (id: string, amount: string, changes: object): FactOf<'AdjustmentPosted'> => {
  const { type, data } = adjusted(id, amount)
  const { corrects: _, ...uncorrecting } = data
  return { type, data: { ...uncorrecting, reason: 'correction', ...changes } }
}
const log = new MemoryLog({ timeOf: (sequence) => `${times[sequence - 1] ?? '2026-04-02'}T12:00:00.000Z` })
await log.append([opened()])
await log.postToWallet('acme', [credited('first', '10')])
await log.append([routed('one'), used('one', { total: '0.25' })])
await log.append([routed('two'), used('two', { total: '1.5', model: 'x/a:b "c" ; d' })])
await log.postToWallet('acme', [
  planSubscribed('sub-1', ['2026-03-01', '2026-04-01'], { price: '2', includedCredit: '1' }),
])
await log.postToWallet('acme', [corrected('refund', '0.000000000001', { corrects: 'two' })])
await log.append([
  routed('dot'),
  used('dot', { total: '0.1', model: 'x/a.b' }),
  ...[routed('hyphen'), used('hyphen', { total: '0.01', model: 'x/a-b' })],
  ...[routed('named'), used('named', { total: '0.001', model: 'unattributed' })],
])
await log.postToWallet('acme', [
  corrected('typo', '-9', { corrects: creditKey('first') }),
  corrected('typo-2', '1', { corrects: 'typo' }),
  corrected('returned', '-0.5', { reason: 'chargeback' }),
  corrected('returned-2', '0.25', { corrects: 'returned' }),
])
await log.postToWallet('acme', [creditExpired('sub-1@2026-03-01T12:00:00.000Z', '1')])
await log.append([routed('later'), used('later')])

const projected = await openProjected(t, await startPostgres(t))
await project(log, projected.store, 3)
const costs = [
  { provider: 'openai', day: '2026-03-02', model: 'gpt-4o', amountPicos: parseUsd('0.2') },
  { provider: 'openai', day: '2026-03-02', model: 'gpt-4o', amountPicos: parseUsd('0.3') },
  { provider: 'openai', day: '2026-03-31', model: '', amountPicos: parseUsd('-0.1') },
]
const journalOf = async (format: JournalFormat): Promise<string> => {
  const { db } = projected.database
  const read = await atCheckpoint(db, async (trx) => text(readDoubleEntryJournal(trx, '2026-03', format, costs)))
  return read.value
}

const postings = (journal: string): readonly (readonly [account: string, picos: bigint])[] =>
  [...journal.matchAll(/^ {2}(\S+) {2}(\S+) USD$/gm)].map(([, account = '', amount = '']) => [
    account,
    parseUsd(amount),
  ])

const balanceOf = (journal: string, prefix: string): string =>
  formatUsd(
    postings(journal)
      .filter(([account]) => account.startsWith(prefix))
      .reduce((sum, [, picos]) => sum + picos, 0n),
  )

for (const format of ['hledger', 'beancount'] as const)
  t.test(`a month as ${format} reads it`, async (t) => {
    const journal = await journalOf(format)
    t.equal(balanceOf(journal, ''), '0', 'every transaction balances')
    const usage = new Map(postings(journal).filter(([account]) => account.startsWith('Income:Usage')))
    t.match([...usage.keys()].toSorted(), [
      'Income:Usage:Unattributed-X',
      'Income:Usage:X:A-b',
      /^Income:Usage:X:A-b--c----d-X[0-9a-f]{12}$/,
      /^Income:Usage:X:A-b-X[0-9a-f]{12}$/,
    ])
    t.equal(usage.get('Income:Usage:X:A-b'), parseUsd('-0.01'))
    t.equal(balanceOf(journal, 'Income:Usage:X:A-b--c----d'), '-1.5')
    t.equal(balanceOf(journal, 'Income:Corrections:X:A-b--c----d'), '0.000000000001')
    t.equal(balanceOf(journal, 'Income:Fees'), '-2')
    t.equal(balanceOf(journal, 'Income:Breakage'), '-0.889')
    t.equal(balanceOf(journal, 'Income:Included-Credit'), '1')
    t.equal(
      balanceOf(journal, 'Assets:Receipts'),
      '-8.25',
      'what was paid and is corrected or charged back was not received',
    )
    t.equal(balanceOf(journal, 'Expenses:Providers:Openai:Gpt-4o'), '0.5')
    t.equal(balanceOf(journal, 'Expenses:Providers:Openai:Unattributed'), '-0.1')
    t.equal(balanceOf(journal, 'Liabilities:Providers:Openai'), '-0.4')
    t.equal(balanceOf(journal, 'Equity'), '9.75')
    const closing = balanceOf(journal, 'Liabilities:Wallets:Acme')
    t.match(
      journal,
      format === 'hledger' ? `Acme  0 USD = ${closing} USD` : `balance Liabilities:Wallets:Acme  ${closing} ~ 0 USD`,
    )
    t.notMatch(journal, /2026-04-01 \*/)
    t.match(journal, /^; Draft: 2026-03 is not closed/)
    t.notMatch(journal, 'closing balance')
    t.match(
      journal,
      format === 'hledger'
        ? /acme \| Receipts {2}; reason:chargeback\n.*\n {2}Assets:Receipts {2}-0\.5 USD\n/
        : /"acme" "Receipts"\n {2}reason: "chargeback"\n.*\n {2}Assets:Receipts {2}-0\.5 USD\n/,
      'corrections are apart by their reasons',
    )
  })

t.test('the digest and the totals of the month are those that were recorded once', async (t) => {
  const { db } = projected.database
  const { value } = await atCheckpoint(db, (trx) => readPeriodJournal(trx, '2026-03', 12))
  t.equal(value.digest, '76a1f75978d49c346ae32529695e9acd3aa87a5d8a7021ad864a56d90747147d')
  t.match(value.totals, { credits: '-7.25', corrections: '-0.000000000001', fees: '2', lapsed: '0.889' })
})

const check = async (t: Test, format: JournalFormat, journal: string): Promise<string> => {
  const file = join(await temporaryFolder(t), `month.${format}`)
  await writeFile(file, journal)
  if (format === 'hledger') {
    await run('hledger', ['-f', file, 'check', '--strict'])
    return (await run('hledger', ['-f', file, 'balance', 'Liabilities', '-N', '--flat'])).stdout
  }
  await run(join(programs!, 'bean-check'), [file])
  return ''
}

t.test(
  'both programs accept it, and refuse one that is off by a pico-dollar',
  { skip: programs === undefined && 'make journals' },
  async (t) => {
    for (const format of ['hledger', 'beancount'] as const) {
      const journal = await journalOf(format)
      const closing = balanceOf(journal, 'Liabilities:Wallets:Acme')
      const shown = await check(t, format, journal)
      if (format === 'hledger') t.match(shown, closing)
      const asserted = format === 'hledger' ? `= ${closing} USD` : `${closing} ~ 0 USD`
      const wrong = journal.replace(asserted, asserted.replace(closing, formatUsd(parseUsd(closing) + 1n)))
      t.not(wrong, journal)
      await t.rejects(check(t, format, wrong), format)
    }
  },
)

t.test('of a closed month it is no draft', async (t) => {
  await log.append([{ type: 'PeriodCutOff', data: { month: '2026-03' } }])
  await project(log, projected.store, 3)
  const journal = await journalOf('hledger')
  t.match(journal, 'closing balance')
  t.notMatch(journal, 'Draft')
})
