import type { IncomingMessage, ServerResponse } from 'node:http'
import { allPass, type Checks } from '../../runtime/health.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import type { Logger } from '../../runtime/logger.ts'
import { PlainListener } from '../plain-listener.ts'
import { operatorLimits } from './limits.ts'

interface MonitoredProcess {
  readonly role: string
  /** In a format that the scraper accepts. */
  readonly metrics: (accept: string | undefined) => Promise<{ readonly type: string; readonly body: string }>
  /** Liveness: a failed check calls for a restart. */
  readonly alive: () => Checks | Promise<Checks>
  /** Readiness: a failed check keeps work away. */
  readonly ready: () => Checks | Promise<Checks>
}

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

const checksAnswer = (role: string, checks: Checks, [good, bad]: readonly [string, string]): Answer => {
  const ok = allPass(checks)
  const body = JSON.stringify({ status: ok ? good : bad, role, checks })
  return { status: ok ? 200 : 503, type: 'application/json', body }
}

const notFound: Answer = { status: 404, type: 'text/plain', body: 'There are /metrics, /healthz and /readyz.\n' }

const answerPath = async (
  path: string,
  { headers: { accept } }: IncomingMessage,
  monitored: MonitoredProcess,
): Promise<Answer> => {
  switch (path) {
    case '/metrics':
      return { status: 200, ...(await monitored.metrics(accept)) }
    case '/healthz':
      return checksAnswer(monitored.role, await monitored.alive(), ['ok', 'failed'])
    case '/readyz':
      return checksAnswer(monitored.role, await monitored.ready(), ['ready', 'not_ready'])
    default:
      return notFound
  }
}

const pathOf = ({ method, url = '' }: IncomingMessage): string =>
  method === 'GET' || method === 'HEAD' ? (url.split('?', 1)[0] ?? '') : ''

/** Metrics, health and readiness, for operators. Not for the public. */
export class OperatorListener {
  readonly #listener: PlainListener
  readonly #process: MonitoredProcess
  readonly #logger: Logger

  constructor(monitored: MonitoredProcess, logger: Logger) {
    this.#process = monitored
    this.#logger = logger
    this.#listener = new PlainListener({
      connectionsMax: operatorLimits.observeConnectionsMax,
      requestTimeoutMs: sharedLimits.requestBodyTimeoutMs,
      answer: (request, response) => this.#answer(request, response),
    })
  }

  /** Resolves with the URL. Rejects where the port is taken. */
  listen(host: string, port: number): Promise<string> {
    return this.#listener.listen(host, port)
  }

  stop(): Promise<void> {
    return this.#listener.stop()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = pathOf(request)
    try {
      const { status, type, body } = await answerPath(path, request, this.#process)
      response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(body)
      this.#logger.log('operator.request_served', { route: status === 404 ? null : path, status })
    } catch (fault) {
      this.#logger.log('operator.request_failed', { fault, route: path })
      response.writeHead(500).end()
    }
  }
}
