import { spawn } from 'node:child_process'
import type { Test } from 'tap'
import { type AddCheckpoint, formatAddCheckpoint } from '../../src/audit/add-checkpoint.ts'
import { GrowingTree, type Hash, hashLeaf, TreeGrowth } from '../../src/audit/merkle.ts'
import { type Signer, signCheckpoint } from '../../src/audit/note.ts'
import type { CosignedStore } from '../../src/audit/witness.ts'
import { mainFile, programEnvironment } from './program.ts'

/** Keeps in memory what a folder keeps on disk. */
export class MemoryCosignedStore implements CosignedStore {
  readonly notes = new Map<string, string>()
  /** Thrown by every write while it is set. */
  fault: Error | null = null

  async read(origin: string): Promise<string | null> {
    return this.notes.get(origin) ?? null
  }

  async write(origin: string, note: string): Promise<void> {
    if (this.fault !== null) throw this.fault
    this.notes.set(origin, note)
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
