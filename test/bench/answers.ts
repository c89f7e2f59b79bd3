import { chatAnswers } from './chat-answers.ts'
import { type Answers, chunkMark, type Format } from './content.ts'
import { messagesAnswers } from './messages-answers.ts'
import { responsesAnswers } from './responses-answers.ts'
import type { Surface } from './routes.ts'

/** What the mock upstream answers with. */
export const answers: { readonly [F in Format]: Answers } = {
  chat: chatAnswers,
  messages: messagesAnswers,
  responses: responsesAnswers,
}

/** How often a whole answer, or a stream, has the mark. */
export const marksIn = (surface: Surface, stream: boolean): number => {
  const { whole, stream: pieces } = answers[surface === 'gemini' ? 'chat' : surface]
  return Buffer.concat(stream ? pieces : [whole]).filter((byte) => byte === chunkMark.charCodeAt(0)).length
}
