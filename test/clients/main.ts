/**
 * `make clients`: Claude Code, Codex, Gemini CLI and the tool runners of both Anthropic SDKs, as they come from their registries, each in sessions with a
 * tool on models of every upstream format, through the whole gateway. The upstream refuses what each format's provider refuses. Prints a line for each client, and exits with 1 where
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
  geminiCliVersion,
  installClaudeCode,
  installCodex,
  installGeminiCli,
  installPythonSdk,
  pythonSdkVersion,
} from './install.ts'
import {
  claudeCode,
  codex,
  geminiCli,
  type Place,
  pythonToolRunner,
  type Session,
  typescriptToolRunner,
} from './sessions.ts'
import { type Answered, StrictUpstream } from './upstream.ts'

/** `compatible` has no Responses API: its requests are translated to chat. */
const models = [
  'compatible/gpt-4o-mini',
  'compatible/gpt-5.1',
  'compatible/gpt-5.6-sol',
  'openai/gpt-5.1',
  'anthropic/claude-opus-5',
  'anthropic/claude-haiku-4-5',
  'gemini/gemini-2.5-pro',
  'gemini/gemini-3.7-flash',
]
/** Codex offers a search. */
const per_call = { web_search: '0.01' }
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
  const [ended] = await Promise.allSettled([session({ ...place, model }, word)])
  const bills = await billsIn(books)
  const refusals = upstream.answered.refusals.slice(before.refusals.length)
  if (refusals.length > 0) throw new Error(`the upstream refused: ${refusals.join('; ')}`)
  if (ended.status === 'rejected') throw ended.reason
  checkLedger(bills, upstream.answered)
  const calls = upstream.answered.calls - before.calls
  if (calls === 0) throw new Error('no tool was called')
  const texts = ended.value
  if (texts.length === 0 || !texts.every((text) => text.includes(word)))
    throw new Error(`an answer is not what the tool said: ${texts.join(' | ')}`)
  const answers = upstream.answered.answers - before.answers
  const billed = formatUsd(bills.picos - billsBefore.picos)
  return `${calls} tool calls, ${answers} answers, ${bills.count - billsBefore.count} bills, $${billed}`
}

const clients = (): readonly (readonly [name: string, session: Session])[] => [
  [`Claude Code ${claudeCodeVersion}`, claudeCode(installClaudeCode())],
  [`Codex ${codexVersion}`, codex(installCodex())],
  [`Gemini CLI ${geminiCliVersion}`, geminiCli(installGeminiCli())],
  [`tool runner of the TypeScript SDK ${typescriptSdkVersion}`, typescriptToolRunner],
  [`tool runner of the Python SDK ${pythonSdkVersion}`, pythonToolRunner(installPythonSdk())],
]

const start = async (stack: AsyncDisposableStack): Promise<Bench> => {
  const upstream = stack.adopt(new StrictUpstream(), (each) => each.stop())
  const folder = await temporaryFolder(placeOptions.folder.default, stack)
  const url = await upstream.start()
  const openai = { dialect: 'openai', base_url: `${url}/v1`, api_key: 'sk-of-the-provider' }
  const providers = {
    compatible: { ...openai, capabilities: { responses: false } },
    openai,
    anthropic: { ...openai, dialect: 'anthropic' },
    gemini: { ...openai, dialect: 'google', base_url: `${url}/v1beta` },
  }
  const sheets = Object.fromEntries(
    models.map((model) => [
      model,
      sheetOf({ max_output_tokens: model.includes('gpt-4o') ? 16_384 : 64_000, per_call }),
    ]),
  )
  const installation = installWith(folder, { providers }, pricesOf(sheets))
  const gateway = stack.adopt(await startGateway(installation), (each) => each.stop())
  const { books } = await openBooks(gateway, stack)
  return { place: { url: gateway.url, key: gateway.key }, upstream, books }
}

await runToEnd(async (stack) => {
  progress('installing the clients')
  const installed = clients()
  const bench = await start(stack)
  for (const [name, session] of installed)
    for (const model of models.filter((each) => `${name} on ${each}`.includes(process.env['CLIENTS_ONLY'] ?? '')))
      try {
        console.log(`ok    ${name} on ${model}: ${await runSession(bench, model, session)}`)
      } catch (fault) {
        process.exitCode = 1
        console.log(`FAIL  ${name} on ${model}: ${fault instanceof Error ? fault.message : String(fault)}`)
      }
})
