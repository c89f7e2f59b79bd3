import { largerHead, type SignedHead, type SignedHeadStore } from '../../src/audit/signed-head.ts'
import type { Ports } from './ports.ts'
import { currentProcess, noAnswer } from './process.ts'

export class SimHeadStore implements SignedHeadStore {
  readonly place: string
  readonly #ports: Ports
  #head: SignedHead | null

  constructor(place: string, ports: Ports, head: SignedHead) {
    this.place = place
    this.#ports = ports
    this.#head = head
  }

  async read(): Promise<SignedHead | null> {
    return this.#head
  }

  async advance(head: SignedHead): Promise<SignedHead> {
    if (!this.#ports.reach(currentProcess(), `seal.${this.place}`, 'before')) return noAnswer()
    this.#head = this.#head === null ? head : largerHead(head, this.#head)
    if (!this.#ports.reach(currentProcess(), `seal.${this.place}`, 'after')) return noAnswer()
    return this.#head
  }

  async replace(head: SignedHead): Promise<void> {
    this.#head = head
  }
}
