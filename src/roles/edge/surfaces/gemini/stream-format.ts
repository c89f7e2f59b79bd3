import type { GatewayError } from '../../../../errors/gateway-error.ts'
import { geminiErrorBody } from '../../../../http/errors.ts'
import { SseSplitter } from '../../../../providers/dialect/sse.ts'
import type { AnswerPart } from '../../../dispatch.ts'
import { keepAliveComment, type StreamFormat } from '../inference/send-answer.ts'

const errorJson = (error: GatewayError): string => JSON.stringify(geminiErrorBody(error))

export const eventFormat: StreamFormat = {
  keepAlive: keepAliveComment,
  errorEvent: (error) => Buffer.from(`data: ${errorJson(error)}\n\n`),
}

const arrayType = 'application/json'

/** Ends each element, so that what follows is between two; a JSON text may have it there. */
const elementEnd = '\n\n'

/** Of a stream that is one JSON array. It is sent once elements are, so an error is never the first. */
export const arrayFormat: StreamFormat = {
  contentType: arrayType,
  keepAlive: Buffer.from(elementEnd),
  errorEvent: (error) => Buffer.from(`,${errorJson(error)}]`),
}

/** The events of a stream as the elements of a JSON array, for clients that do not ask for events. */
export async function* eventsToArray(parts: AsyncIterable<AnswerPart>): AsyncGenerator<AnswerPart> {
  const splitter = new SseSplitter()
  let opening = '['
  for await (const part of parts) {
    if (part.type === 'head') {
      yield { ...part, contentType: arrayType }
      continue
    }
    let text = ''
    for (const { data } of splitter.push(part.bytes)) {
      if (data === null) continue
      text += `${opening}${data}${elementEnd}`
      opening = ','
    }
    if (text !== '') yield { type: 'bytes', bytes: Buffer.from(text) }
  }
  yield { type: 'bytes', bytes: Buffer.from(opening === '[' ? '[]' : ']') }
}
