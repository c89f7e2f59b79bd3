import { faultCode } from '../errors/gateway-error.ts'

/** 0 done, 1 refused or failed, 2 used wrongly, 3 stopped by a second signal, 4 not proven (`verify`). */
export const exitCodes = { done: 0, failed: 1, usage: 2, endedAtOnce: 3, notProven: 4 } as const

/** A command's refusal, shown as one line without a stack; exit code 1. */
export class CommandError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CommandError'
  }
}

/** A command that was used wrongly; exit code 2. */
export class UsageError extends CommandError {
  override readonly name = 'UsageError'
}

/** The reader of our output has closed it, as after `| head`. */
export const isBrokenPipe = (fault: unknown): boolean => faultCode(fault) === 'EPIPE'

/** Resolves when the text is written: waits for a slow reader, but not for one that has closed the pipe. */
export const writeOutput = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(text, (fault) => (fault && !isBrokenPipe(fault) ? reject(fault) : resolve()))
  })

export interface OutputOptions {
  readonly json: boolean
}

export const printWarnings = (warnings: readonly string[]): void => {
  for (const warning of warnings) console.error(`warning: ${warning}`)
}

/** Each column as wide as its widest cell; two blanks between them. */
export const alignColumns = (rows: readonly (readonly string[])[]): readonly string[] => {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]!.length))) ?? []
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
}

export const printRecords = (records: readonly Readonly<Record<string, unknown>>[], { json }: OutputOptions): void => {
  if (json) {
    for (const record of records) console.log(JSON.stringify(record))
    return
  }
  if (records.length === 0) return
  const columns = Object.keys(records[0]!)
  const rows = records.map((record) => columns.map((column) => String(record[column] ?? '')))
  for (const line of alignColumns([columns, ...rows])) console.log(line)
}
