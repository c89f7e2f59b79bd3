import { readFileSync } from 'node:fs'
import { type PriceFile, problemsOfPriceFile } from '../domain/pricing/price-file.ts'
import { getValidator } from '../encoding/schema-validation.ts'
import { faultText } from '../errors/gateway-error.ts'
import { ConfigError } from './config-error.ts'

/** Throws ConfigError with every mistake. */
export const readPriceFile = (
  file: string,
  readText: (file: string) => string = (named) => readFileSync(named, 'utf8'),
): PriceFile => {
  const parsed = parseJsonFile(file, readText)
  const problems = getValidator('price-file.json', { allErrors: true })(parsed)
  if (problems.length > 0) throw new ConfigError(file, problems)
  const mistakes = problemsOfPriceFile(parsed as PriceFile)
  if (mistakes.length > 0) throw new ConfigError(file, mistakes)
  return parsed as PriceFile
}

const parseJsonFile = (file: string, readText: (file: string) => string): unknown => {
  try {
    return JSON.parse(readText(file))
  } catch (fault) {
    throw new ConfigError(file, [{ path: '', message: faultText(fault) }])
  }
}
