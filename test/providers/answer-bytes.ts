import type { AnswerBody } from '../../src/providers/dialect/dialect.ts'

/** As a client gets it. */
export const answerBytes = (body: AnswerBody = new Uint8Array()): Buffer =>
  Buffer.from(body instanceof Uint8Array ? body : JSON.stringify(body))
