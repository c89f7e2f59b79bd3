import type { CallLink } from './link.ts'
import type { MessageHeader } from './message.ts'

interface LinkTableParts {
  readonly create: (peer: string, incarnation: number) => CallLink
  /** Makes a peer drop a link, identified by our incarnation or by its own; 0 where unknown. */
  readonly sendReset: (peer: string, from: number, to: number) => void
}

/** The link of each peer. A link dropped on one side is dropped on the other too. */
export class LinkTable {
  readonly #parts: LinkTableParts
  readonly #links = new Map<string, CallLink>()
  #incarnations = 0

  constructor(parts: LinkTableParts) {
    this.#parts = parts
  }

  get all(): readonly CallLink[] {
    return [...this.#links.values()]
  }

  find(peer: string): CallLink | undefined {
    return this.#links.get(peer)
  }

  ensure(peer: string): CallLink {
    return this.#links.get(peer) ?? this.#begin(peer, 0)
  }

  /** Null when a message belongs to no link. */
  resolve(peer: string, { from, to }: MessageHeader): CallLink | null {
    const link = this.#links.get(peer)
    if (link === undefined) return to === 0 ? this.#begin(peer, from) : this.#reset(peer, from)
    if (to !== 0 && to !== link.incarnation) return this.#reset(peer, from)
    if (link.peerIncarnation === 0) link.peerIncarnation = from
    if (from === link.peerIncarnation) return link
    // A late message of a link that both sides have dropped.
    if (from < link.peerIncarnation) return null
    this.#drop(link)
    return to === 0 ? this.#begin(peer, from) : this.#reset(peer, from)
  }

  onReset(peer: string, { from, to }: MessageHeader): void {
    const link = this.#links.get(peer)
    if (link?.incarnation === to || (from !== 0 && link?.peerIncarnation === from)) this.#drop(link)
  }

  end(link: CallLink): void {
    this.#parts.sendReset(link.peer, link.incarnation, link.peerIncarnation)
    this.#drop(link)
  }

  #begin(peer: string, peerIncarnation: number): CallLink {
    this.#incarnations += 1
    const link = this.#parts.create(peer, this.#incarnations)
    link.peerIncarnation = peerIncarnation
    this.#links.set(peer, link)
    return link
  }

  #reset(peer: string, to: number): null {
    this.#parts.sendReset(peer, 0, to)
    return null
  }

  #drop(link: CallLink): void {
    this.#links.delete(link.peer)
    link.connectionLost()
  }
}
