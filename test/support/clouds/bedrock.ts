import { createHash, createHmac, randomUUID } from 'node:crypto'
import { asObject, type JsonObject, parseJson } from '../../../src/encoding/json.ts'
import type { CloudAnswer, CloudCall, CloudGate, Forwarded } from './cloud.ts'
import { converseAnswer, converseFrames, eventsOf, frame, readConverse } from './converse.ts'

export const bedrockRegion = 'eu-west-1'
export const staticKeys = {
  accessKeyId: 'AKIABEDROCKEXAMPLE00',
  secretAccessKey: 'bedrock-secret-access-key-0123456789',
} as const
export const bedrockApiKey = 'bedrock-api-key-0123456789'

interface KnownKeys {
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')
const hmac = (key: string | Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest()

const authorizationPattern =
  /^AWS4-HMAC-SHA256 Credential=([\w]+)\/(\d{8})\/([\w-]+)\/(\w+)\/aws4_request, SignedHeaders=([\w;-]+), Signature=([0-9a-f]{64})$/

const clockMs = 300_000

/** `20150830T123600Z` */
const parseAwsDate = (text: string): number =>
  Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))

/** AWS's own rule, written from its documentation: the path as it was sent, encoded once more. */
const canonicalRequest = ({ method, path, headers, body }: CloudCall, names: readonly string[]): string =>
  [
    method,
    path.split('/').map(encodeURIComponent).join('/'),
    '',
    ...names.map((name) => `${name}:${(headers[name] ?? '').trim().replaceAll(/ +/g, ' ')}`),
    '',
    names.join(';'),
    sha256(body),
  ].join('\n')

/** An account of AWS, which knows its keys. */
export class AwsAccount {
  readonly #keys = new Map<string, KnownKeys>([[staticKeys.accessKeyId, staticKeys]])
  readonly usedKeys = new Set<string>()

  /** As a role or a profile has them. */
  issue(): JsonObject & { readonly AccessKeyId: string; readonly SecretAccessKey: string; readonly Token: string } {
    const AccessKeyId = `ASIA${randomUUID().replaceAll('-', '').slice(0, 16).toUpperCase()}`
    const [SecretAccessKey, Token] = [`issued-secret-${randomUUID()}`, `session-token-${randomUUID()}`]
    this.#keys.set(AccessKeyId, { secretAccessKey: SecretAccessKey, sessionToken: Token })
    const Expiration = new Date(Date.now() + 3_600_000).toISOString()
    return { Code: 'Success', Type: 'AWS-HMAC', AccessKeyId, SecretAccessKey, Token, Expiration }
  }

  /** Why a call is refused; null for one whose signature is right. */
  problemOf(call: CloudCall): string | null {
    const { headers } = call
    const [, id = '', day = '', region, service, signed = '', signature] =
      authorizationPattern.exec(headers['authorization'] ?? '') ?? []
    const keys = this.#keys.get(id)
    const date = headers['x-amz-date'] ?? ''
    if (keys === undefined) return 'The security token included in the request is invalid.'
    if (headers['x-amz-security-token'] !== keys.sessionToken) return 'The security token included is invalid.'
    if (region !== bedrockRegion || service !== 'bedrock') return `Credential should be scoped to a valid region.`
    const isNow = Math.abs(parseAwsDate(date) - Date.now()) < clockMs
    if (!isNow || !date.startsWith(day)) return 'Signature expired.'
    const names = signed.split(';')
    const needed = ['host', 'x-amz-date', ...(keys.sessionToken === undefined ? [] : ['x-amz-security-token'])]
    if (needed.some((name) => !names.includes(name))) return 'Not all headers are signed.'
    const scope = `${day}/${region}/${service}/aws4_request`
    const signer = [day, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${keys.secretAccessKey}`)
    const text = ['AWS4-HMAC-SHA256', date, scope, sha256(canonicalRequest(call, names))].join('\n')
    if (hmac(signer, text).toString('hex') !== signature)
      return 'The request signature we calculated does not match the signature you provided.'
    this.usedKeys.add(id)
    return null
  }
}

const pieceBytes = 61

/** Cut where nothing ends. */
async function* inPieces(frames: AsyncIterable<Buffer>): AsyncIterable<Uint8Array> {
  for await (const bytes of frames)
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

async function* claudeFrames(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  for await (const event of eventsOf(chunks)) {
    const metrics =
      event['type'] === 'message_stop' ? { 'amazon-bedrock-invocationMetrics': { inputTokenCount: 1 } } : {}
    const bytes = Buffer.from(JSON.stringify({ ...event, ...metrics })).toString('base64')
    yield frame('event', 'chunk', { bytes, p: 'abcdefgh' })
  }
}

export const countedUsage = { prompt: 180, cacheRead: 40, cacheWrite: 20, output: 30 } as const
export const slowOutputTokens = 60

const directives: { readonly [word: string]: string } = {
  counted: 'prompt_tokens=120;cached_tokens=40;cache_write_tokens=20;completion_tokens=30',
  slow: `output_tokens=${slowOutputTokens};chunk_delay_ms=5`,
  broken: 'output_tokens=60;chunk_delay_ms=5;break_after=20',
}

/** What follows a semicolon is the sandbox's. */
const sandboxModelOf = (model: string): string => {
  const at = model.indexOf(';')
  if (at >= 0) return `claude-plain${model.slice(at)}`
  const word = Object.keys(directives).find((each) => model.includes(each))
  return word === undefined ? 'claude-plain' : `claude-plain;${directives[word]}`
}

const refused = (status: number, message: string): CloudAnswer => ({ status, json: { message } })

const claudeMembers: readonly string[] = ['model', 'stream', 'service_tier', 'metadata', 'inference_geo']

const claudeBody = (body: JsonObject): JsonObject | string => {
  const { anthropic_version: version, ...rest } = body
  return version !== 'bedrock-2023-05-31' || claudeMembers.some((member) => member in body)
    ? 'Malformed input request: extraneous key is not permitted'
    : rest
}

const pathPattern = /^\/model\/([^/]+)\/(converse|converse-stream|invoke|invoke-with-response-stream)$/

const requestIdOf = (call: CloudCall): string => sha256(call.body).slice(0, 32)

/** Amazon Bedrock in front of a sandbox of Anthropic's: with signatures of its own region, or its API key, alone. */
export const bedrockGate =
  (sandboxUrl: string, account: AwsAccount): CloudGate =>
  (call): Forwarded | CloudAnswer => {
    const problem = call.headers['authorization'] === `Bearer ${bedrockApiKey}` ? null : account.problemOf(call)
    if (problem !== null) return refused(403, problem)
    const [, modelPath = '', operation = ''] = pathPattern.exec(call.path) ?? []
    const model = decodeURIComponent(modelPath)
    if (operation === '') return refused(404, 'Unable to determine service/operation name to be authorized')
    if (/throttled/.test(model)) return refused(429, 'Too many requests, please wait before trying again.')
    if (/absent/.test(model)) return refused(400, 'The provided model identifier is invalid.')
    const isClaude = operation.startsWith('invoke')
    const stream = operation.endsWith('stream')
    const json = asObject(parseJson(call.body.toString()))
    const body = isClaude ? claudeBody(json) : readConverse(json)
    if (typeof body === 'string') return refused(400, body)
    if (call.body.includes('forbidden words')) return refused(400, 'Input is too long for requested model.')
    const reframe = stream
      ? (chunks: AsyncIterable<Uint8Array>) => inPieces(isClaude ? claudeFrames(chunks) : converseFrames(chunks))
      : converseAnswer
    return {
      url: `${sandboxUrl}/messages`,
      headers: { 'x-api-key': 'sandbox', 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, model: sandboxModelOf(model), stream }),
      ...(isClaude && !stream ? {} : { reframe }),
      errorOf: (json) => ({ message: asObject(asObject(json)['error'])['message'] }),
      ...(stream ? { contentType: 'application/vnd.amazon.eventstream' } : {}),
      answerHeaders: { 'x-amzn-requestid': requestIdOf(call) },
    }
  }

/** The metadata service of a virtual machine, version 2 alone. */
export const instanceGate =
  (account: AwsAccount): CloudGate =>
  ({ method, path, headers }) => {
    const token = 'metadata-token-0123456789'
    if (method === 'PUT' && path === '/latest/api/token')
      return headers['x-aws-ec2-metadata-token-ttl-seconds'] === undefined
        ? refused(400, '')
        : { status: 200, text: token }
    if (headers['x-aws-ec2-metadata-token'] !== token) return refused(401, 'no token')
    const folder = '/latest/meta-data/iam/security-credentials/'
    if (path === folder) return { status: 200, text: 'gateway-role' }
    return path === `${folder}gateway-role` ? { status: 200, json: account.issue() } : refused(404, 'no such role')
  }

/** The credentials endpoint of a container. */
export const containerGate =
  (account: AwsAccount, authorization: string): CloudGate =>
  ({ headers }) =>
    headers['authorization'] === authorization
      ? { status: 200, json: account.issue() }
      : { status: 403, json: { message: 'the token of the container is wrong' } }
