import { InvalidArgumentError, Option } from 'commander'
import { openWitnessClient } from '../adapters/witness/client.ts'
import { parseWitnessKey, readCosignatures, type WitnessKey } from '../audit/cosignature.ts'
import type { WitnessPolicy } from '../audit/cosigned-history.ts'
import { splitNote, type Verifier } from '../audit/note.ts'
import { openCheckpointNote, type PublishedCheckpoint } from '../audit/published-checkpoints.ts'
import type { AuditConfig } from '../config/audit.ts'
import { faultText } from '../errors/gateway-error.ts'
import { UsageError } from './report.ts'

export interface WitnessOptions {
  readonly witness: readonly WitnessKey[]
  readonly quorum?: number
}

const collectWitness = (text: string, earlier: readonly WitnessKey[] = []): readonly WitnessKey[] => {
  try {
    return [...earlier, parseWitnessKey(text)]
  } catch (fault) {
    throw new InvalidArgumentError(faultText(fault))
  }
}

const parseQuorum = (text: string): number => {
  if (!/^[1-9]\d?$/.test(text)) throw new InvalidArgumentError('a quorum is a number of witnesses, from 1')
  return Number(text)
}

export const witnessOptions = [
  new Option('--witness <key>', 'a witness whose cosignatures count; may be repeated (default: the configured ones)')
    .argParser(collectWitness)
    .default([]),
  new Option('--quorum <count>', 'how many of those have to cosign (default: all)').argParser(parseQuorum),
] as const

/** Those named on the command line, else those configured; undefined where there are none. */
export const resolveWitnesses = (
  { witness: named, quorum }: WitnessOptions,
  configured: () => AuditConfig['witnesses'],
  ofLog: readonly Verifier[],
): WitnessPolicy | undefined => {
  if (named.length === 0) {
    if (quorum !== undefined) throw new UsageError('--quorum counts the witnesses that are named with --witness')
    const found = configured()
    return found === undefined ? undefined : { keys: found.list.map(({ key }) => key), quorum: found.quorum }
  }
  const isSame = (one: Verifier, other: Verifier): boolean => one.publicKey.equals(other.publicKey)
  if (named.some((key, place) => named.slice(0, place).some((other) => isSame(key, other))))
    throw new UsageError('--witness names one key twice: a witness counts once, whatever its names')
  if (named.some((key) => ofLog.some((other) => isSame(key, other))))
    throw new UsageError('--witness names a key of the log itself, which is no witness of its own')
  if ((quorum ?? 1) > named.length) throw new UsageError(`--quorum ${quorum} is more than the witnesses named`)
  return { keys: named, quorum: quorum ?? named.length }
}

/** What the configured witnesses have cosigned last of the log; one that does not show it is reported, and proves nothing. */
export const askWitnesses = async (
  { list }: NonNullable<AuditConfig['witnesses']>,
  verifiers: readonly Verifier[],
): Promise<readonly PublishedCheckpoint[]> => {
  const origin = verifiers[0]!.name
  const asked = list.map(async (address): Promise<readonly PublishedCheckpoint[]> => {
    const place = `the witness ${address.key.name}`
    try {
      const { status, body: note } = await openWitnessClient(address).readLast(origin)
      if (status !== 200) throw new Error(`it answers with status ${status}`)
      openCheckpointNote(note, verifiers)
      if (readCosignatures(note, splitNote(note).body, [address.key]).length === 0)
        throw new Error('its own cosignature is missing')
      return [{ note, place }]
    } catch (fault) {
      console.error(`${place} does not show what it has cosigned last: ${faultText(fault)}`)
      return []
    }
  })
  return (await Promise.all(asked)).flat()
}
