import { join } from 'node:path'
import { benchModel } from '../price.ts'
import type { Peer } from './peer.ts'

const script = 'node_modules/@portkey-ai/gateway/build/start-server.js'

/** It changes the headers of what it fetched, which Node does not allow. */
const withOwnHeaders = `const { fetch } = globalThis
globalThis.fetch = async (...words) => {
  const answer = await fetch(...words)
  return new Response(answer.body, answer)
}`

export const portkey: Peer = {
  name: 'portkey',
  program: `portkey/${script}`,
  hasDatabase: false,
  configure: async ({ installed, port }) => ({
    file: process.execPath,
    args: [
      '--import',
      `data:text/javascript,${encodeURIComponent(withOwnHeaders)}`,
      join(installed, 'start-server.js'),
      `--port=${port}`,
      '--headless',
    ],
  }),
  readyPath: '/',
  asked: async ({ upstreamUrl }) => ({
    key: 'sk-bench',
    model: benchModel,
    headers: ['x-portkey-provider: openai', `x-portkey-custom-host: ${upstreamUrl}/v1`],
  }),
  billsQuery: null,
  admittedQuery: null,
}
