import { readFileSync } from 'node:fs'
import { type PriceFile, problemsOfPriceFile } from '../domain/pricing/price-file.ts'
import { getValidator } from '../encoding/schema-validation.ts'
import { faultText } from '../errors/gateway-error.ts'
import { ConfigError } from './config-error.ts'

/** Throws ConfigError with every mistake. */
export const readPriceFile = (file: string): PriceFile => {
  const parsed = parseJsonFile(file)
  const problems = getValidator('price-file.json', { allErrors: true })(parsed)
  if (problems.length > 0) throw new ConfigError(file, problems)
  const mistakes = problemsOfPriceFile(parsed as PriceFile)
  if (mistakes.length > 0) throw new ConfigError(file, mistakes)
  return parsed as PriceFile
}

const parseJsonFile = (file: string): unknown => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (fault) {
    throw new ConfigError(file, [{ path: '', message: faultText(fault) }])
  }
}
