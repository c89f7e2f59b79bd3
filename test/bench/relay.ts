/** What the gateway is measured against, a process of its own: a bare Koa relay that reads, parses, forwards and pipes; no ledger. */
import { createServer, type IncomingMessage } from 'node:http'
import Koa from 'koa'
import { Pool } from 'undici'
import { httpClientLimits } from '../../src/adapters/http/limits.ts'
import { becomeServer } from './child.ts'

const upstream = new URL(process.argv[2]!)

// The options of src/adapters/http/client.ts.
const pool = new Pool(upstream.origin, {
  connections: httpClientLimits.upstreamConnectionsMax,
  pipelining: 1,
  allowH2: false,
  connect: { timeout: httpClientLimits.upstreamConnectMs },
  keepAliveTimeout: httpClientLimits.upstreamKeepAliveMs,
  keepAliveMaxTimeout: httpClientLimits.upstreamKeepAliveMs,
  headersTimeout: 0,
  bodyTimeout: 0,
})

const forwarded = ['authorization', 'x-api-key', 'anthropic-version'] as const

const headersOf = ({ headers }: IncomingMessage): Record<string, string> => {
  const sent: Record<string, string> = { 'content-type': 'application/json' }
  for (const name of forwarded) {
    const value = headers[name]
    if (typeof value === 'string') sent[name] = value
  }
  return sent
}

// By hand, since the stream consumers of Node cost a tenth of the throughput.
const readText = (request: IncomingMessage): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (piece: string) => {
      text += piece
    })
    request.once('end', () => resolve(text)).once('error', reject)
  })

const app = new Koa()
app.use(async (ctx) => {
  const body = await readText(ctx.req)
  JSON.parse(body)
  const answer = await pool.request({
    method: 'POST',
    path: `${upstream.pathname}${ctx.path}`,
    headers: headersOf(ctx.req),
    body,
  })
  ctx.status = answer.statusCode
  for (const name of ['content-type', 'content-length'] as const) {
    const value = answer.headers[name]
    if (value !== undefined) ctx.set(name, value)
  }
  ctx.body = answer.body
})

becomeServer(createServer(app.callback()))
