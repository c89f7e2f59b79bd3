import { randomBytes } from 'node:crypto'
import { parseSigningKey, signingKeyText } from '../audit/keys.ts'
import { createSigner, deriveVerifier, parseVerifier, type Signer, type Verifier, verifierText } from '../audit/note.ts'
import type { Config } from '../config/config.ts'
import { ensureSigningKey, keepPublicKey, readPublicKey } from '../embedded/credentials.ts'
import type { SchedulerParts } from '../roles/scheduler/role.ts'
import type { Runtime } from './runtime.ts'

const seedBytes = 32

const signerOfFolder = ({ dataFolder, audit }: Config): Signer => {
  const signer = audit.signer ?? parseSigningKey(audit.origin, ensureSigningKey(dataFolder))
  keepPublicKey(dataFolder, verifierText(deriveVerifier(signer)))
  return signer
}

/** Logs a warning where the log is not sealed; embedded servers have a key of their own. */
export const resolveSealing = (config: Config, { logger }: Runtime): SchedulerParts['sealing'] => {
  const { audit, external } = config
  if (!audit.sealing) return null
  const signer = external === null ? signerOfFolder(config) : audit.signer
  if (signer !== null) return { signer, previous: audit.previous }
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
