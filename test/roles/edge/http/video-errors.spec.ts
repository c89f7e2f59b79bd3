import t from 'tap'
import { GatewayError } from '../../../../src/errors/gateway-error.ts'
import { secret } from '../edge-fixture.ts'
import { bodyOf, plainBody, startVideoEdge } from '../video-fixture.ts'

const native = '/vv/v1/videos/text2video'
const genericPaths = ['/v1/video/generations', '/v1/videos'] as const

interface Row {
  readonly what: string
  readonly ask: (path: string) => Promise<Response>
  readonly status: number
  readonly code: string
  readonly vendorCode: number
}

t.test('errors have the shape of their surface, whatever went wrong', async (t) => {
  const { url, post, get, log } = await startVideoEdge(t, {
    creditUsd: '0.1',
    bounds: { requestBodyBytesMax: 4_000 },
  })
  const bare = (path: string, init: RequestInit = {}): Promise<Response> => fetch(url + path, init)
  const rows: readonly Row[] = [
    {
      what: 'no key',
      ask: (path) => bare(path, { method: 'POST' }),
      status: 401,
      code: 'missing_api_key',
      vendorCode: 1001,
    },
    {
      what: 'a wrong key',
      ask: (path) => bare(path, { method: 'POST', headers: { authorization: 'Bearer sk-nobody' } }),
      status: 401,
      code: 'invalid_api_key',
      vendorCode: 1002,
    },
    { what: 'no JSON', ask: (path) => post('{', {}, path), status: 400, code: 'invalid_json', vendorCode: 1200 },
    {
      what: 'no prompt',
      ask: (path) => post({ model: 'vv/v3' }, {}, path),
      status: 400,
      code: 'missing_required_parameter',
      vendorCode: 1201,
    },
    {
      what: 'no such model',
      ask: (path) => post({ model: 'vv/x', prompt: 'x' }, {}, path),
      status: 404,
      code: 'model_not_found',
      vendorCode: 1203,
    },
    {
      what: 'no money',
      ask: (path) => post(plainBody, {}, path),
      status: 402,
      code: 'insufficient_user_quota',
      vendorCode: 1101,
    },
    {
      what: 'too much',
      ask: (path) => post({ ...plainBody, prompt: 'x'.repeat(5_000) }, {}, path),
      status: 413,
      code: 'request_too_large',
      vendorCode: 1200,
    },
    {
      what: 'another format',
      ask: (path) => post('x', { 'content-type': 'text/plain' }, path),
      status: 415,
      code: 'unsupported_media_type',
      vendorCode: 1200,
    },
    { what: 'no such task', ask: (path) => get(`${path}/x`), status: 404, code: 'task_not_exist', vendorCode: 1203 },
    {
      what: 'a wrong method',
      ask: (path) => bare(path, { method: 'PUT' }),
      status: 405,
      code: 'method_not_allowed',
      vendorCode: 1202,
    },
    { what: 'nothing there', ask: (path) => get(`${path}/x/y/z`), status: 404, code: 'not_found', vendorCode: 1203 },
    {
      what: 'the log away',
      ask: async (path) => {
        log.stall(Date.now() - 3_000)
        void log.append([])
        return post(plainBody, {}, path)
      },
      status: 503,
      code: 'log_unavailable',
      vendorCode: 5001,
    },
  ]
  for (const { what, ask, status, code, vendorCode } of rows) {
    for (const path of genericPaths) {
      const response = await ask(path)
      const body = await bodyOf(response)
      const { error } = body as { error: { message: string } }
      t.match(
        { status: response.status, error },
        { status, error: { code, type: String, message: String } },
        `${what}: ${path}`,
      )
      t.strictSame(body, { error, code, message: error.message, data: null }, `${what}: ${path}`)
      t.ok('param' in error)
    }
    const response = await ask(native)
    const body = await bodyOf(response)
    const { error } = body as { error: { message: string } }
    t.match({ status: response.status, error }, { status, error: { code } }, `${what}: native`)
    const request_id = response.headers.get('x-request-id')
    t.strictSame(body, { code: vendorCode, message: error.message, request_id, data: null, error }, `${what}: native`)
  }
  log.resume()
})

t.test('too many requests say when to come back', async (t) => {
  const { post } = await startVideoEdge(t, { requestsPerMinute: 1 })
  t.equal((await post(plainBody, {}, native)).status, 200)
  const response = await post(plainBody, {}, native)
  t.ok(Number(response.headers.get('retry-after')) >= 1)
  t.match({ status: response.status, ...(await bodyOf(response)) }, { status: 429, code: 1302 })
  const generic = await post(plainBody, {}, '/v1/video/generations')
  t.match(await bodyOf(generic), { code: 'rate_limit_exceeded', data: null })
})

t.test('polls are not counted', async (t) => {
  const { post, get } = await startVideoEdge(t, { requestsPerMinute: 1 })
  const { id } = await bodyOf(await post(plainBody, {}, '/v1/video/generations'))
  for (let polls = 0; polls < 5; polls += 1) t.equal((await get(`/v1/video/generations/${id}`)).status, 200)
})

t.test('tasks that cannot be read now', async (t) => {
  const away = (): Promise<never> =>
    Promise.reject(new GatewayError('read_models_unavailable', 'Away.', { retryAfterSeconds: 1 }))
  const tasks = { find: away, findByExternalId: away, list: away }
  const { get, post } = await startVideoEdge(t, { tasks: () => tasks })
  const body = { ...plainBody, metadata: { external_task_id: 'mine' } }
  const { id } = await bodyOf(await post(body, {}, '/v1/video/generations'))
  for (const path of [native, `${native}/${id}`, `${native}/mine`]) {
    const response = await get(path)
    t.match({ status: response.status, ...(await bodyOf(response)) }, { status: 503, code: 5001 }, path)
    t.equal(response.headers.get('retry-after'), '1')
  }
  t.match(await bodyOf(await post(body, {}, '/v1/videos')), { id }, 'a submit does not need to read them')
})

t.test('other surfaces keep their own shapes', async (t) => {
  const { url } = await startVideoEdge(t)
  for (const path of ['/v1/videosX', '/vv/v1/other', '/v1/video']) {
    const body = await bodyOf(await fetch(url + path, { headers: { authorization: `Bearer ${secret}` } }))
    t.same(Object.keys(body), ['error'], path)
  }
})
