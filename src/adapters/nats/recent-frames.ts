import type { Event } from '../../events/envelope.ts'
import { natsLimits } from './limits.ts'

interface RecentFrame {
  readonly bytes: Uint8Array
  readonly events: readonly Event[]
}

/** A view would keep alive all that its connection read at once, 64 KB and more. */
const copyIfView = (bytes: Uint8Array): Uint8Array =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)

/** A follower that receives bytes which this process has just sent or read reuses their events, without parsing. */
export class RecentFrames {
  readonly #frames = new Map<string, RecentFrame>()
  #bytes = 0

  remember(id: string, bytes: Uint8Array, events: readonly Event[]): void {
    this.#bytes += bytes.length - (this.#frames.get(id)?.bytes.length ?? 0)
    this.#frames.set(id, { bytes: copyIfView(bytes), events })
    for (const [oldest, frame] of this.#frames) {
      if (this.#bytes <= natsLimits.recentFramesBytesMax) return
      this.#frames.delete(oldest)
      this.#bytes -= frame.bytes.length
    }
  }

  find(id: string, bytes: Uint8Array): readonly Event[] | undefined {
    const frame = this.#frames.get(id)
    return frame !== undefined && Buffer.compare(frame.bytes, bytes) === 0 ? frame.events : undefined
  }
}
