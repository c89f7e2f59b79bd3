import { existsSync, readFileSync, statSync } from 'node:fs'
import { open, rename, writeFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { publishDraft, toDraftPath } from '../adapters/archive/files.ts'
import { readDoubleEntryJournal } from '../audit/double-entry.ts'
import { readFocus } from '../audit/focus.ts'
import type { Config } from '../config/config.ts'
import { parseMonth } from '../domain/instant.ts'
import { faultText } from '../errors/gateway-error.ts'
import { atCheckpoint } from '../projections/checkpoint/queries.ts'
import type { Snapshot } from '../projections/schema/tables.ts'
import { ReportFault } from '../projections/statements/report.ts'
import type { ConfigOf } from './audit-command.ts'
import { catchUp } from './catch-up.ts'
import { cliLimits } from './command-limits.ts'
import { createMonthOption, requireBegun } from './option-values.ts'
import { requireTables, withPlatform } from './platform.ts'
import { readProviderCosts } from './provider-costs.ts'
import { collectOption } from './public-keys.ts'
import { foldWithProgress } from './read-source.ts'
import { CommandError, UsageError, writeOutput } from './report.ts'
import { createRuntime } from './runtime.ts'
import { type EventFormat, sendUsageEvents } from './usage-events.ts'

interface MonthOptions {
  readonly month: string
  readonly out?: string
}

interface JournalOptions extends MonthOptions {
  readonly format: Parameters<typeof readDoubleEntryJournal>[2]
  readonly invoice: readonly string[]
}

interface EventOptions {
  readonly format: EventFormat
  readonly to: string
  readonly fromSequence?: number
  readonly position?: string
}

const tokenVariable = 'GATEWAY_EXPORT_TOKEN'

const parseReceiverUrl = (text: string): string => {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new InvalidArgumentError(`an http or https URL without a user or password; the token is ${tokenVariable}`)
  return url.href
}

const parseSequence = (text: string): number => {
  const sequence = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(sequence) && sequence > 0) return sequence
  throw new InvalidArgumentError(`the sequence of a frame is a whole number above zero, got '${text}'`)
}

const readPosition = ({ fromSequence, position }: EventOptions): number => {
  if (fromSequence !== undefined && position !== undefined)
    throw new UsageError('give --from-sequence or --position, not both')
  if (position === undefined || !existsSync(position)) return fromSequence ?? 1
  try {
    return parseSequence(readFileSync(position, 'utf8').trim())
  } catch (fault) {
    throw new UsageError(`${position}: ${faultText(fault)}`, { cause: fault })
  }
}

const keepPosition = async (file: string, sequence: number): Promise<void> => {
  await writeFile(`${file}.new`, `${sequence}\n`)
  await rename(`${file}.new`, file)
}

const sendEvents = async (config: Config, options: EventOptions): Promise<void> => {
  const receiver = { format: options.format, url: options.to, token: process.env[tokenVariable] ?? '' }
  let next = readPosition(options)
  await withPlatform(config, createRuntime('warn'), { readOnly: true }, async ({ log }) => {
    try {
      const sent = await foldWithProgress('export', log, (source) =>
        sendUsageEvents(source, next, receiver, async (sequence) => {
          next = sequence
          if (options.position !== undefined) await keepPosition(options.position, next)
        }),
      )
      console.error(`${sent} events were accepted`)
    } finally {
      console.log(`--from-sequence ${next} continues`)
    }
  })
}

type ReadExport = (trx: Snapshot) => AsyncIterable<string>
type Write = (text: string) => Promise<unknown>

/** A file has its name once it is complete. Without one: standard output. */
const withOutput = async (file: string | undefined, work: (write: Write) => Promise<unknown>): Promise<void> => {
  if (file === undefined) {
    await work(writeOutput)
    return
  }
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw new UsageError(`${file} is a folder: name a file`)
  const draft = await open(toDraftPath(file), 'w').catch((cause) => {
    throw new UsageError(`${file} cannot be written`, { cause })
  })
  try {
    await work((text) => draft.writeFile(text))
    await draft.sync()
  } finally {
    await draft.close()
  }
  await publishDraft(file)
}

const outFlags = '--out <file>'
const outDescription = 'where to: the file has its name once it is complete (default: standard output)'

/** `gateway export`: for hledger, beancount, and what reads FOCUS. */
export const registerExport = (program: Command, configOf: ConfigOf): void => {
  const print = async (command: Command, { month, out }: MonthOptions, read: ReadExport): Promise<void> => {
    const runtime = createRuntime('warn')
    requireBegun(month, runtime.clock())
    await withPlatform(configOf(command), runtime, { readOnly: true }, async (platform) => {
      await catchUp(platform, runtime)
      const { db } = requireTables(platform).database
      const written = withOutput(out, (write) =>
        atCheckpoint(db, async (trx) => {
          let text = ''
          for await (const piece of read(trx)) {
            text += piece
            if (text.length < cliLimits.outputChunkCharacters) continue
            await write(text)
            text = ''
          }
          await write(text)
        }),
      )
      await written.catch((fault) => {
        throw fault instanceof ReportFault ? new CommandError(fault.message, { cause: fault }) : fault
      })
    })
  }
  const exporting = program.command('export').description('a month for other programs')
  exporting
    .command('journal')
    .description('the wallets of a UTC month in double entry, with their balances asserted')
    .addOption(createMonthOption())
    .addOption(new Option('--format <format>').choices(['hledger', 'beancount']).makeOptionMandatory())
    .option(
      '--invoice <provider:format:file>',
      "a provider's invoice, as `reconcile` reads it, whose costs are accrued; may be repeated",
      collectOption,
      [],
    )
    .option(outFlags, outDescription)
    .action(async ({ format, invoice, ...options }: JournalOptions, command: Command) => {
      const { month } = options
      const costs = await readProviderCosts(invoice, parseMonth(month)!)
      await print(command, options, (trx) => readDoubleEntryJournal(trx, month, format, costs))
    })
  exporting
    .command('focus')
    .description('what a UTC month cost, as CSV of FOCUS 1.2 and 1.0')
    .addOption(createMonthOption())
    .option(outFlags, outDescription)
    .action((options: MonthOptions, command: Command) =>
      print(command, options, (trx) => readFocus(trx, options.month)),
    )
  exporting
    .command('events')
    .description('what requests and tasks used, sent to OpenMeter (CloudEvents) or Lago')
    .addOption(new Option('--format <format>').choices(['cloudevents', 'lago']).makeOptionMandatory())
    .requiredOption('--to <url>', 'where batches are posted', parseReceiverUrl)
    .option('--from-sequence <number>', 'the frame to begin with (default: the first)', parseSequence)
    .option('--position <file>', 'begin at the position in this file, and keep there how far all is accepted')
    .addHelpText('after', `\n${tokenVariable} in the environment is sent as a bearer token.`)
    .action(async (options: EventOptions, command: Command) => sendEvents(configOf(command), options))
}
