import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** An upstream that answers whatever it is asked with these SSE events; the result is its base URL. */
export const startScriptedUpstream = async (t: Test, events: string): Promise<string> => {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

/** An SSE event under the name that its `type` says. */
export const namedEvent = (event: { readonly type: string; readonly [member: string]: unknown }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
