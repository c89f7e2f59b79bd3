import { existsSync, readFileSync, statSync } from 'node:fs'
import { Option } from 'commander'
import { parseVerifier, type Verifier } from '../audit/note.ts'
import type { Config } from '../config/config.ts'
import { faultText } from '../errors/gateway-error.ts'
import { listLogVerifiers } from './audit-keys.ts'
import { cliLimits } from './command-limits.ts'
import { UsageError } from './report.ts'

/** Throws UsageError where the file cannot be read or is larger than `bytesMax`. */
export const readNamedFile = (file: string, bytesMax: number): string => {
  try {
    if (statSync(file).size > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`)
    return readFileSync(file, 'utf8')
  } catch (fault) {
    throw new UsageError(`${file} cannot be read: ${faultText(fault)}`)
  }
}

const namedKey = (named: string): Verifier => {
  try {
    return parseVerifier(existsSync(named) ? readNamedFile(named, cliLimits.publicKeyBytesMax) : named)
  } catch (fault) {
    throw new UsageError(`--public-key ${named}: ${faultText(fault)}`)
  }
}

/** The keys named on the command line, or files that hold one; else those of the configuration. */
export const resolveVerifiers = (named: readonly string[], config: () => Config): readonly Verifier[] => {
  const verifiers = named.length > 0 ? named.map(namedKey) : listLogVerifiers(config())
  if (verifiers.length > 0) return verifiers
  throw new UsageError(
    'no public key: name the log’s with --public-key, or configure it as audit.public_key; without one nothing is proven, and a log that never had one is not sealed',
  )
}

export const collectOption = (value: string, earlier: readonly string[] = []): readonly string[] => [...earlier, value]

export const publicKeyOption = (owner: 'log' | 'archive'): Option =>
  new Option('--public-key <key>', `the ${owner}’s key, or a file with it (default: the configured one)`)
    .argParser(collectOption)
    .default([])
