import { gzipSync } from 'node:zlib'

type Random = () => number

export const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)]!

const placeIn = (random: Random, length: number): number => Math.floor(random() * (length + 1))

const insertedAt = (text: string, at: number, piece: string): string => text.slice(0, at) + piece + text.slice(at)

/** A header by this name shows that what stood in a request became a header of its answer. */
export const injectedHeader = 'X-Injected'

const headerLines = [
  ...['Transfer-Encoding: chunked', 'Transfer-Encoding: gzip, chunked', 'Content-Length: 0', 'Content-Length: 99999'],
  ...['Content-Length: -1', 'Expect: 100-continue', 'Expect: nothing', 'Upgrade: websocket', 'Upgrade: h2c'],
  ...['Connection: upgrade', 'Connection: keep-alive', 'Connection: authorization, content-type', 'TE: trailers'],
  ...['Content-Encoding: gzip', 'Content-Encoding: br', 'Content-Type: text/plain', 'Content-Type: application/json'],
  ...['Content-Type: multipart/form-data; boundary=x', 'Content-Type: multipart/form-data', 'Content-Type: ;;;'],
  ...['Content-Type: application/json; charset=utf-16', 'Content-Type: application/x-www-form-urlencoded'],
  ...['Authorization: Bearer sk-x', 'Authorization: Basic eDp5', 'Authorization:', 'x-api-key: sk-x', 'Cookie: a=b'],
  ...['Idempotency-Key: one', 'Idempotency-Key: two', 'Idempotency-Key: é', `Idempotency-Key: ${'k'.repeat(300)}`],
  ...[
    'If-None-Match: *',
    'If-Modified-Since: x',
    'Range: bytes=0-1',
    'Accept: text/event-stream',
    'Accept-Encoding: *',
  ],
  ...['X-HTTP-Method-Override: DELETE', 'X-Forwarded-For: 127.0.0.1', 'Forwarded: for=127.0.0.1', 'Host: elsewhere'],
  ...['X-Gateway-Request-Id: mine', 'anthropic-version: 2023-06-01', 'anthropic-version: x', 'anthropic-beta: a, b'],
  ...['Trailer: authorization', 'Origin: null', 'Content-Disposition: x', ' folded', ': none', 'none', 'X: \u0000'],
  ...[`X: ${'y'.repeat(17_000)}`, 'X: a\rb', 'X: a\nb', 'Proxy-Connection: keep-alive', 'HTTP2-Settings: AAMAAABk'],
]

const pathPieces = [
  ...['/', '//', '/../', '/./', '%2e%2e%2f', '%2f', '%5c', '\\', '%00', '%', '%zz', '%c0%af', '%ff', '%ED%A0%80'],
  ...[`%0d%0a${injectedHeader}:%201`, ';a=b', '?', '#', '&', '*', '~', '.json', ' ', '+', 'A', '\u00e9', '{id}', ':id'],
  ...['?limit=-1', '?limit=1e9&limit=2', '?cursor=W10', '?from=2026-13-01', '?group_by=__proto__', '?a[__proto__]=x'],
  ...[
    '?model=%00',
    '?pageNum=0&pageSize=9999999999',
    'x'.repeat(3_000),
    'http://elsewhere',
    '__proto__',
    'constructor',
  ],
]

const methods = [
  'GET',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'PROPFIND',
  'get',
  'FOO',
]

const bodyPieces = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'null', 'true', '-0', '1e400', '-1e400', '0.1e-400', 'NaN'],
  ...[
    '99999999999999999999999',
    '"',
    '\\',
    '\\u0000',
    '\\ud800',
    '\\u2028',
    '\u0000',
    '\ufeff',
    '\u00ff',
    '{',
    '}',
    '[',
  ],
  ...[
    ']',
    ',',
    ':',
    '[]',
    '{}',
    '""',
    ',"stream":true',
    ',"__proto__":{"a":1}',
    ',"model":"gateway/auto"',
    '\r\n',
    '\n',
  ],
  ...[
    '[[stream]]',
    `\\r\\n${injectedHeader}: 1`,
    "'; drop table wallets; --",
    '${jndi:x}',
    '>',
    '*',
    '.',
    '\u0007',
    '\u001b[31m',
  ],
  ...['['.repeat(200), '{"a":'.repeat(130), 'x'.repeat(50_000), '9'.repeat(400), '"a":1,'.repeat(2_000)],
]

/** A request as it is sent, or as much of it as is one. */
export interface RawRequest {
  readonly method: string
  readonly target: string
  /** Lines. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

type Mutation = (request: RawRequest, random: Random) => RawRequest

const withPiece = (pieces: readonly string[], text: string, random: Random): string =>
  insertedAt(text, placeIn(random, text.length), pick(random, pieces))

const changedBytes = (body: Buffer, random: Random): Buffer => {
  const bytes = Buffer.from(body)
  if (bytes.length > 0) bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256)
  return bytes
}

const slicesOf = (body: Buffer, random: Random): readonly [Buffer, Buffer, Buffer] => {
  const [from = 0, to = 0] = [placeIn(random, body.length), placeIn(random, body.length)].sort((a, b) => a - b)
  return [body.subarray(0, from), body.subarray(from, to), body.subarray(to)]
}

const bodyMutations: readonly ((body: Buffer, random: Random) => Buffer)[] = [
  changedBytes,
  (body, random) => Buffer.from(withPiece(bodyPieces, body.toString('latin1'), random), 'latin1'),
  (body, random) => Buffer.from(withPiece(bodyPieces, body.toString(), random)),
  (body, random) => slicesOf(body, random)[0],
  (body, random) => Buffer.concat([slicesOf(body, random)[0], slicesOf(body, random)[2]]),
  (body, random) => {
    const [before, middle, after] = slicesOf(body, random)
    return Buffer.concat([before, middle, middle, after])
  },
  (body) => gzipSync(body),
  (body) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body]),
]

const mutations: readonly Mutation[] = [
  (request, random) => ({ ...request, method: pick(random, methods) }),
  (request, random) => ({ ...request, target: withPiece(pathPieces, request.target, random) }),
  (request, random) => ({
    ...request,
    target: pick(random, ['*', '', '?', 'http://x/v1/models', 'mailto:x', '//x', '/']),
  }),
  (request, random) => ({ ...request, target: request.target.toUpperCase() + pick(random, ['', '/', '//']) }),
  (request, random) => {
    const headers = [...request.headers]
    headers.splice(placeIn(random, headers.length), random() < 0.3 ? 1 : 0, pick(random, headerLines))
    return { ...request, headers }
  },
  (request, random) => ({
    ...request,
    headers: request.headers.map((line) => (random() < 0.2 ? withPiece(bodyPieces, line, random) : line)),
  }),
  (request, random) => ({ ...request, headers: [...request.headers, ...request.headers.slice(placeIn(random, 3))] }),
  ...bodyMutations.flatMap((mutate): readonly Mutation[] => [
    (request, random) => ({ ...request, body: mutate(request.body, random) }),
    (request, random) => ({ ...request, body: mutate(request.body, random) }),
  ]),
]

const chunkedText = (body: Buffer, random: Random): Buffer => {
  const [before, middle, after] = slicesOf(body, random)
  const chunks = [before, middle, after].filter(({ length }) => length > 0)
  const framed = chunks.flatMap((chunk) => [
    Buffer.from(`${chunk.length.toString(16)}${pick(random, ['', '', ';a=b', ' '])}\r\n`),
    chunk,
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([
    ...framed,
    Buffer.from(pick(random, ['0\r\n\r\n', '0\r\n\r\n', '0\r\na: b\r\n\r\n', '0\r\n', '00\r\n\r\n'])),
  ])
}

/** The request on the wire, its body with its length or in chunks. */
const written = ({ method, target, headers, body }: RawRequest, random: Random): Buffer => {
  const isChunked = random() < 0.15
  const framing = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`
  const head = [`${method} ${target} HTTP/1.1`, 'Host: x', ...headers, framing, 'Connection: close', '', ''].join(
    '\r\n',
  )
  return Buffer.concat([Buffer.from(head, 'latin1'), isChunked ? chunkedText(body, random) : body])
}

/** One to three things of a request changed; of some the bytes themselves. */
export const mutated = (request: RawRequest, random: Random): Buffer => {
  let changed = request
  for (let left = 1 + Math.floor(random() * 3); left > 0; left -= 1) changed = pick(random, mutations)(changed, random)
  const bytes = written(changed, random)
  return random() < 0.1 ? changedBytes(bytes, random) : bytes
}
