import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { startSandbox } from '../../sandbox/server.ts'
import { runtime } from './gateway.ts'

interface Received {
  readonly asked: IncomingMessage
  readonly body: string
}

/** Hands everything on to a sandbox, as it is, keeps it, and adds headers to what the sandbox answers. */
export const startUpstreamBeforeSandbox = async (
  t: Test,
  added: readonly (readonly [name: string, value: string])[] = [],
): Promise<{ readonly url: string; readonly received: readonly Received[] }> => {
  const sandbox = await startSandbox(runtime)
  const received: Received[] = []
  const { host, hostname, port } = new URL(sandbox.url)
  const server = createServer(async (asked, answer) => {
    const { method, url: path, headers } = asked
    const body = await buffer(asked)
    received.push({ asked, body: body.toString() })
    request({ hostname, port, method, path, headers: { ...headers, host } }, (answered) => {
      const own = answered.headers['content-type'] ?? 'text/plain'
      answer.writeHead(answered.statusCode ?? 0, [...added.flat(), 'Content-Type', own])
      answered.pipe(answer)
    }).end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    await sandbox.stop()
  })
  const own = new URL(sandbox.url)
  own.port = String((server.address() as AddressInfo).port)
  return { url: own.href.replace(/\/$/, ''), received }
}
