/** A client of large requests and large answers, a process of its own. */
import { wholeAnswerOf } from '../chat-answers.ts'
import { answerQuestions } from '../child.ts'
import { textOf } from '../content.ts'
import { type Addressed, bodyOf } from '../requests.ts'
import { pathOf } from '../routes.ts'
import { ordinaryShape } from '../shape.ts'

export interface LargeQuestion extends Addressed {
  readonly promptCharacters: number
  readonly answerCharacters: number
  readonly requests: number
  readonly atOnce: number
}

export interface LargeResult {
  /** Whole, with status 200, every byte of the upstream's answer. */
  readonly answers: number
  readonly failures: readonly string[]
  readonly seconds: number
}

/** Null, or what is wrong with the answer. */
const ask = async (to: Addressed, body: Buffer<ArrayBuffer>, expected: Buffer): Promise<string | null> => {
  const { url, key, format, model } = to
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(`${url}${pathOf(format, model, false)}`, { method: 'POST', headers, body })
  const answer = Buffer.from(await response.arrayBuffer())
  if (response.status !== 200) return `${response.status}: ${answer.toString('utf8', 0, 200)}`
  return answer.equals(expected) ? null : `an answer of ${answer.length} bytes, not ${expected.length}`
}

const run = async (question: LargeQuestion): Promise<LargeResult> => {
  const { promptCharacters, answerCharacters, requests, atOnce } = question
  const shape = { ...ordinaryShape, characters: answerCharacters }
  const body = Buffer.from(bodyOf({ ...question, stream: false, prompt: textOf(promptCharacters), shape }))
  const expected = wholeAnswerOf(answerCharacters)
  const outcomes: (string | null)[] = []
  const fromMs = performance.now()
  const keepAsking = async (): Promise<void> => {
    for (let asked = 0; asked < requests / atOnce; asked += 1) outcomes.push(await ask(question, body, expected))
  }
  await Promise.all(Array.from({ length: atOnce }, keepAsking))
  const failures = outcomes.filter((outcome) => outcome !== null)
  return { answers: outcomes.length - failures.length, failures, seconds: (performance.now() - fromMs) / 1_000 }
}

answerQuestions(run)
