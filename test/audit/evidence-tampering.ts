import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { ArchiveFolder } from '../../src/adapters/archive/archive-folder.ts'
import { ArchiveSource } from '../../src/adapters/archive/archive-source.ts'
import { openHeadFile } from '../../src/adapters/audit-files.ts'
import { archiveSealedFrames } from '../../src/audit/archive.ts'
import { archiveSnapshot } from '../../src/audit/archive-snapshot.ts'
import type { IntegrityFinding } from '../../src/audit/findings.ts'
import { GrowingTree, hashFrame } from '../../src/audit/merkle.ts'
import type { SnapshotHead } from '../../src/audit/seal.ts'
import { type SignedHead, SignedHeadFault, type SignedHeadStore, signedHeadOf } from '../../src/audit/signed-head.ts'
import { type Verification, type VerifyParts, verifyLog } from '../../src/audit/verify.ts'
import { type SnapshotCheck, verifyArchivedSnapshot, verifySnapshots } from '../../src/audit/verify-snapshots.ts'
import type { RawFrame } from '../../src/log/raw-frames.ts'
import { temporaryFolder } from '../support/gateway.ts'
import { MemoryHeadStore } from '../support/sealing.ts'
import { MemorySnapshots } from '../support/snapshots.ts'
import {
  MemorySource,
  type Random,
  renumbered,
  type SealedLog,
  type StoredSnapshot,
  sealedLog,
  signer,
  verifier,
} from './sealed-log.ts'

type Outcome = 'located' | 'not proven, for its reason' | 'no alarm' | 'MISSED' | 'FALSE ALARM'

/** Cases by kind and outcome. */
export class CaseTable {
  readonly #counts = new Map<string, Map<Outcome, number>>()

  add(kind: string, outcome: Outcome): void {
    const outcomes = this.#counts.get(kind) ?? new Map<Outcome, number>()
    this.#counts.set(kind, outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1))
  }

  print(t: Test): void {
    for (const [kind, outcomes] of this.#counts)
      t.comment(`| ${kind} | ${[...outcomes].map(([outcome, count]) => `${count} ${outcome}`).join(', ')} |`)
  }
}

interface Case {
  readonly outcome: Outcome
  readonly details?: unknown
}

const stateBehindLog = (frames: readonly RawFrame[], size: number): SignedHead => {
  const tree = new GrowingTree()
  for (const frame of frames.slice(0, size)) tree.append(hashFrame(frame))
  return signedHeadOf(verifier.name, tree)
}

const flipByte = (bytes: Buffer, place: number, by: number): Buffer => {
  const changed = Buffer.from(bytes)
  changed[place] = changed[place]! ^ by
  return changed
}

const isSameText = (one: Buffer, other: Buffer): boolean => {
  try {
    return gunzipSync(one).equals(gunzipSync(other))
  } catch {
    return false
  }
}

const expectFound = (
  findings: readonly IntegrityFinding[],
  kinds: readonly IntegrityFinding['kind'][],
  sequence: number,
): Case => {
  const isRight = findings.length === 1 && kinds.includes(findings[0]!.kind) && findings[0]!.sequence === sequence
  return isRight ? { outcome: 'located' } : { outcome: 'MISSED', details: { findings, sequence } }
}

const expectUnproven = ({ findings, unproven }: SnapshotCheck, reason: RegExp): Case => {
  const isRight = findings.length === 0 && unproven.length === 1 && reason.test(unproven[0]!)
  return isRight ? { outcome: 'not proven, for its reason' } : { outcome: 'MISSED', details: { findings, unproven } }
}

const expectQuiet = ({ findings, unproven }: SnapshotCheck): Case =>
  findings.length + unproven.length === 0
    ? { outcome: 'no alarm' }
    : { outcome: 'FALSE ALARM', details: { findings, unproven } }

/** A log, the snapshots that its store and its archive have, and the sealer's two states: a file and a row. */
export class EvidenceLog {
  readonly #random: Random
  readonly #log: SealedLog
  readonly #clean: Verification
  readonly #archive: string
  readonly #file: SignedHeadStore
  readonly #row: MemoryHeadStore

  private constructor(random: Random, log: SealedLog, clean: Verification, folder: string) {
    this.#random = random
    this.#log = log
    this.#clean = clean
    this.#archive = join(folder, 'archive')
    this.#file = openHeadFile(join(folder, 'audit.state'))
    this.#row = new MemoryHeadStore('ledger_audit.signed_head', stateBehindLog(log.frames, clean.sealedTo))
  }

  static async create(t: Test, random: Random): Promise<EvidenceLog> {
    const log = sealedLog({ frames: 50, random, snapshots: true, sealEveryMax: 6 })
    const source = new MemorySource(log.frames)
    const verifiers = [verifier]
    const clean = await verifyLog({ source, verifiers })
    const evidence = new EvidenceLog(random, log, clean, await temporaryFolder(t))
    const target = await ArchiveFolder.open(evidence.#archive, verifier.name)
    await archiveSealedFrames({ source, target, verifiers })
    await archiveSnapshot({ log: source, store: evidence.#newStore(), target, size: target.head.size, verifiers })
    await target.close()
    return evidence
  }

  readonly cases = {
    'snapshot changed': async () => {
      const { head, bytes } = this.#pick(this.#stored)
      const changed = flipByte(bytes, this.#below(bytes.length), 1 + this.#below(255))
      const { findings } = await this.#verifyStore(this.#newStore({ head, bytes: changed }))
      return expectFound(findings, ['snapshot-changed'], head.sequence)
    },
    'snapshot swapped': async () => {
      const { head } = this.#pick(this.#stored)
      const { bytes } = this.#pick(this.#stored.filter((each) => each.head !== head))
      const { findings } = await this.#verifyStore(this.#newStore({ head, bytes }))
      return expectFound(findings, ['snapshot-swapped'], head.sequence)
    },
    'snapshot removed': async () => {
      const store = this.#newStore()
      const last = this.#stored.at(-1)!.head.sequence
      await store.removeBeyond(async () => this.#pick([last - 1, 0]))
      return expectUnproven(await this.#verifyStore(store), new RegExp(`snapshot of sequence ${last},.* is not stored`))
    },
    'snapshots not readable': async () => {
      const list = async () => {
        throw new Error('stream not found')
      }
      const store = this.#newStore()
      const unreadable = { list, read: (head: SnapshotHead) => store.read(head) }
      const found = await verifySnapshots(unreadable, this.#clean.snapshots)
      return expectUnproven(found, /cannot be read: stream not found/)
    },
    'snapshots untouched': async () => expectQuiet(await this.#verifyStore(this.#newStore())),
    'archived snapshot changed': () => this.#damageArchive(['snapshot-changed'], (bytes) => this.#flipGzip(bytes)),
    'archived snapshot swapped': () =>
      this.#damageArchive(['snapshot-swapped'], async () => gzipSync(this.#older.bytes)),
    'archived snapshot removed': () => this.#damageArchive(['snapshot-missing'], async () => null),
    'archived snapshot taken from the manifest': async () => {
      const path = join(this.#archive, 'manifest.json')
      const text = await readFile(path, 'utf8')
      const { snapshot, ...others } = JSON.parse(text)
      await writeFile(path, JSON.stringify(others))
      const check = await this.#verifyArchive()
      await writeFile(path, text)
      return expectUnproven(check, new RegExp(`snapshot of sequence ${snapshot.sequence},.* is not in the archive`))
    },
    'archived snapshot untouched': async () => expectQuiet(await this.#verifyArchive()),
    'log and state file rolled back': async () => {
      const { sequence, seal } = this.#pick(this.#log.seals.slice(0, -1))
      const frames = this.#log.frames.slice(0, sequence)
      return this.#withState(stateBehindLog(frames, seal.size), frames, sequence + 1)
    },
    'log rolled back, state file removed': async () => {
      const { sequence } = this.#pick(this.#log.seals.slice(0, -1))
      return this.#withState(null, this.#log.frames.slice(0, sequence), sequence + 1)
    },
    'log and state file rewritten by the key': async () => {
      const { frames, seals } = sealedLog({ frames: this.#log.frames.length + 1, random: this.#random, signer })
      return this.#withState(stateBehindLog(frames, seals.at(-1)!.seal.size), frames, 1)
    },
    'state file rolled back alone': async () => {
      const { seal } = this.#pick(this.#log.seals)
      const { findings, unproven } = await this.#verifyWith(stateBehindLog(this.#log.frames, seal.size))
      return expectQuiet({ findings, unproven })
    },
    'state file changed': () => this.#changeState(),
    'checkpoints and states removed': async () => {
      const checkpoints = new Set(this.#log.seals.map(({ sequence }) => sequence))
      const frames = renumbered(this.#log.frames.filter(({ sequence }) => !checkpoints.has(sequence)))
      return expectUnproven(await this.#verify(frames), /never sealed, or its checkpoints were removed/)
    },
    'last checkpoints removed, states too': async () => {
      const before = this.#pick(this.#log.seals.slice(0, -1)).sequence
      const checkpoints = new Set(this.#log.seals.map(({ sequence }) => sequence).filter((at) => at > before))
      const frames = renumbered(this.#log.frames.filter(({ sequence }) => !checkpoints.has(sequence)))
      const nowMs = frames.at(-1)!.storedMs + 120_000
      return expectUnproven(
        await this.#verify(frames, { readClock: async () => nowMs }),
        /no checkpoint seals frame \d+; it was stored at/,
      )
    },
  } satisfies Readonly<Record<string, () => Promise<Case>>>

  /** The last that a checkpoint among the verified frames confirms. */
  get #stored(): readonly StoredSnapshot[] {
    return this.#log.snapshots.slice(-3)
  }

  get #older(): StoredSnapshot {
    return this.#log.snapshots[0]!
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[this.#below(choices.length)]!
  }

  /** The header of a gzip file has bytes without meaning, and a reference to an equal text elsewhere changes nothing. */
  async #flipGzip(bytes: Buffer): Promise<Buffer> {
    const changed = flipByte(bytes, 10 + this.#below(bytes.length - 10), 1 + this.#below(255))
    return isSameText(changed, bytes) ? this.#flipGzip(bytes) : changed
  }

  #newStore(...changed: readonly StoredSnapshot[]): MemorySnapshots {
    const store = new MemorySnapshots()
    for (const { head, bytes } of [...this.#stored, ...changed]) store.put(head, bytes)
    return store
  }

  #verifyStore(store: MemorySnapshots): Promise<SnapshotCheck> {
    return verifySnapshots(store, this.#clean.snapshots)
  }

  #verify(frames: readonly RawFrame[], more: Partial<VerifyParts> = {}): Promise<Verification> {
    return verifyLog({ source: new MemorySource(frames), verifiers: [verifier], ...more })
  }

  async #verifyArchive(): Promise<SnapshotCheck> {
    const source = await ArchiveSource.open(this.#archive)
    const verifiers = [verifier]
    const { total, snapshots } = await verifyLog({ source, verifiers, known: source.checkpoints })
    if (total > 0) throw new Error('the frames of the archive were not touched')
    return verifyArchivedSnapshot({ store: source.snapshots, log: source, verifiers }, snapshots)
  }

  async #damageArchive(
    kinds: readonly IntegrityFinding['kind'][],
    damage: (bytes: Buffer) => Promise<Buffer | null>,
  ): Promise<Case> {
    const { file, sequence } = (await ArchiveSource.open(this.#archive)).manifest.snapshot!
    const path = join(this.#archive, file)
    const bytes = await readFile(path)
    const damaged = await damage(bytes)
    await (damaged === null ? rm(path) : writeFile(path, damaged))
    const { findings } = await this.#verifyArchive()
    await writeFile(path, bytes)
    return expectFound(findings, kinds, sequence)
  }

  /** As `verify` does: the log has to lead to each state. */
  async #verifyWith(head: SignedHead | null, frames: readonly RawFrame[] = this.#log.frames): Promise<Verification> {
    await (head === null ? rm(this.#file.place, { force: true }) : this.#file.replace(head))
    return this.#verifyByStates(frames)
  }

  async #verifyByStates(frames: readonly RawFrame[]): Promise<Verification> {
    const known: { readonly head: SignedHead; readonly place: string }[] = []
    for (const store of [this.#file, this.#row]) {
      const head = await store.read()
      if (head !== null) known.push({ head, place: store.place })
    }
    return this.#verify(frames, { known, readClock: async () => frames.at(-1)!.storedMs })
  }

  async #withState(head: SignedHead | null, frames: readonly RawFrame[], sequence: number): Promise<Case> {
    const { findings } = await this.#verifyWith(head, frames)
    const isRight = findings.some((each) => each.sequence === sequence && /signed_head/.test(each.text))
    return isRight ? { outcome: 'located' } : { outcome: 'MISSED', details: { findings, sequence } }
  }

  /** A digit of the hashes or of the size; what is no state at all is refused by its name. */
  async #changeState(): Promise<Case> {
    await this.#file.replace(stateBehindLog(this.#log.frames, this.#pick(this.#log.seals).seal.size))
    const text = await readFile(this.#file.place, 'utf8')
    const place = text.indexOf('"root":"') + '"root":"'.length + this.#below(42)
    const digit = text[place] === 'A' ? 'B' : 'A'
    await writeFile(this.#file.place, `${text.slice(0, place)}${digit}${text.slice(place + 1)}`)
    try {
      const { findings } = await this.#verifyByStates(this.#log.frames)
      return { outcome: 'MISSED', details: findings }
    } catch (fault) {
      const isNamed = fault instanceof SignedHeadFault && fault.message.startsWith(this.#file.place)
      return isNamed ? { outcome: 'located' } : { outcome: 'MISSED', details: String(fault) }
    }
  }
}
