import type { SimProcess } from './process.ts'

export type CrashPlace = 'before' | 'after'

/** The next call of a port, by any process, that ends its process. */
export interface ArmedCrash {
  readonly port: string
  readonly place: CrashPlace
  /** So many calls pass first. */
  skipped: number
}

const callsOfSkip = 10

/** All that a process may call: of one that is never called no crash point was reached either. */
export const simulatedPorts: ReadonlySet<string> = new Set([
  ...['CONSUMER.CREATE', 'CONSUMER.DELETE', 'CONSUMER.INFO', 'CONSUMER.MSG.NEXT'],
  ...['STREAM.CREATE', 'STREAM.INFO', 'STREAM.MSG.DELETE', 'STREAM.MSG.GET', 'STREAM.PURGE'],
  ...['edge', 'gateway', 'operator', 'proxy', 'scheduler', 'video-poller', 'wallet'].map(
    (writer) => `log.append ${writer}`,
  ),
  ...[
    'call',
    'calls.packets to edge',
    'calls.packets to proxy',
    'client.write',
    'outcome',
    'queue.acknowledge',
    'rate',
  ],
  ...['seal.file', 'seal.table', 'snapshot', 'snapshot-part', 'tables.apply', 'tables.load', 'tables.read', 'task'],
  ...['upstream.body', 'upstream.request', 'vendor.query', 'vendor.submit'],
])

/** Every call of a port is reported here: it is counted, and may be where a process dies. */
export class Ports {
  readonly calls = new Map<string, number>()
  /** By port and place. */
  readonly crashes = new Map<string, number>()
  readonly #armed: ArmedCrash[] = []
  readonly #onCall: (process: SimProcess, port: string) => void
  readonly #onCrash: (process: SimProcess, port: string) => void

  constructor(
    onCall: (process: SimProcess, port: string) => void,
    onCrash: (process: SimProcess, port: string) => void,
  ) {
    this.#onCall = onCall
    this.#onCrash = onCrash
  }

  /** A port that is rarely called is not left out: of its calls no more pass than it has had. */
  arm(port: string, { place, skipped }: Pick<ArmedCrash, 'place' | 'skipped'>): void {
    this.#armed.push({ port, place, skipped: Math.min(skipped, Math.floor((this.calls.get(port) ?? 0) / callsOfSkip)) })
  }

  disarm(): void {
    this.#armed.length = 0
  }

  /** Whether the process may go on. */
  reach(process: SimProcess | undefined, port: string, place: CrashPlace): boolean {
    if (process === undefined) return true
    if (process.isDead) return place === 'before'
    if (place === 'before') {
      this.calls.set(port, (this.calls.get(port) ?? 0) + 1)
      this.#onCall(process, port)
    }
    const at = this.#armed.findIndex((each) => each.port === port && each.place === place)
    if (at < 0) return true
    const armed = this.#armed[at]!
    armed.skipped -= 1
    if (armed.skipped >= 0) return true
    this.#armed.splice(at, 1)
    const label = `${port} ${place}`
    this.crashes.set(label, (this.crashes.get(label) ?? 0) + 1)
    this.#onCrash(process, label)
    return false
  }
}

const portOfSubject = (subject: string): string => {
  if (subject.startsWith('$JS.API.'))
    return subject
      .split('.')
      .slice(2, 5)
      .join('.')
      .replace(/\.GATEWAY\w*$/, '')
  const [, noun = '', name = ''] = subject.split('.')
  switch (noun) {
    case 'journal':
      return `log.append ${name}`
    case 'wallet':
      return 'log.append wallet'
    case 'edge':
    case 'proxy':
      return `calls.packets to ${noun}`
    default:
      return noun
  }
}

let lastSubject = ''
let lastPort = ''

/** Of a message that a process sent to the nats-server; it is asked before and after. */
export const natsPortOf = (subject: string): string => {
  if (subject.startsWith('$JS.ACK.')) return 'queue.acknowledge'
  if (subject !== lastSubject) {
    lastPort = portOfSubject(subject)
    lastSubject = subject
  }
  return lastPort
}
