/** What submits are measured against, a process of its own: a bare Koa POST that waits for one synced publish to JetStream; no ledger. */
import { createServer, type IncomingMessage } from 'node:http'
import { jetstream, jetstreamManager, StorageType } from '@nats-io/jetstream'
import Koa from 'koa'
import { connectNats } from '../../../src/adapters/nats/connect.ts'
import { becomeServer } from '../child.ts'

const [url = ''] = process.argv.slice(2)
const subject = 'bench.posts'

const connection = await connectNats({ url, name: 'bench-post' })
const jsm = await jetstreamManager(connection)
await jsm.streams.add({ name: 'BENCH_POSTS', subjects: [subject], storage: StorageType.File })
const client = jetstream(connection)

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
  const text = await readText(ctx.req)
  const { model } = JSON.parse(text)
  const { seq } = await client.publish(subject, text)
  ctx.body = { id: String(seq), object: 'video', model, status: 'queued' }
})

becomeServer(createServer(app.callback()))
