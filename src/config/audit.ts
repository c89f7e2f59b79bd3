import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { WitnessAddress } from '../audit/add-checkpoint.ts'
import { parseWitnessKey } from '../audit/cosignature.ts'
import { parseSigningKey } from '../audit/keys.ts'
import { deriveVerifier, parseVerifier, type Signer, type Verifier, verifierText } from '../audit/note.ts'
import { faultText } from '../errors/gateway-error.ts'
import type { ProcessRole } from '../roles/role.ts'
import type { ConfigProblem } from './config-error.ts'
import type { ConfigFile } from './config-file.types.ts'
import { seals } from './roles.ts'

export interface WitnessesConfig {
  /** How many of them have to cosign. */
  readonly quorum: number
  readonly list: readonly WitnessAddress[]
  readonly everyMs: number
}

export interface AuditConfig {
  readonly sealing: boolean
  /** The log's name in its checkpoints. */
  readonly origin: string
  /** For the roles that seal; null where none is configured. Other roles never hold it. */
  readonly signer: Signer | null
  /** The signer's, for every role; null where none is configured. */
  readonly verifier: Verifier | null
  /** Of earlier keys. */
  readonly previous: readonly Verifier[]
  /** Absent: none. */
  readonly witnesses?: WitnessesConfig
}

/** Null, and a problem, where the text cannot be parsed. */
const parsedAt = <T>(path: string, problems: ConfigProblem[], parse: () => T): T | null => {
  try {
    return parse()
  } catch (fault) {
    problems.push({ path, message: faultText(fault) })
    return null
  }
}

interface AuditReading {
  readonly folder: string
  readonly role: ProcessRole
  readonly logName: string
  readonly problems: ConfigProblem[]
}

const signerFrom = (
  { signing_key: key, signing_key_file: file }: NonNullable<ConfigFile['audit']>,
  origin: string,
  { folder, role, problems }: AuditReading,
): Signer | null => {
  if (key !== undefined && file !== undefined)
    problems.push({ path: 'audit.signing_key_file', message: 'excludes signing_key: give one of them' })
  if (!seals(role)) return null
  if (key !== undefined) return parsedAt('audit.signing_key', problems, () => parseSigningKey(origin, key))
  if (file === undefined) return null
  return parsedAt('audit.signing_key_file', problems, () =>
    parseSigningKey(origin, readFileSync(resolve(folder, file), 'utf8')),
  )
}

/** The keys must be one pair: checkpoints are signed with one and checked with the other. */
const problemsOfPublicKey = (
  verifier: Verifier | null,
  origin: string,
  signer: Signer | null,
): readonly ConfigProblem[] => {
  const path = 'audit.public_key'
  if (verifier === null) return []
  if (verifier.name !== origin) {
    const remedy = `make one for it by \`gateway audit key --new --origin ${origin}\``
    return [{ path, message: `is of the log ${verifier.name}, not of ${origin}: ${remedy}` }]
  }
  if (signer === null || deriveVerifier(signer).publicKey.equals(verifier.publicKey)) return []
  return [{ path, message: `is not that of the signing key, which is ${verifierText(deriveVerifier(signer))}` }]
}

const defaultWitnessSeconds = 60

const witnessesFrom = (
  { witnesses, witness_every: everySeconds = defaultWitnessSeconds }: NonNullable<ConfigFile['audit']>,
  problems: ConfigProblem[],
  ofLog: readonly Verifier[],
): Pick<AuditConfig, 'witnesses'> => {
  if (witnesses === undefined) return {}
  const path = 'audit.witnesses'
  const { quorum } = witnesses
  const list = witnesses.list.flatMap(({ url, public_key: text }, place) => {
    const key = parsedAt(`${path}.list[${place}].public_key`, problems, () => parseWitnessKey(text))
    return key === null ? [] : [{ url: url.replace(/\/+$/, ''), key }]
  })
  if (quorum > witnesses.list.length)
    problems.push({
      path: `${path}.quorum`,
      message: `is ${quorum}, and ${witnesses.list.length} witnesses are listed`,
    })
  for (const [place, { key }] of list.entries()) {
    const isOf = (other: Verifier): boolean => other.publicKey.equals(key.publicKey)
    const keyPath = `${path}.list[${place}].public_key`
    if (list.slice(0, place).some((other) => isOf(other.key) || other.key.name === key.name))
      problems.push({ path: keyPath, message: 'is listed twice: one witness counts once' })
    if (ofLog.some(isOf)) problems.push({ path: keyPath, message: 'is a key of the log itself' })
  }
  return { witnesses: { quorum, list, everyMs: everySeconds * 1_000 } }
}

export const auditFrom = ({ audit = {} }: ConfigFile, reading: AuditReading): AuditConfig => {
  const { problems, logName } = reading
  const { sealing = true, public_key: publicKey, previous_public_keys: previous = [] } = audit
  const verifier =
    publicKey === undefined ? null : parsedAt('audit.public_key', problems, () => parseVerifier(publicKey))
  const origin = audit.origin ?? verifier?.name ?? `gateway.local/${logName.toLowerCase()}`
  const signer = signerFrom(audit, origin, reading)
  problems.push(...problemsOfPublicKey(verifier, origin, signer))
  const own = signer === null ? verifier : deriveVerifier(signer)
  const earlier = previous.flatMap(
    (text, place) => parsedAt(`audit.previous_public_keys[${place}]`, problems, () => parseVerifier(text)) ?? [],
  )
  return {
    sealing,
    origin,
    signer,
    ...witnessesFrom(audit, problems, own === null ? earlier : [own, ...earlier]),
    verifier: own,
    previous: earlier,
  }
}
