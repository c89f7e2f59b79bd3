import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Clock, NewId } from '../src/runtime/clock.ts'
import { sandboxLimits } from './answers/limits.ts'
import { chat } from './chat/dialect.ts'
import { embedPath, googleEmbeddings } from './embeddings/google.ts'
import { openaiEmbeddings } from './embeddings/openai.ts'
import { contentPath, countContentTokens, countPath, generateContent } from './generate-content/dialect.ts'
import { CallLog, type SandboxCall, type SandboxTotals } from './http/calls.ts'
import { resetCalls, sendJson, showCalls, showTotals } from './http/control.ts'
import { exchange, type Handler, lookup, type SandboxParts } from './http/exchange.ts'
import { countTokens, messages } from './messages/dialect.ts'
import { modelRoutes } from './models.ts'
import { deletedBody, responses, storedBody } from './responses/dialect.ts'
import { StoredResponses } from './responses/stored.ts'
import {
  directVideos,
  endVideo,
  type SandboxVideos,
  showVideo,
  showVideos,
  showVideoTotals,
  videosOf,
} from './vv-video/control.ts'
import { filePath, sendFile } from './vv-video/files.ts'
import { kindPath, taskPath, VideoVendorSandbox } from './vv-video/vendor.ts'

export { sandboxOrganisation } from './answers/faults.ts'
export type { SandboxCall, SandboxTotals } from './http/calls.ts'
export { sandboxVideoKey } from './vv-video/authorization.ts'
export type { SandboxVideo, SandboxVideos, SandboxVideoTotals } from './vv-video/control.ts'

interface SandboxOptions {
  /** 0 or absent: a free one. */
  readonly port?: number
  readonly host?: string
  readonly clock: Clock
  readonly newId: NewId
}

export interface Sandbox {
  /** A provider's `base_url`: `http://<host>:<port>/v1`. */
  readonly url: string
  readonly port: number
  /** Cuts the calls that are open; may be called again. */
  stop(): Promise<void>
  calls(): readonly SandboxCall[]
  totals(): SandboxTotals
  readonly videos: SandboxVideos
  reset(): void
}

interface Routes {
  readonly exact: ReadonlyMap<string, Handler>
  readonly matched: readonly (readonly [method: string, path: RegExp, handle: Handler])[]
}

const responsePath = /^\/v1\/responses\/[^/]+$/

const videoRoutes = (vendor: VideoVendorSandbox, videos: SandboxVideos, clock: Clock): Routes => ({
  exact: new Map([
    ['GET /sandbox/videos', showVideos(videos)],
    ['GET /sandbox/videos/totals', showVideoTotals(videos)],
    ['POST /sandbox/videos/directives', directVideos(videos)],
  ]),
  matched: [
    ['POST', kindPath, vendor.submit],
    ['GET', kindPath, vendor.list],
    ['GET', taskPath, vendor.query],
    ['GET', filePath, sendFile(clock)],
    ['GET', /^\/sandbox\/videos\/[^/]+$/, showVideo(videos)],
    ['POST', /^\/sandbox\/videos\/[^/]+\/end$/, endVideo(videos)],
  ],
})

const routesOf = (parts: SandboxParts, stored: StoredResponses, video: Routes, reset: () => void): Routes => {
  const responseRoutes = responses(stored)
  return {
    exact: new Map([
      ['POST /v1/chat/completions', exchange(chat, parts)],
      ['POST /v1/messages', exchange(messages, parts)],
      ['POST /v1/messages/count_tokens', exchange(countTokens, parts)],
      ['POST /v1/responses', exchange(responseRoutes, parts)],
      ['POST /v1/embeddings', exchange(openaiEmbeddings, parts)],
      ...modelRoutes(parts),
      ['GET /sandbox/calls', showCalls(parts.calls)],
      ['GET /sandbox/totals', showTotals(parts.calls)],
      ['POST /sandbox/reset', resetCalls(parts.calls, reset)],
      ...video.exact,
    ]),
    matched: [
      ...video.matched,
      ['GET', responsePath, lookup(responseRoutes, parts, storedBody(stored))],
      ['DELETE', responsePath, lookup(responseRoutes, parts, deletedBody(stored))],
      ['POST', contentPath, exchange(generateContent, parts)],
      ['POST', embedPath, exchange(googleEmbeddings, parts)],
      ['POST', countPath, exchange(countContentTokens, parts)],
    ],
  }
}

const handlerOf = ({ exact, matched }: Routes, method: string, path: string): Handler =>
  exact.get(`${method} ${path}`) ??
  matched.find(([its, pattern]) => its === method && pattern.test(path))?.[2] ??
  notFound

const pathOf = (url: string): string => {
  const at = url.indexOf('?')
  return at < 0 ? url : url.slice(0, at)
}

const notFound: Handler = (request, response) => {
  request.resume()
  const message = `Invalid URL (${request.method} ${request.url})`
  const body = { error: { message, type: 'invalid_request_error', param: null, code: null } }
  sendJson(response, 404, body)
}

/** A fault of the sandbox itself: the caller sees it, and no test mistakes it for a directive's. */
const fail = (response: ServerResponse, error: unknown): void => {
  if (response.headersSent) return void response.destroy()
  const message = `sandbox fault: ${error instanceof Error ? error.stack : String(error)}`
  const body = { error: { message, type: 'sandbox_fault', param: null, code: null } }
  sendJson(response, 500, body)
}

const serve =
  (routes: Routes) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const handle = handlerOf(routes, request.method ?? '', pathOf(request.url ?? '/'))
    try {
      await handle(request, response)
    } catch (error) {
      fail(response, error)
    }
  }

const listen = (server: Server, port: number, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })

const close = (server: Server): Promise<void> =>
  new Promise((resolve, reject) => {
    if (!server.listening) return resolve()
    server.close((error) => (error === undefined ? resolve() : reject(error)))
    server.closeAllConnections()
  })

/** A provider of our own, for the demo and for tests; calls are controlled by directives: see directives.ts. */
export const startSandbox = async (options: SandboxOptions): Promise<Sandbox> => {
  const { port: wantedPort = 0, host = '127.0.0.1', clock, newId } = options
  const calls = new CallLog()
  const stored = new StoredResponses()
  const parts = { clock, newId, calls }
  const vendor = new VideoVendorSandbox(parts)
  const videos = videosOf(vendor, clock)
  const reset = (): void => {
    calls.reset()
    stored.reset()
    vendor.reset()
  }
  const routes = routesOf(parts, stored, videoRoutes(vendor, videos, clock), reset)
  const server = createServer({ keepAliveTimeout: sandboxLimits.sandboxKeepAliveMs }, serve(routes))
  const port = await listen(server, wantedPort, host)
  return {
    url: `http://${host}:${port}/v1`,
    port,
    stop: () => close(server),
    calls: () => calls.last(sandboxLimits.sandboxCallsMax),
    totals: () => calls.totals(),
    videos,
    reset,
  }
}
