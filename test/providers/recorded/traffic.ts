import { readFileSync } from 'node:fs'
import type { JsonObject } from '../../../src/encoding/json.ts'
import type { Target } from '../../../src/providers/dialect/dialect.ts'
import type { ProviderDialect } from '../../../src/providers/dialect/provider.ts'
import { type Surface, surfaces, targetOf } from './targets.ts'

interface Recorded {
  readonly from: string
  readonly host?: string
  readonly format: Surface
  readonly model: string
}

export interface RecordedAnswer extends Recorded {
  readonly body: JsonObject
}

export interface RecordedStream extends Recorded {
  readonly text: string
}

const linesOf = (name: string): readonly string[] =>
  readFileSync(new URL(`${name}.jsonl`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '')

export const recordedAnswers: readonly RecordedAnswer[] = linesOf('answers').map((line) => JSON.parse(line))
export const recordedStreams: readonly RecordedStream[] = linesOf('streams').map((line) => JSON.parse(line))

const dialectOf = ({ format, host = '' }: Recorded): ProviderDialect => {
  if (host.includes('azure')) return 'azure'
  if (host.includes('aiplatform')) return 'vertex'
  return ({ chat: 'openai', messages: 'anthropic', responses: 'openai', gemini: 'google' } as const)[format]
}

/** A provider that answers in the format of the recording, and in no other. */
export const targetFor = (recorded: Recorded): Target => {
  const target = targetOf(dialectOf(recorded), recorded.model)
  return recorded.format === 'chat'
    ? { ...target, provider: { ...target.provider, capabilities: { responses: false } } }
    : target
}

/** The Responses API has its own surface alone: for the others the same provider is asked by chat. */
export const surfacesOf = ({ format }: Recorded): readonly Surface[] =>
  format === 'responses' ? ['responses'] : surfaces
