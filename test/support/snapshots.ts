import type { SnapshotHead } from '../../src/audit/seal.ts'
import type { SnapshotStore } from '../../src/audit/snapshots.ts'

export class MemorySnapshots implements SnapshotStore {
  readonly #stored = new Map<number, { readonly head: SnapshotHead; readonly bytes: Buffer }>()

  async list(): Promise<readonly SnapshotHead[]> {
    return [...this.#stored.values()].map(({ head }) => head).sort((one, other) => other.sequence - one.sequence)
  }

  async *read(head: SnapshotHead): AsyncIterable<Uint8Array> {
    yield this.bytes(head)
  }

  async write(sequence: number, pieces: AsyncGenerator<Uint8Array, SnapshotHead>): Promise<SnapshotHead> {
    const all: Uint8Array[] = []
    for (;;) {
      const { done, value } = await pieces.next()
      if (done === true) {
        this.#stored.set(sequence, { head: value, bytes: Buffer.concat(all) })
        return value
      }
      all.push(value)
    }
  }

  async removeBeyond(readLast: () => Promise<number>): Promise<void> {
    const last = await readLast()
    for (const sequence of this.#stored.keys()) if (sequence > last) this.#stored.delete(sequence)
  }

  remove({ sequence }: SnapshotHead): void {
    this.#stored.delete(sequence)
  }

  bytes({ sequence }: SnapshotHead): Buffer {
    return this.#stored.get(sequence)!.bytes
  }

  put(head: SnapshotHead, bytes: Buffer): void {
    this.#stored.set(head.sequence, { head, bytes })
  }
}
