import type { EndableCall, OpenCalls } from '../../../roles/open-calls.ts'
import type { CallLink, LinkedCall } from './link.ts'
import { cancelReasons, type Packet } from './message.ts'

/** A call whose client has disconnected: the proxy may still read the answer to its end, unless the edge shuts down. */
export class AbandonedCall implements LinkedCall, EndableCall {
  readonly #link: CallLink
  readonly #number: number
  readonly #openCalls: OpenCalls

  constructor(link: CallLink, number: number, openCalls: OpenCalls) {
    this.#link = link
    this.#number = number
    this.#openCalls = openCalls
    openCalls.enter(this)
  }

  receive({ kind }: Packet): void {
    if (kind === 'end' || kind === 'fault') this.connectionLost()
  }

  connectionLost(): void {
    this.#link.calls.delete(this.#number)
    this.#openCalls.leave(this)
  }

  shutDown(): void {
    this.#link.write({ call: this.#number, kind: 'cancel', payload: cancelReasons.shutdown })
  }
}
