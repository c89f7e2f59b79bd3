import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import type { Test } from 'tap'
import {
  type AddCheckpoint,
  formatAddCheckpoint,
  type WitnessClient,
  type WitnessReply,
} from '../../src/audit/add-checkpoint.ts'
import { type WitnessKey, witnessKeyOf } from '../../src/audit/cosignature.ts'
import { GrowingTree, type Hash, hashLeaf, TreeGrowth } from '../../src/audit/merkle.ts'
import { createSigner, deriveVerifier, type Signer, signCheckpoint, type Verifier } from '../../src/audit/note.ts'
import { type CosignedStore, originHash, Witness } from '../../src/audit/witness.ts'
import { silentLogger } from './log-lines.ts'
import { mainFile, programEnvironment } from './program.ts'

/** Keeps in memory what a folder keeps on disk. */
export class MemoryCosignedStore implements CosignedStore {
  readonly notes = new Map<string, string>()
  /** Thrown by every write while it is set. */
  fault: Error | null = null
  beforeWrite: () => Promise<void> = async () => {}

  async read(origin: string): Promise<string | null> {
    return this.notes.get(origin) ?? null
  }

  async write(origin: string, note: string): Promise<void> {
    await this.beforeWrite()
    if (this.fault !== null) throw this.fault
    this.notes.set(origin, note)
  }
}

/** A witness in this process, whose calls a test may hold up. */
export class LocalWitness implements WitnessClient {
  readonly key: WitnessKey
  readonly store: MemoryCosignedStore
  readonly #witness: Witness
  /** Old sizes that were sent. */
  readonly sent: number[] = []
  beforeCall: () => Promise<void> = async () => {}
  beforeReply: () => Promise<void> = async () => {}

  constructor(log: Verifier, name = 'witness.test/w1', store = new MemoryCosignedStore()) {
    const signer = createSigner(name, hash('sha256', name, 'buffer'))
    this.key = witnessKeyOf(name, deriveVerifier(signer).publicKey)
    this.store = store
    const logs = [{ origin: log.name, verifier: log }]
    this.#witness = new Witness({ logs, signer, store, clock: Date.now, logger: silentLogger })
  }

  async add(body: string): Promise<WitnessReply> {
    await this.beforeCall()
    this.sent.push(Number(/\d+/.exec(body)))
    const reply = await this.#witness.addCheckpoint(body)
    await this.beforeReply()
    return reply
  }

  readLast(origin: string): Promise<WitnessReply> {
    return this.#witness.readCheckpoint(originHash(origin))
  }
}

/** Leaves of a log of one's own, to witness. */
export const leavesOf = (count: number, word = 'leaf'): readonly Hash[] =>
  Array.from({ length: count }, (_, place) => hashLeaf(Buffer.from(`${word} ${place}`)))

export const growthOf = (from: number, to: number, word = 'leaf'): TreeGrowth => {
  const tree = new GrowingTree()
  const leaves = leavesOf(to, word)
  for (const leaf of leaves.slice(0, from)) tree.append(leaf)
  const growth = new TreeGrowth(tree)
  for (const leaf of leaves.slice(from)) growth.append(leaf)
  return growth
}

/** The body of `add-checkpoint` from one size of such a log to another. */
export const addRequest = (from: number, to: number, by: Signer, changes: Partial<AddCheckpoint> = {}): string => {
  const { proof, tree } = growthOf(from, to)
  const note = signCheckpoint({ origin: by.name, size: to, root: tree.root }, by)
  return formatAddCheckpoint({ oldSize: from, proof, note, ...changes })
}

/** Runs `gateway witness` as a process, on a free port. */
export const startWitness = async (t: Test, folder: string, ...words: readonly string[]) => {
  const command = [mainFile, 'witness', '--name', 'witness.test/w1', '--port', '0', '--data', folder, ...words]
  const child = spawn(process.execPath, command, { cwd: folder, env: programEnvironment() })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  for await (const part of child.stdout) {
    output += part
    const [, url, publicKey] = /answers at (\S+)\npublic_key: (\S+)\n/.exec(output) ?? []
    if (url !== undefined && publicKey !== undefined) return { child, url, publicKey }
  }
  throw new Error(`the witness did not start: ${output}`)
}
