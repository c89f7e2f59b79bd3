import { createHmac } from 'node:crypto'
import t from 'tap'
import type { VideoBody } from '../../../src/domain/video/request.ts'
import { vendorLimits } from '../../../src/providers/vv-video/limits.ts'
import { envelope, fault, never, nowMs, open, payload, taskId, vendorTaskId } from './scripted.ts'

const taken = envelope({ task_id: vendorTaskId, task_status: 'submitted', task_info: { external_task_id: taskId } })

t.test('what is sent', async (t) => {
  const { http, vendor } = open()
  t.equal(vendor.callsPerSecond, 20)
  http.answer = { body: taken }
  t.strictSame(await vendor.submit(payload, never), { type: 'accepted', vendorTaskId })
  const { url, method, headers, body } = http.last
  t.strictSame([method, url], ['POST', 'https://api.vendor.example/v1/videos/text2video'])
  t.match(headers, { authorization: 'Bearer sk-vendor-0123456789', 'content-type': 'application/json' })
  t.strictSame(JSON.parse(String(body)), {
    model_name: 'vendor-v3',
    prompt: 'A cat.',
    duration: '5',
    mode: 'std',
    external_task_id: taskId,
  })
})

t.test('a key that is replaced is used for the next call, and neither is shown', async (t) => {
  const { http, vendor } = open()
  vendor.useCredential({ type: 'key', apiKey: 'vendor-key-two' })
  const message = 'Neither Bearer-less sk-vendor-0123456789 nor vendor-key-two is known.'
  http.answer = { status: 400, body: fault(1201, message) }
  const submitted = await vendor.submit(payload, never)
  t.match(http.last.headers, { authorization: 'Bearer vendor-key-two' })
  t.equal(submitted.type, 'refused')
  t.notMatch(JSON.stringify(submitted), /vendor-0123456789|vendor-key-two/)
})

t.test('nothing of the caller’s own takes the place of ours', async (t) => {
  const { http, vendor } = open()
  const body = {
    prompt: 'A cat.',
    callback_url: 'https://caller.example/hook',
    external_task_id: 'mine',
    model_name: 'dear',
    model: 'dear',
  } as VideoBody
  await vendor.submit({ ...payload, body }, never)
  t.strictSame(JSON.parse(String(http.last.body)), {
    model_name: 'vendor-v3',
    prompt: 'A cat.',
    external_task_id: taskId,
  })
})

t.test('an answer about another task is no acceptance', async (t) => {
  const { http, vendor } = open()
  http.answer = { body: envelope({ task_id: vendorTaskId, task_info: { external_task_id: 'task_other' } }) }
  t.strictSame(await vendor.submit(payload, never), { type: 'unknown', reason: 'another_task' })
})

t.test('where it is asked', async (t) => {
  const { http, vendor } = open()
  await vendor.query('omni-video', 'a/b?c', never)
  t.match(http.last, { method: 'GET', url: 'https://api.vendor.example/v1/videos/omni-video/a%2Fb%3Fc' })
  t.equal(http.last.body, undefined)
  await vendor.find('image2video', taskId, never)
  t.equal(http.last.url, `https://api.vendor.example/v1/videos/image2video/${taskId}`)
})

interface Claims {
  readonly iss: string
  readonly exp: number
  readonly nbf: number
}

const decode = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString())

/** Written from RFC 7515 and 7519 alone. */
const verified = (token: string, secret: string): Claims => {
  const [head = '', claims = '', signature = ''] = token.split('.')
  const expected = createHmac('sha256', secret).update(`${head}.${claims}`).digest()
  if (!expected.equals(Buffer.from(signature, 'base64url'))) throw new Error('wrong signature')
  t.strictSame(decode(head), { alg: 'HS256', typ: 'JWT' })
  return decode(claims) as Claims
}

t.test('tokens: what they claim, how long one is kept, and when a new one is made', async (t) => {
  let now = nowMs
  const pair = { type: 'pair', accessKey: 'AK', secretKey: 'SK' } as const
  const { http, vendor } = open(pair, () => now)
  const token = async (): Promise<string> => {
    await vendor.query('text2video', vendorTaskId, never)
    return String(http.last.headers['authorization']).replace('Bearer ', '')
  }
  const first = await token()
  t.strictSame(verified(first, 'SK'), { iss: 'AK', exp: nowMs / 1_000 + 1_800, nbf: nowMs / 1_000 - 5 })
  now += 1_800_000 - vendorLimits.videoTokenRenewMs - 1
  t.equal(await token(), first)
  now += 1
  const second = await token()
  t.equal(verified(second, 'SK').exp, now / 1_000 + 1_800)
  now -= 3_600_000
  const third = await token()
  t.equal(verified(third, 'SK').nbf, now / 1_000 - 5, 'our clock was set back')
  now += 60_000
  http.answer = { status: 401, body: fault(1004) }
  t.equal(await token(), third)
  t.not(await token(), third, 'one that was refused is not used again')
  t.throws(() => verified(first, 'other'))
})
