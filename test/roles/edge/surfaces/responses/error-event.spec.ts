import { APIError } from 'openai'
import { Stream } from 'openai/core/streaming'
import t from 'tap'
import { GatewayError } from '../../../../../src/errors/gateway-error.ts'
import { errorTable } from '../../../../../src/http/error-table.ts'
import { responsesErrorEvent } from '../../../../../src/roles/edge/surfaces/responses/stream-format.ts'
import { problemsOfResponsesEvent } from '../../../../reference/responses-contract.ts'

const broken = new GatewayError('upstream_stream_interrupted', 'The upstream provider broke off\nthe answer.')

t.test('an error has both spellings in one event', async (t) => {
  const [name, data, ...rest] = responsesErrorEvent(broken, 7).split('\n')
  t.same([name, rest], ['event: error', ['', '']])
  const event = JSON.parse(data?.slice('data: '.length) ?? '')
  const error = {
    message: broken.message,
    type: 'upstream_error',
    code: 'upstream_stream_interrupted',
    param: null,
  }
  t.strictSame(event, {
    type: 'error',
    sequence_number: 7,
    code: error.code,
    message: error.message,
    param: null,
    error,
  })
  t.strictSame(problemsOfResponsesEvent(event), [])
})

t.test('the official SDK raises it', async (t) => {
  const stream = Stream.fromSSEResponse(new Response(responsesErrorEvent(broken, 0)), new AbortController())
  const read = async (): Promise<unknown> => {
    for await (const _event of stream) return undefined
    return undefined
  }
  const raised = await read().catch((fault: unknown) => fault)
  t.ok(raised instanceof APIError)
  t.match(raised, { message: broken.message, code: broken.code, type: errorTable[broken.code].type })
})
