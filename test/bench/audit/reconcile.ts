/** How long the lines of an invoice take to be compared with a ledger, and in how much memory: each form in a process of its own. */
import { execFile } from 'node:child_process'
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { defaultSchema } from '../../../src/adapters/postgres/connection.ts'
import { PostgresReconcileRepository } from '../../../src/adapters/postgres/reconcile-repository.ts'
import { formatUsd } from '../../../src/domain/money.ts'
import { createDayFormatter } from '../../../src/reconcile/invoices/days.ts'
import { type FormatName, Invoice } from '../../../src/reconcile/invoices/invoice.ts'
import { createModelNames } from '../../../src/reconcile/models.ts'
import { reconcileInvoice } from '../../../src/reconcile/reconcile.ts'
import { startPostgres } from '../../support/postgres.ts'
import { peakMemoryBytes } from '../procfs.ts'
import { progress, temporaryFolder } from '../run.ts'
import { megabytes, table, whole } from '../table.ts'

const models = 4
const keys = 20
const firstMs = Date.parse('2026-03-01T00:00:00Z')
const dayMs = 86_400_000
const periodDays = 30

/** Every request costs as much as its number says, so that a file can be written without the tables. */
const tokensOf = (request: number) => ({ input: 100 + (request % 900), output: 10 + (request % 90) })
const costOf = ({ input, output }: ReturnType<typeof tokensOf>): bigint =>
  BigInt(input) * 1_250_000n + BigInt(output) * 10_000_000n
const modelOf = (request: number): string => `m${request % models}`

const fillRequests = (requests: number): string => `
  insert into requests (request_id, sequence, event_index, workspace_id, key_id, surface, model, router, stream, status, error_status,
    error_reason, served_model, level, attempts, reserved, total, routed_at, closed_at)
  select 'request-' || n, n, 1, 'workspace-' || n % 16, 'key-1', 'chat', 'bench/m' || n % ${models}, null, true, 'ok', null, null,
    'bench/m' || n % ${models}, 0, json_build_array(json_build_object('outcome', 'served', 'upstreamRequestId', 'req_' || n)),
    0.05, 0, at - interval '2 seconds', at
  from (select n, timestamptz '2026-03-01T00:00:00Z' + n * interval '${periodDays} days' / ${requests} as at
        from generate_series(0, ${requests - 1}) n) as asked`

const fillUsage = (requests: number): string => `
  insert into usage_entries (workspace_id, sequence, event_index, request_id, key_id, surface, model, provider, level, price_version,
    prompt_total, input_uncached, cache_read, cache_write_5m, cache_write_1h, input_audio, input_image, output_total, output_reasoning,
    output_audio, output_image, tool_calls, source, outcome, lines, total, time)
  select 'workspace-' || n % 16, n, 1, 'request-' || n, 'key-1', 'chat', 'bench/m' || n % ${models}, 'bench', 0, 'v1',
    input, input, 0, 0, 0, 0, 0, output, 0, 0, 0, '{}', 'reported', 'completed',
    json_build_array(
      json_build_object('item', 'input', 'quantity', input, 'unitPrice', '0.00000125', 'amount', (input * 0.00000125)::text),
      json_build_object('item', 'output', 'quantity', output, 'unitPrice', '0.00001', 'amount', (output * 0.00001)::text)),
    input * 0.00000125 + output * 0.00001, at
  from (select n, 100 + n % 900 as input, 10 + n % 90 as output,
               timestamptz '2026-03-01T00:00:00Z' + n * interval '${periodDays} days' / ${requests} as at
        from generate_series(0, ${requests - 1}) n) as asked`

const timeOf = (request: number, requests: number): number => firstMs + (request * periodDays * dayMs) / requests

interface Case {
  readonly name: string
  readonly format: FormatName
  readonly lines: (lines: number, requests: number) => Generator<string>
  /** Null: every day. */
  readonly lastDay: (lines: number, requests: number) => string
}

const isoDay = (atMs: number): string => new Date(atMs).toISOString().slice(0, 'YYYY-MM-DD'.length)
const wholePeriod = (): string => isoDay(firstMs + (periodDays - 1) * dayMs)

/** One line for each of the first requests, in an order of its own. */
function* requestLines(idColumn: string, prefix: string, lines: number, requests: number): Generator<string> {
  yield `provider,model,time,${idColumn},input,output,amount\n`
  const step = 7_919 // A prime: the lines come in no order that the ledger knows.
  for (let line = 0; line < lines; line += 1) {
    const request = (line * step) % lines
    const tokens = tokensOf(request)
    const time = new Date(timeOf(request, requests)).toISOString()
    const amount = formatUsd(costOf(tokens)).padEnd(14, '0')
    yield `bench,${modelOf(request)},${time},${prefix}${request},${tokens.input},${tokens.output},${amount}\n`
  }
}

/** The same sums for each day and model, told in as many lines as are asked for: by minute and key. */
function* usageLines(lines: number, requests: number): Generator<string> {
  yield 'start_time,end_time,start_time_iso,end_time_iso,num_model_requests,api_key_id,model,input_tokens,output_tokens,input_cached_tokens\n'
  const sums = new Map<string, { input: number; output: number }>()
  for (let request = 0; request < requests; request += 1) {
    const name = `${isoDay(timeOf(request, requests))} ${modelOf(request)}`
    const sum = sums.get(name) ?? { input: 0, output: 0 }
    const { input, output } = tokensOf(request)
    sums.set(name, { input: sum.input + input, output: sum.output + output })
  }
  const parts = Math.floor(lines / sums.size)
  for (const [name, { input, output }] of sums) {
    const [day, model] = name.split(' ')
    const startSeconds = Date.parse(`${day}T00:00:00Z`) / 1_000
    for (let part = 0; part < parts; part += 1) {
      const minute = startSeconds + (part % 1_440) * 60
      const share = (total: number): number => Math.floor(total / parts) + (part < total % parts ? 1 : 0)
      const iso = new Date(minute * 1_000).toISOString()
      yield `${minute},${minute + 60},${iso},${iso},1.0,key_${part % keys},${model},${share(input)}.0,${share(output)}.0,0.0\n`
    }
  }
}

const lastDayOfLines = (lines: number, requests: number): string => isoDay(timeOf(lines - 1, requests))

const cases: readonly Case[] = [
  {
    name: 'request by request (csv)',
    format: 'csv',
    lines: (lines, requests) => requestLines('request_id', 'request-', lines, requests),
    lastDay: lastDayOfLines,
  },
  {
    name: "by the provider's ids (csv)",
    format: 'csv',
    lines: (lines, requests) => requestLines('upstream_request_id', 'req_', lines, requests),
    lastDay: lastDayOfLines,
  },
  { name: 'by minute, model and key (openai-usage)', format: 'openai-usage', lines: usageLines, lastDay: wholePeriod },
]

interface Measured {
  readonly seconds: number
  readonly rows: number
  readonly peakBytes: number | null
  readonly classes: string
}

/** In a process of its own. */
const measure = async (url: string, file: string, format: FormatName, to: string): Promise<Measured> => {
  const fromMs = performance.now()
  const provider = 'bench'
  const result = await PostgresReconcileRepository.run({ url, schema: defaultSchema }, provider, (books) =>
    reconcileInvoice({
      invoice: new Invoice([{ name: file, open: () => createReadStream(file) }], format, {
        provider,
        dayOf: createDayFormatter('UTC'),
        roundingPicos: null,
      }),
      repository: books,
      names: createModelNames({
        provider,
        catalog: { providers: new Map([[provider, { models: {} }]]) },
        prices: new Map(),
      }),
      unitPrice: null,
      timezone: 'UTC',
      from: isoDay(firstMs),
      to,
      noteOf: () => '',
      onFinding: () => {},
      onCorrection: () => {},
    }),
  )
  if ('faults' in result) throw new Error(JSON.stringify(result.faults[0]))
  const { rows, totals } = result
  const classes = [...totals.classes].map(([name, { count }]) => `${name} ${count}`).join(', ')
  return { seconds: (performance.now() - fromMs) / 1_000, rows, peakBytes: peakMemoryBytes(process.pid), classes }
}

const copySeconds = async (url: string, file: string): Promise<number> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('create temporary table bare (line text)')
  const fromMs = performance.now()
  await pipeline(
    createReadStream(file),
    client.query(copyFrom(`copy bare from stdin (format csv, delimiter E'\\x01')`)),
  )
  const seconds = (performance.now() - fromMs) / 1_000
  await client.end()
  return seconds
}

const thisFile = fileURLToPath(import.meta.url)

const measureApart = async (url: string, file: string, format: FormatName, to: string): Promise<Measured> => {
  const { stdout } = await promisify(execFile)(process.execPath, [thisFile, '--run', url, file, format, to])
  return JSON.parse(stdout) as Measured
}

export interface InvoiceReport {
  readonly name: string
  readonly rows: number
  readonly fileBytes: number
  readonly seconds: number
  readonly copySeconds: number
  readonly peakBytes: number | null
  /** What was found, and how often; empty where the invoice is the ledger's. */
  readonly classes: string
}

const measureCase = async (
  url: string,
  folder: string,
  { name, format, lines, lastDay }: Case,
  { lines: count, rows: requests }: InvoiceOptions,
): Promise<InvoiceReport> => {
  const file = join(folder, `${format}.csv`)
  await pipeline(Readable.from(lines(count, requests)), createWriteStream(file))
  const bare = await copySeconds(url, file)
  const { seconds, rows, peakBytes, classes } = await measureApart(url, file, format, lastDay(count, requests))
  const { size } = await stat(file)
  return { name, rows, fileBytes: size, seconds, copySeconds: bare, peakBytes, classes }
}

export interface InvoiceOptions {
  /** Of an invoice. */
  readonly lines: number
  /** Charges in the ledger. */
  readonly rows: number
}

export const measureInvoices = async (
  options: InvoiceOptions,
  stack: AsyncDisposableStack,
): Promise<readonly InvoiceReport[]> => {
  const postgres = await startPostgres({ teardown: (stop) => stack.defer(stop) })
  const folder = await temporaryFolder(tmpdir(), stack)
  const { url } = await postgres.newDatabase()
  const client = new pg.Client({ connectionString: url, options: `-c search_path=${defaultSchema}` })
  await client.connect()
  await client.query(fillRequests(options.rows))
  await client.query(fillUsage(options.rows))
  await client.query('analyze')
  await client.end()
  const reports: InvoiceReport[] = []
  for (const each of cases) {
    progress(`measuring reconcile, ${each.name}`)
    reports.push(await measureCase(url, folder, each, options))
  }
  return reports
}

export const invoicesText = (reports: readonly InvoiceReport[]): string =>
  table(
    ['reconcile', 'found', 'lines', 'file', 'seconds', 'of a bare COPY', 'peak'],
    reports.map(({ name, classes, rows, fileBytes, seconds, copySeconds: bare, peakBytes }) => [
      ...[name, classes || 'no difference', whole(rows), megabytes(fileBytes), seconds.toFixed(2)],
      ...[`${(bare / seconds).toFixed(3)} ×`, megabytes(peakBytes)],
    ]),
  )

if (process.argv[2] === '--run') {
  const [url, file, format, to] = process.argv.slice(3)
  process.stdout.write(JSON.stringify(await measure(url!, file!, format as FormatName, to!)))
}
