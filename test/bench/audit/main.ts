/**
 * `make bench-audit`: a log of a million mixed events, sealed and projected by a running gateway; then the commands of the audit on it, each
 * in a process of its own, beside a bare SHA-256 pass and a bare COPY; then the queries of the read API and what finance reads of the
 * same tables, and the comparison of invoices on tables of its own. Exits with 1 when a command finds what is not there; targets are reported, not enforced.
 */
import { execFile } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Addresses } from '../../../src/embedded/embedded.ts'
import { programFlags } from '../../support/program.ts'
import { startProcess } from '../child.ts'
import { startGateway } from '../gateway.ts'
import { type Installation, install } from '../installation.ts'
import { openBooks } from '../ledger.ts'
import { openBenchLog } from '../open-log.ts'
import { peakMemoryBytes } from '../procfs.ts'
import { numberOf, placeOptions, progress, runToEnd, temporaryFolder, writeJson } from '../run.ts'
import { megabytes, type Target, table, targetLine, whole } from '../table.ts'
import { type HashPass, measureCopy, measureHash } from './baselines.ts'
import { appendMixed } from './mixed-log.ts'
import { focusStep, type MonthReport, measureMonth, monthText, readPerSecond, reportStep } from './month.ts'
import { measureQueries, type QueryReport, queriesText, targetMs } from './queries.ts'
import type { RebuildQuestion, Rebuilt } from './rebuild.ts'
import { type InvoiceReport, invoicesText, measureInvoices } from './reconcile.ts'

const nowhere = 'http://127.0.0.1:9' // Nothing is asked of an upstream.
const pollMs = 20
const outputBytesMax = 2 ** 26
const memoryMax = 400 * 2 ** 20
const commandFlags = [...programFlags, '--semi-space-growth-factor=1'] // As `src/main.ts` has it for commands.
const targets = { verify: 300_000, rebuild: 60_000, reconcileSeconds: 20, reportSeconds: 1, focus: 50_000 } as const

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      events: { type: 'string', default: '1000000' },
      rows: { type: 'string', default: '1000000' },
      samples: { type: 'string', default: '500' },
      lines: { type: 'string', default: '100000' },
      ...placeOptions,
    },
  })
  const { events, rows, samples, lines, folder, json } = values
  return {
    ...{ events: numberOf(events), rows: numberOf(rows), samples: numberOf(samples), lines: numberOf(lines) },
    folder,
    json,
  }
}
type Options = ReturnType<typeof readOptions>

/** One command, from its start to its end. */
interface Run {
  readonly what: string
  readonly seconds: number
  readonly peakBytes: number | null
  /** Of the bare pass over the same bytes or rows, where there is one: how often that fits in. */
  readonly ofBare: string
  readonly right: boolean
}

/** With the start of the program, as its user waits for it. */
const runCommand = (
  { config, dataFolder, program }: Installation,
  words: readonly string[],
): Promise<Pick<Run, 'seconds' | 'peakBytes' | 'right'>> =>
  new Promise((resolve) => {
    const fromMs = performance.now()
    let peakBytes: number | null = null
    const child = execFile(
      process.execPath,
      [...program, '--config', config, '--data', dataFolder, ...words],
      { maxBuffer: outputBytesMax },
      (fault, _out, said) => {
        clearInterval(watch)
        if (fault !== null) progress(said)
        resolve({ seconds: (performance.now() - fromMs) / 1_000, peakBytes, right: fault === null })
      },
    )
    const watch = setInterval(() => {
      peakBytes = peakMemoryBytes(child.pid!) ?? peakBytes
    }, pollMs)
  })

const rebuild = async (what: string, question: RebuildQuestion, copySeconds: number): Promise<Run> => {
  const child = startProcess('audit/rebuild.ts', [], commandFlags)
  const { seconds, peakBytes, equal } = await child.ask<Rebuilt>(question)
  await child.stop()
  return { what, seconds, peakBytes, right: equal, ofBare: `${(copySeconds / seconds).toFixed(2)} × a bare COPY` }
}

interface LogReport {
  readonly events: number
  readonly frames: number
  readonly appendedPerSecond: number
  readonly hash: HashPass
  readonly copySeconds: number
  readonly runs: readonly Run[]
}

const measureRuns = async (
  installation: Installation,
  addresses: Addresses,
  archive: string,
  { hash, copySeconds }: Pick<LogReport, 'hash' | 'copySeconds'>,
): Promise<readonly Run[]> => {
  const runs: Run[] = []
  const command = async (what: string, ...words: readonly string[]): Promise<void> => {
    progress(`measuring ${what}`)
    const run = await runCommand(installation, words)
    runs.push({ what, ...run, ofBare: `${(hash.seconds / run.seconds).toFixed(2)} × a bare SHA-256` })
  }
  await command('verify', 'verify')
  await command('verify --events', 'verify', '--events')
  await command('archive', 'archive', archive)
  await command('verify --archive', 'verify', '--archive', archive)
  for (const from of [null, archive]) {
    const what = from === null ? 'rebuild' : 'rebuild from the archive'
    progress(`measuring ${what}`)
    runs.push(await rebuild(what, { addresses, archive: from }, copySeconds))
  }
  return runs
}

const measureLog = async ({ events: asked, folder: parent }: Options): Promise<LogReport> => {
  await using stack = new AsyncDisposableStack()
  const folder = await temporaryFolder(parent, stack)
  const installation = install(folder, nowhere, 'bench')
  const gateway = stack.adopt(await startGateway(installation), (each) => each.stop())
  const { books, addresses } = await openBooks(gateway, stack)
  const { log } = stack.adopt(await openBenchLog(addresses, 'GATEWAY', 'gateway'), (each) => each.close())
  progress(`appending ${whole(asked)} events`)
  const fromMs = performance.now()
  const events = await appendMixed(log, asked)
  const appendedPerSecond = events / ((performance.now() - fromMs) / 1_000)
  progress('the tables follow')
  await books.settled()
  const frames = await log.lastSequence()
  const bare = { hash: await measureHash(log, folder), copySeconds: await measureCopy(addresses.databaseUrl, folder) }
  const runs = await measureRuns(installation, addresses, join(folder, 'archive'), bare)
  return { events, frames, appendedPerSecond, ...bare, runs }
}

interface Report {
  readonly log: LogReport
  readonly queries: QueryReport
  readonly month: readonly MonthReport[]
  readonly invoices: readonly InvoiceReport[]
}

const perSecond = ({ events }: LogReport, { seconds }: Run): number => events / seconds

const speedTarget = (log: LogReport, what: string, least: number): Target => {
  const run = log.runs.find((each) => each.what === what)!
  const found = perSecond(log, run)
  return { what: `${what}: at least ${whole(least)} events/s`, found: `${whole(found)}/s`, met: found >= least }
}

const targetsOf = ({ log, queries, month, invoices }: Report): readonly Target[] => {
  const peak = Math.max(
    ...log.runs.map(({ peakBytes }) => peakBytes ?? 0),
    ...[...month, ...invoices].map(({ peakBytes }) => peakBytes ?? 0),
  )
  const stepOf = (wanted: string): MonthReport => month.find(({ name }) => name === wanted)!
  const reportSeconds = stepOf(reportStep).seconds
  const focusRows = readPerSecond(stepOf(focusStep))
  const slowestMs = Math.max(...queries.queries.map(({ p99Ms }) => p99Ms))
  const longest = Math.max(...invoices.map(({ seconds }) => seconds))
  return [
    speedTarget(log, 'verify', targets.verify),
    speedTarget(log, 'rebuild', targets.rebuild),
    { what: `memory: at most ${megabytes(memoryMax)}`, found: megabytes(peak), met: peak <= memoryMax },
    {
      what: `queries: p99 at most ${targetMs} ms`,
      found: `${slowestMs.toFixed(1)} ms`,
      met: slowestMs <= targetMs,
    },
    {
      what: `reconcile: at most ${targets.reconcileSeconds} s`,
      found: `${longest.toFixed(1)} s`,
      met: longest <= targets.reconcileSeconds,
    },
    {
      what: `${reportStep}: at most ${targets.reportSeconds} s`,
      found: `${reportSeconds.toFixed(2)} s`,
      met: reportSeconds <= targets.reportSeconds,
    },
    {
      what: `${focusStep}: at least ${whole(targets.focus)} bill lines/s`,
      found: `${whole(focusRows)}/s`,
      met: focusRows >= targets.focus,
    },
  ]
}

const logText = (log: LogReport): string =>
  [
    `${whole(log.events)} events in ${whole(log.frames)} frames (${megabytes(log.hash.bytes)}), appended at ${whole(log.appendedPerSecond)}/s while a gateway sealed and projected them`,
    `bare: SHA-256 over the frames in ${log.hash.seconds.toFixed(2)} s, COPY of the largest tables in ${log.copySeconds.toFixed(2)} s`,
    '',
    table(
      ['what', 'seconds', 'events/s', 'of the bare', 'peak'],
      log.runs.map((run) => [
        ...[run.what, run.seconds.toFixed(1), whole(perSecond(log, run)), run.ofBare],
        megabytes(run.peakBytes),
      ]),
      1,
    ),
  ].join('\n')

const reportText = (report: Report): string =>
  [
    `${availableParallelism()} cores, everything on them`,
    '',
    logText(report.log),
    '',
    queriesText(report.queries),
    '',
    monthText(report.month),
    '',
    invoicesText(report.invoices),
    '',
    ...targetsOf(report).map(targetLine),
    ...report.log.runs.filter(({ right }) => !right).map(({ what }) => `WRONG: ${what} found what is not there`),
  ].join('\n')

const options = readOptions()
const report = await runToEnd(async (stack) => {
  const log = await measureLog(options)
  const queries = await measureQueries(options, stack)
  const month = await measureMonth(queries.databaseUrl, stack)
  return { log, queries, month, invoices: await measureInvoices(options, stack) }
})
console.log(reportText(report))
if (options.json !== undefined) await writeJson(options.json, { ...report, targets: targetsOf(report) })
process.exitCode = report.log.runs.every(({ right }) => right) ? 0 : 1
