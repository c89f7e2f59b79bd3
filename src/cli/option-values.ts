import { InvalidArgumentError, Option } from 'commander'
import { parseInstant, parseMonth } from '../domain/instant.ts'
import { parseUsd } from '../domain/money.ts'
import { UsageError } from './report.ts'

/** Throws InvalidArgumentError. */
export const parseUsdOption = (text: string): string => {
  try {
    if (parseUsd(text) >= 0n) return text
  } catch {
    throw new InvalidArgumentError('an amount in USD is such as 12.50, with at most 12 decimals')
  }
  throw new InvalidArgumentError('here an amount is zero or more; `gateway adjust` takes money from a wallet')
}

/** Throws InvalidArgumentError for text that is no instant. */
export const parseInstantOption = (text: string): Date => {
  const instant = parseInstant(text)
  if (instant === null)
    throw new InvalidArgumentError('an instant such as 2026-03-01T12:00:00Z, or a day in UTC such as 2026-03-01')
  return instant
}

/** Throws InvalidArgumentError. */
export const parseMonthOption = (text: string): string => {
  if (parseMonth(text) !== null) return text
  throw new InvalidArgumentError(`a month in UTC is such as 2026-11, got \`${text}\``)
}

export const createMonthOption = (): Option =>
  new Option('--month <month>', 'in UTC, such as 2026-11').argParser(parseMonthOption).makeOptionMandatory()

/** Throws UsageError for a month that has not begun. */
export const requireBegun = (month: string, nowMs: number): void => {
  if (parseMonth(month)!.from.getTime() > nowMs) throw new UsageError(`${month} has not begun in UTC`)
}

export const parsePort = (text: string): number => {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidArgumentError('a port is a whole number from 0 to 65535')
  return port
}
