import type { Network } from './network.ts'

export interface SimResponse {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
  /** To its end, as its headers say. */
  readonly isComplete: boolean
}

/** Longer than any request may take. */
const patienceMs = 45_000
const headEnd = '\r\n\r\n'

const joinChunks = (text: string): { readonly body: string; readonly isComplete: boolean } => {
  let body = ''
  for (let at = 0; ; ) {
    const lineEnd = text.indexOf('\r\n', at)
    if (lineEnd < 0) return { body, isComplete: false }
    const size = Number.parseInt(text.slice(at, lineEnd), 16)
    if (size === 0) return { body, isComplete: text.startsWith('\r\n', lineEnd + 2) }
    const end = lineEnd + 2 + size
    if (end > text.length) return { body, isComplete: false }
    body += text.slice(lineEnd + 2, end)
    at = end + 2
  }
}

const parse = (text: string): SimResponse | null => {
  const at = text.indexOf(headEnd)
  if (at < 0) return null
  const [first = '', ...lines] = text.slice(0, at).split('\r\n')
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const rest = text.slice(at + headEnd.length)
  const read =
    headers.get('transfer-encoding') === 'chunked'
      ? joinChunks(rest)
      : { body: rest, isComplete: rest.length >= Number(headers.get('content-length') ?? 0) }
  return { status: Number(first.split(' ')[1]), headers, ...read }
}

export interface SimRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: object
  readonly leavesAfter: number | null
  readonly leavesAfterMs?: number | undefined
}

/** On a connection of its own. Resolves with what came, null where no head did. */
export const exchange = (network: Network, port: number, request: SimRequest): Promise<SimResponse | null> => {
  const { method, path, headers, body, leavesAfter, leavesAfterMs = patienceMs } = request
  const text = JSON.stringify(body)
  const all = { host: 'gateway', connection: 'close', 'content-type': 'application/json', ...headers }
  const lines = Object.entries({ ...all, 'content-length': String(Buffer.byteLength(text)) })
  const socket = network.connect(port)
  let received = ''
  const head = `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}`).join('\r\n')}`
  socket.write(Buffer.from(`${head}${headEnd}${text}`))
  return new Promise((resolve) => {
    const patience = setTimeout(() => socket.destroy(), leavesAfterMs)
    socket.onData = (bytes) => {
      received += bytes.toString('latin1')
      if (leavesAfter !== null && received.length > leavesAfter) socket.destroy()
    }
    socket.onEnd = () => socket.destroy()
    socket.onClose = () => {
      clearTimeout(patience)
      resolve(parse(received))
    }
  })
}
