import type { Msg, Subscription } from '@nats-io/transport-node'
import type { Dispatch } from '../../../roles/dispatch.ts'
import type { CallSource, ServedCalls } from '../../../roles/proxy/role.ts'
import { type Check, checkOf } from '../../../runtime/health.ts'
import { TransientMap } from '../../../runtime/transient-map.ts'
import { waitAtMost } from '../../../runtime/within.ts'
import { natsLimits } from '../limits.ts'
import type { CallOptions } from './call-client.ts'
import type { CallLink } from './link.ts'
import { createMessageCallback, Links } from './links.ts'
import { decodeOpening, encodeCredit, encodeRefusal, type Opening, openingVersion, protocolVersion } from './message.ts'
import { ServedCall } from './served-call.ts'
import { buildCallSubjects, type CallSubjects } from './subjects.ts'

export interface CallServer extends CallSource {
  /** Waits up to `callsCloseMs` for the edges to acknowledge; calls still open lose their reader. */
  close(): Promise<void>
}

class CallAcceptor implements ServedCalls {
  readonly #options: CallOptions
  readonly #subjects: CallSubjects
  readonly #links: Links
  readonly #dispatch: Dispatch
  readonly #subscription: Subscription
  readonly #onIdle: (() => void)[] = []
  readonly #open = new TransientMap<ServedCall, ServedCall>()
  #hasGivenUp = false

  constructor(options: CallOptions, subjects: CallSubjects, links: Links, dispatch: Dispatch) {
    this.#options = options
    this.#subjects = subjects
    this.#links = links
    this.#dispatch = dispatch
    this.#subscription = options.connection.subscribe(subjects.openings, {
      queue: subjects.queueGroup,
      callback: createMessageCallback(
        (msg) => this.#take(msg),
        (fault) => options.logger.log('dispatch.call_rejected', { fault }),
      ),
    })
  }

  get check(): Check {
    if (this.#subscription.isClosed() || this.#subscription.isDraining())
      return checkOf(false, 'calls are not taken any more')
    return checkOf(this.#links.connection.isUp, 'no connection for calls')
  }

  async stop(): Promise<void> {
    // Without a connection the drain would not end.
    if (!this.#subscription.isClosed()) await waitAtMost(this.#subscription.drain(), natsLimits.callsCloseMs)
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve))
  }

  giveUp(): void {
    this.#hasGivenUp = true
    for (const served of [...this.#open.values()]) served.giveUp()
  }

  #take({ data, reply = '' }: Msg): void {
    const edge = this.#subjects.parse('edge', reply)?.receiver
    if (edge !== undefined && data.length > 0 && openingVersion(data) !== protocolVersion) {
      this.#refuse(edge, reply, data)
      return
    }
    const opening = decodeOpening(data)
    if (edge !== undefined && opening !== null) this.#accept(this.#links.table.ensure(edge), opening)
    else this.#options.logger.log('dispatch.malformed_opening', { reply, bytes: data.length })
  }

  #refuse(edge: string, reply: string, opening: Uint8Array): void {
    this.#options.logger.log('dispatch.version_mismatch', { edge, protocolVersion: openingVersion(opening) })
    this.#links.publish(reply, encodeRefusal(), this.#links.subjectOf(edge))
  }

  #accept(link: CallLink, opening: Opening): void {
    const { call, firstPiece } = opening
    const onEnd = (ended: ServedCall): void => this.#onCallEnded(ended)
    const served = new ServedCall({ ...this.#options, dispatch: this.#dispatch, onEnd }, link, opening)
    this.#open.set(served, served)
    link.calls.set(call, served)
    link.write({ call, kind: 'accepted', payload: encodeCredit(natsLimits.callsWindowBytes) })
    served.addPiece(firstPiece)
    if (this.#hasGivenUp) served.giveUp() // It came while the subscription drained.
  }

  #onCallEnded(served: ServedCall): void {
    this.#open.delete(served)
    if (this.#open.size > 0) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }
}

class NatsCallServer implements CallServer {
  readonly #options: CallOptions
  readonly #subjects: CallSubjects
  readonly #links: Links

  constructor(options: CallOptions) {
    this.#options = options
    this.#subjects = buildCallSubjects(options.name)
    this.#links = new Links({
      ...options,
      subjects: this.#subjects,
      side: 'proxy',
      id: options.newId(),
      onUnknownCall: () => undefined, // Sent before the edge knew that the call had ended.
    })
  }

  serve(dispatch: Dispatch): ServedCalls {
    return new CallAcceptor(this.#options, this.#subjects, this.#links, dispatch)
  }

  async close(): Promise<void> {
    await this.#links.settle(natsLimits.callsCloseMs)
    await this.#links.close()
  }
}

export const openCallServer = (options: CallOptions): CallServer => new NatsCallServer(options)
