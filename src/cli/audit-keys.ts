import { randomBytes } from 'node:crypto'
import { openHeadFile } from '../adapters/audit-files.ts'
import { openWitnessClient } from '../adapters/witness/client.ts'
import { parseSigningKey, signingKeyText } from '../audit/keys.ts'
import { createSigner, deriveVerifier, parseVerifier, type Signer, type Verifier, verifierText } from '../audit/note.ts'
import type { SignedHeadStore } from '../audit/signed-head.ts'
import { SignedHeads } from '../audit/signed-heads.ts'
import type { Config } from '../config/config.ts'
import { ensureSigningKey, keepPublicKey, readPublicKey } from '../embedded/credentials.ts'
import type { SchedulerParts } from '../roles/scheduler/role.ts'
import type { DatabaseAccess } from './platform.ts'
import type { Runtime } from './runtime.ts'

const seedBytes = 32

const signerOfFolder = ({ dataFolder, audit }: Config): Signer => {
  const signer = audit.signer ?? parseSigningKey(audit.origin, ensureSigningKey(dataFolder))
  keepPublicKey(dataFolder, verifierText(deriveVerifier(signer)))
  return signer
}

/** Where it is kept what was signed last: the file first, which has to take it. */
export const headStores = (config: Config, tables: DatabaseAccess | null): readonly SignedHeadStore[] => [
  openHeadFile(config.auditStateFile),
  ...(tables === null ? [] : [tables.database.signedHead()]),
]

/** Logs a warning where the log is not sealed; embedded servers have a key of their own. */
export const resolveSealing = (
  config: Config,
  tables: DatabaseAccess | null,
  { logger }: Runtime,
): SchedulerParts['sealing'] => {
  const { audit, external } = config
  if (!audit.sealing) return null
  const signer = external === null ? signerOfFolder(config) : audit.signer
  if (signer !== null) {
    const heads = new SignedHeads({ stores: headStores(config, tables), logger })
    const { witnesses } = audit
    return {
      ...{ signer, previous: audit.previous, heads, firstSeal: config.firstSeal },
      ...(witnesses === undefined
        ? {}
        : { cosigning: { witnesses: witnesses.list.map(openWitnessClient), everyMs: witnesses.everyMs } }),
    }
  }
  logger.log('audit.sealing_disabled', {})
  return null
}

/** Of the key that seals now; null where none is configured and none was made. */
export const findLogVerifier = ({ audit, external, dataFolder }: Config): Verifier | null => {
  if (audit.verifier !== null) return audit.verifier
  const kept = external === null ? readPublicKey(dataFolder) : null
  return kept === null ? null : parseVerifier(kept)
}

export const listLogVerifiers = (config: Config): readonly Verifier[] => [
  ...[findLogVerifier(config)].filter((verifier) => verifier !== null),
  ...config.audit.previous,
]

interface KeyPair {
  readonly signingKey: string
  readonly publicKey: string
}

export const newKeyPair = (origin: string): KeyPair => {
  const seed = randomBytes(seedBytes)
  return { signingKey: signingKeyText(seed), publicKey: verifierText(deriveVerifier(createSigner(origin, seed))) }
}
