import t from 'tap'
import { faultSerializer } from '../../src/cli/faults.ts'
import { GatewayError } from '../../src/errors/gateway-error.ts'

const write = faultSerializer(['hunter2 and more'])

t.test('a fault is written down with its causes, where each was thrown, and their codes', async (t) => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:5432'), { code: 'ECONNREFUSED' })
  const cause = new Error('the tables do not answer', { cause: refused })
  const record = write(new GatewayError('read_models_unavailable', 'Try again.', { cause }))
  t.match(record, {
    type: 'GatewayError',
    message: 'Try again.',
    code: 'read_models_unavailable',
    stack: /^ {4}at .*faults\.spec\.ts/,
    cause: {
      type: 'Error',
      message: 'the tables do not answer',
      cause: { message: 'connect ECONNREFUSED 10.0.0.5:5432', code: 'ECONNREFUSED' },
    },
  })
})

t.test('no secret is written, wherever it stands', async (t) => {
  const planted = [
    'the password hunter2 and more is wrong',
    'no user at postgres://gateway:letmein@db.example:5432/ledger',
    'GET https://files.example/v/1.mp4?signature=letmein failed',
    'Incorrect API key provided: sk-letmein0123',
    'header authorization: Bearer letmein',
  ]
  for (const message of planted) {
    const thrown = new Error(message, { cause: new AggregateError([new Error(message)], message) })
    t.notMatch(JSON.stringify(write(thrown)), /hunter2|letmein/, message)
  }
  t.match(JSON.stringify(write(new Error(planted[1]))), 'db.example:5432/ledger', 'where it was asked is told')
})

t.test('what libraries hang on their errors is not written', async (t) => {
  const thrown = Object.assign(new Error('no'), {
    request: { headers: { authorization: 'letmein' } },
    detail: 'letmein',
  })
  t.notMatch(JSON.stringify(write(thrown)), 'letmein')
})

t.test('what is no error, and causes without end, are written all the same', async (t) => {
  t.same(write('gone'), { type: 'string', message: 'gone' })
  const endless = new Error('again')
  endless.cause = endless
  t.ok(JSON.stringify(write(endless)).length < 20_000)
})
