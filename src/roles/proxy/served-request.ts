import type { AnswerPart } from '../dispatch.ts'
import type { Candidate } from '../role.ts'
import type { OpenStream, UpstreamTranslation, WholeAnswer } from './attempt.ts'

/** The candidate whose upstream was called last. */
export interface CalledUpstream extends UpstreamTranslation {
  readonly candidate: Candidate
  readonly calledAtMs: number
}

export interface ServedRequest<Answered = WholeAnswer | OpenStream> {
  readonly candidate: Candidate
  readonly calledAtMs: number
  readonly answered: Answered
}

export const headOf = ({ candidate, answered }: ServedRequest): Extract<AnswerPart, { type: 'head' }> => ({
  type: 'head',
  contentType: answered.type === 'stream' ? 'text/event-stream; charset=utf-8' : 'application/json',
  level: candidate.level,
  model: candidate.model,
})
