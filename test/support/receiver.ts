import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI from 'openai'
import type { Test } from 'tap'

/** One callback as it arrived. */
export interface Delivered {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Receiver {
  readonly url: string
  /** In the order in which they came. */
  readonly delivered: readonly Delivered[]
  /** What is answered from now on, by the delivery and how many came to its path before; 200 where nothing is said. Null: nothing, ever. */
  answerWith(statusOf: (delivered: Delivered, before: number) => number | null): void
}

/** Somebody who is called back, on a private address. */
export const startReceiver = async (t: Test): Promise<Receiver> => {
  const delivered: Delivered[] = []
  let statusOf: Parameters<Receiver['answerWith']>[0] = () => 200
  const receive = (each: Delivered, response: ServerResponse): void => {
    const before = delivered.filter(({ path }) => path === each.path).length
    delivered.push(each)
    const status = statusOf(each, before)
    if (status !== null) response.writeHead(status).end()
  }
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => receive({ path: request.url ?? '/', headers: request.headers, body }, response))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    delivered,
    answerWith: (chosen) => {
      statusOf = chosen
    },
  }
}

/** Checked by an implementation that is not ours. */
export const isSigned = ({ body, headers }: Delivered, callbackSecret: string): Promise<boolean> => {
  const { webhooks } = new OpenAI({ apiKey: 'none' })
  const signed = { ...headers } as Record<string, string>
  return webhooks.verifySignature(body, signed, callbackSecret).then(
    () => true,
    () => false,
  )
}
