/**
 * `make clients`: Claude Code, Codex and the tool runners of both Anthropic SDKs, as they come from their registries, each in sessions with a tool
 * on GPT models, through the whole gateway. The upstream refuses what OpenAI refuses. Prints a line for each client, and exits with 1 where
 * a session does not complete, where the upstream refused a request, or where the ledger is not what the upstream answered.
 */
import { randomBytes } from 'node:crypto'
import { VERSION as typescriptSdkVersion } from '@anthropic-ai/sdk/version'
import { formatUsd } from '../../src/domain/money.ts'
import { startGateway } from '../bench/gateway.ts'
import { installWith } from '../bench/installation.ts'
import { type Books, openBooks } from '../bench/ledger.ts'
import { placeOptions, progress, runToEnd, temporaryFolder } from '../bench/run.ts'
import { pricesOf, sheetOf } from '../support/gateway.ts'
import {
  claudeCodeVersion,
  codexVersion,
  installClaudeCode,
  installCodex,
  installPythonSdk,
  pythonSdkVersion,
} from './install.ts'
import { claudeCode, codex, type Place, pythonToolRunner, type Session, typescriptToolRunner } from './sessions.ts'
import { type Answered, StrictUpstream } from './upstream.ts'

const models = ['openai/gpt-4o-mini', 'openai/gpt-5.1', 'openai/gpt-5.6-sol']
const inputPicos = 1_000_000n // One token, at 1 USD a million; the output at 2.
const outputPicos = 2_000_000n

interface Bills {
  readonly count: number
  readonly picos: bigint
  readonly openRequests: number
}

const billsIn = async (books: Books): Promise<Bills> => {
  await books.settled()
  const bills = await books.bills()
  return {
    count: bills.reduce((sum, { count }) => sum + count, 0),
    picos: bills.reduce((sum, { picos }) => sum + picos, 0n),
    openRequests: await books.openRequests(),
  }
}

const picosOf = ({ promptTokens, outputTokens }: Answered): bigint =>
  BigInt(promptTokens) * inputPicos + BigInt(outputTokens) * outputPicos

/** What the ledger lacks of what the upstream has answered by now. */
const checkLedger = ({ count, picos, openRequests }: Bills, answered: Answered): void => {
  if (answered.refusals.length > 0) throw new Error(`the upstream refused: ${answered.refusals.join('; ')}`)
  if (count !== answered.answers) throw new Error(`${answered.answers} answers have ${count} bills`)
  if (picos !== picosOf(answered)) throw new Error(`$${formatUsd(picosOf(answered))} is billed as $${formatUsd(picos)}`)
  if (openRequests > 0) throw new Error(`${openRequests} requests have no end`)
}

interface Bench {
  readonly place: Omit<Place, 'model'>
  readonly upstream: StrictUpstream
  readonly books: Books
}

/** One line of what a client did with a model; throws what is wrong. */
const runSession = async ({ place, upstream, books }: Bench, model: string, session: Session): Promise<string> => {
  const [before, billsBefore] = [upstream.answered, await billsIn(books)]
  const word = `heron-${randomBytes(4).toString('hex')}`
  const texts = await session({ ...place, model }, word)
  const bills = await billsIn(books)
  checkLedger(bills, upstream.answered)
  const calls = upstream.answered.calls - before.calls
  if (calls === 0) throw new Error('no tool was called')
  if (texts.length === 0 || !texts.every((text) => text.includes(word)))
    throw new Error(`an answer is not what the tool said: ${texts.join(' | ')}`)
  const answers = upstream.answered.answers - before.answers
  const billed = formatUsd(bills.picos - billsBefore.picos)
  return `${calls} tool calls, ${answers} answers, ${bills.count - billsBefore.count} bills, $${billed}`
}

const clients = (): readonly (readonly [name: string, session: Session])[] => [
  [`Claude Code ${claudeCodeVersion}`, claudeCode(installClaudeCode())],
  [`Codex ${codexVersion}`, codex(installCodex())],
  [`tool runner of the TypeScript SDK ${typescriptSdkVersion}`, typescriptToolRunner],
  [`tool runner of the Python SDK ${pythonSdkVersion}`, pythonToolRunner(installPythonSdk())],
]

const start = async (stack: AsyncDisposableStack): Promise<Bench> => {
  const upstream = stack.adopt(new StrictUpstream(), (each) => each.stop())
  const folder = await temporaryFolder(placeOptions.folder.default, stack)
  // Codex speaks the responses API alone, and the upstream the chat API: its requests are translated.
  const capabilities = { responses: false }
  const openai = { dialect: 'openai', base_url: await upstream.start(), api_key: 'sk-of-the-provider', capabilities }
  const sheets = Object.fromEntries(
    models.map((model) => [model, sheetOf({ max_output_tokens: model.includes('gpt-4o') ? 16_384 : 128_000 })]),
  )
  const installation = installWith(folder, { providers: { openai } }, pricesOf(sheets))
  const gateway = stack.adopt(await startGateway(installation), (each) => each.stop())
  const { books } = await openBooks(gateway, stack)
  return { place: { url: gateway.url, key: gateway.key }, upstream, books }
}

await runToEnd(async (stack) => {
  progress('installing the clients')
  const installed = clients()
  const bench = await start(stack)
  for (const [name, session] of installed)
    for (const model of models)
      try {
        console.log(`ok    ${name} on ${model}: ${await runSession(bench, model, session)}`)
      } catch (fault) {
        process.exitCode = 1
        console.log(`FAIL  ${name} on ${model}: ${fault instanceof Error ? fault.message : String(fault)}`)
      }
})
