import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { sayAt } from '../../dashboard/seed.ts'
import { tablesCaughtUp } from '../../dashboard/world.ts'
import { exampleConfig, exampleMonth, postExampleMonth } from '../../support/example-month.ts'
import { startTestGateway } from '../../support/gateway.ts'
import { runProgram } from '../../support/program.ts'

/** `make example-month` sets it; without it the files are compared with what the commands print. */
const isWriting = process.env['WRITE_EXAMPLES'] !== undefined
const folder = new URL('../../../docs/examples/month/', import.meta.url).pathname
const month = exampleMonth

const { operator, config } = await startTestGateway(t, {
  config: { tagNames: ['team'] },
  openAccount: (context) => context.openAccount('acme', '0'),
})
const { dataFolder } = config
await writeFile(join(dataFolder, 'gateway.yaml'), exampleConfig)
await postExampleMonth((atMs, facts, wallet) => sayAt({ config }, () => atMs, facts, wallet))
await tablesCaughtUp({ operator })

const run = async (...words: readonly string[]): Promise<string> => {
  const { code, out, err } = await runProgram(dataFolder, dataFolder, ...words)
  if (code !== 0) throw new Error(`${words.join(' ')}: ${err}`)
  return out
}

/** What the providers of the month invoiced, with one answer of fewer tokens, and one that is not in the log. */
const invoiceFile = join(folder, 'providers.csv')

t.test('the invoice of the example month differs where the documentation says', async (t) => {
  const reconcile = (provider: string) =>
    runProgram(dataFolder, dataFolder, 'reconcile', '--provider', provider, '--format', 'csv', '--file', invoiceFile)
  const openai = await reconcile('openai')
  t.match(openai, { code: 1, out: /token_drift +-0\.0008 .* request-3 .*output 900 for 1000/ })
  t.match(openai.out, /difference: 1\n/)
  const anthropic = await reconcile('anthropic')
  t.match(anthropic, { code: 1, out: / 0\.0165 .* req_7 / })
  t.match(anthropic.out, /difference: 1\n/)
})

const range = ['--from', `${month}-01`, '--to', `${month}-30`]
/** The files, each with the command that prints it. */
const files: readonly (readonly [string, readonly string[]])[] = [
  ['report.csv', ['report', '--month', month, '--group-by', 'workspace,model,tag:team', '--format', 'csv']],
  ['statement-acme.csv', ['statement', 'acme', ...range, '--csv']],
  ['month.journal', ['export', 'journal', '--month', month, '--format', 'hledger']],
  ['month.beancount', ['export', 'journal', '--month', month, '--format', 'beancount']],
  ['focus.csv', ['export', 'focus', '--month', month]],
  ['invoice-acme.html', ['invoice', 'print', 'INV-000001']],
]

/** What differs from run to run: the moments of now, the frame that closed the month, and what is hashed with them. */
const withoutMoments = (text: string): string =>
  text
    .replaceAll(/\b[0-9a-f]{64}\b/g, '<digest>')
    .replaceAll(/\b20\d\d-\d\d-\d\d(?!T00:00)(T[0-9:.]+Z)?/g, (moment) =>
      moment.startsWith(month) ? moment : '<time>',
    )
    .replaceAll(/frame \d+/g, 'frame <number>')
    .replaceAll(/(?<=^[\dT:.-]+Z,)\d+/gm, '<sequence>')

t.test('docs/examples/month is what the commands print of such a month', async (t) => {
  await run('close', month)
  await run('invoice', 'issue', month)
  if (isWriting) await mkdir(folder, { recursive: true })
  for (const [name, words] of files) {
    const printed = await run(...words)
    const file = join(folder, name)
    if (isWriting) await writeFile(file, printed)
    else t.equal(withoutMoments(printed), withoutMoments(await readFile(file, 'utf8')), words.join(' '))
  }
  const known = [...files.map(([name]) => name), 'providers.csv'].toSorted()
  t.same((await readdir(folder)).toSorted(), known, 'and no other file')
})
