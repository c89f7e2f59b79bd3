import t from 'tap'
import { GatewayError } from '../../../src/errors/gateway-error.ts'
import { errorStatusOf } from '../../../src/http/error-table.ts'
import {
  blamesCaller,
  type CandidateFailure,
  finalFailure,
  passedOver,
  rateLimitFailure,
  readRetryAfterSeconds,
  refusalFailure,
  statusFailure,
  type Unserved,
} from '../../../src/roles/proxy/failure.ts'
import { sharedLimits } from '../../../src/runtime/limits.ts'
import { startHostileUpstream } from '../../support/hostile-upstream.ts'
import { ask, callOf, failureOf, startBench } from './forwarding.ts'

t.test('who is at fault', async (t) => {
  for (const status of [400, 404, 405, 413, 415, 422]) t.ok(blamesCaller(status), `${status}`)
  for (const status of [301, 401, 402, 403, 408, 409, 424, 425, 429, 500, 502, 503, 504, 529])
    t.notOk(blamesCaller(status), `${status}`)
})

t.test('Retry-After', async (t) => {
  const now = Date.parse('2026-11-21T09:00:00.250Z')
  const table: readonly [string | string[] | undefined, number][] = [
    ['7', 7],
    ['1.2', 2],
    ['0.01', 1],
    ['0', 0],
    [['5', '9'], 5],
    ['Sat, 21 Nov 2026 09:00:10 GMT', 10],
    ['Sat, 21 Nov 2026 08:00:00 GMT', 0],
    ['soon', 0],
    ['', 0],
    [undefined, 0],
    ['999999', sharedLimits.upstreamRetryAfterSecondsMax],
  ]
  for (const [header, seconds] of table)
    t.equal(readRetryAfterSeconds({ headers: { 'retry-after': header } }, now), seconds, `${header}`)
})

t.test('the delay of a quota is in the body of Google’s error alone', async (t) => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.07s' }]
  const error = { code: 429, message: 'You exceeded your current quota.', status: 'RESOURCE_EXHAUSTED', details }
  const baseUrl = await startHostileUpstream(t, {
    undefined: (response) => {
      response.writeHead(429, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    },
  })
  const bench = await startBench(t, { baseUrl, retries: { max: 3, budgetMs: 20_000 } })
  const { error: refused } = await ask(bench, 'google/gemini-2.5-flash')
  t.match(refused, { code: 'rate_limit_exceeded', retryAfterSeconds: 35 })
  t.equal(failureOf(t, bench).attempts.length, 1, 'and it is not repeated before')
})

const limited = (seconds: number): CandidateFailure => rateLimitFailure(null, seconds)
const failedAt = { level: 0, model: 'openai/a' }
const unservedOf = (failures: readonly CandidateFailure[]): readonly Unserved[] =>
  failures.map((failure) => ({ candidate: failedAt, failure }))
const withStatus = (error: GatewayError): GatewayError => Object.assign(error, { status: errorStatusOf(error) })

const judge = (
  failures: readonly CandidateFailure[],
  models: string | readonly string[] = 'openai/a',
  chain = models !== 'openai/a',
) => withStatus(finalFailure(callOf(models, { chain }), { unserved: unservedOf(failures), stopped: null }))

t.test('the verdict', async (t) => {
  const two = ['openai/a', 'openai/b']
  const table: readonly [string, GatewayError, object][] = [
    ['all limited', judge([limited(9), limited(4)], two), { status: 429, retryAfterSeconds: 4 }],
    ['limited, no delay told', judge([limited(0)]), { status: 429, code: 'rate_limit_exceeded', retryAfterSeconds: 1 }],
    ['one delay told', judge([limited(0), limited(6)], two), { status: 429, retryAfterSeconds: 6 }],
    ['limited, then down', judge([limited(9), statusFailure(503)], two), { status: 502, code: 'fallback_exhausted' }],
    ['down, then limited', judge([statusFailure(503), limited(9)], two), { status: 502, code: 'fallback_exhausted' }],
    ['single', judge([statusFailure(500)]), { status: 502, code: 'upstream_error' }],
    ['single in a chain', judge([statusFailure(500)], 'openai/a', true), { status: 502, code: 'fallback_exhausted' }],
    ['too late', judge([statusFailure(504)]), { status: 502, code: 'upstream_timeout' }],
    ['our key', judge([statusFailure(401)]), { status: 502, code: 'upstream_error' }],
    [
      'our account is empty',
      judge([rateLimitFailure({ code: 'insufficient_quota', message: '', param: null }, 5)]),
      { status: 502, code: 'upstream_error' },
    ],
  ]
  for (const [name, error, expected] of table) {
    t.match(error, expected, name)
    t.strictSame(error.failedAt, failedAt)
  }
})

t.test('candidates that could not be asked decide only where none was', async (t) => {
  const two = ['openai/a', 'openai/b']
  const over = passedOver(new GatewayError('unsupported_parameter', 'Not n.', { param: 'n' }))
  const refusal = { status: 400, code: 'unsupported_parameter', param: 'n' }
  t.match(judge([over]), refusal)
  t.match(judge([passedOver(new GatewayError('not_implemented', 'Not here.')), over], two), refusal)
  t.match(judge([over, limited(9)], two), { status: 429, retryAfterSeconds: 9 })
  t.match(judge([statusFailure(503), over], two), { status: 502, code: 'fallback_exhausted' })
  const stopped = withStatus(finalFailure(callOf(two), { unserved: unservedOf([over]), stopped: 'shutdown' }))
  t.match(stopped, { status: 503 }, 'the other one might have been asked')
})

t.test('what is passed on', async (t) => {
  const pass = (status: number, code: string | null, message = 'm', param: string | null = null) =>
    refusalFailure(status, { code, message, param })
  t.match(pass(400, 'context_length_exceeded', 'Too long', 'messages').refusal, {
    status: 400,
    code: 'context_length_exceeded',
    param: 'messages',
    message: 'Too long',
  })
  t.match(pass(404, 'model_not_found').refusal, { status: 404, code: 'model_not_found' })
  t.match(pass(404, null).refusal, { status: 404, code: 'not_found' })
  t.match(pass(413, 'string_above_max_length').refusal, { status: 413, code: 'request_too_large' })
  t.match(pass(422, 'access_denied').refusal, { status: 422, code: 'invalid_request' })
  t.match(pass(405, null).refusal, { status: 405, code: 'method_not_allowed' })
  for (const message of [
    'API key not valid. Please pass a valid API key.',
    'Incorrect API key provided: [redacted].',
    'The provided API key is invalid.',
    'Provided API key is expired',
    'Error: Invalid API key.',
    'AuthenticationError: Incorrect API key provided.',
    'Error Your credit balance is too low.',
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to purchase credits.',
    'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
    'This organization has been disabled.',
  ]) {
    const failure = pass(400, 'invalid_request_error', message)
    t.strictSame(failure, { status: 400, reason: 'account', isInferred: true }, message)
    t.match(judge([failure]), { status: 502, code: 'upstream_error' })
  }
  t.strictSame(pass(400, 'billing_hard_limit_reached'), { status: 400, reason: 'account' })
  t.strictSame(pass(400, 'invalid_api_key'), { status: 400, reason: 'account' })
  const error = finalFailure(callOf('openai/a'), { unserved: unservedOf([pass(400, null)]), stopped: null })
  t.ok(error instanceof GatewayError)
  t.strictSame(error.failedAt, failedAt)
})

t.test("a caller's text that an upstream quotes does not blame our account", async (t) => {
  const quoted: readonly (readonly [message: string, param: string | null])[] = [
    ["Invalid schema for function 'f': In context=('properties', 'invalid api key'), a type is missing.", 'tools[0]'],
    ["Invalid schema: 'invalid api key' is not permitted.", null],
    ["'invalid api key' is not of type 'string'", null],
    ['Invalid JSON payload received. Unknown name "API key expired": Cannot find field.', null],
    ['messages.0.content: your credit balance is too low to access the Anthropic API', null],
    ['Incorrect API key provided: [redacted].', 'messages[0].name'],
    ['invalid api key: Extra inputs are not permitted', null],
    ['ValidationError: invalid api key: Extra inputs are not permitted', null],
    ["Error: unknown name 'invalid api key'", null],
    ["Validation Error: 'x' Error: invalid api key", null],
    ['The provided schema has an invalid api key', null],
    ['Your credit balance is too low to access the Anthropic API: Extra inputs are not permitted', null],
  ]
  for (const [message, param] of quoted) {
    const failure = refusalFailure(400, { code: 'invalid_request_error', message, param })
    t.match(failure, { status: 400, reason: 'refused', refusal: { message } }, message)
  }
})
