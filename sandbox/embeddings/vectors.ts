import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { Directives } from '../answers/directives.ts'
import { Refusal } from '../answers/faults.ts'
import { sandboxLimits } from '../answers/limits.ts'
import { type Tokens, tokensOf } from '../answers/tokens.ts'

/** Of length 1; equal inputs have equal vectors. */
export const embed = (input: string, dimensions: number): readonly number[] => {
  const seed = createHash('sha256').update(input).digest()
  const raw = Array.from(
    { length: dimensions },
    (_, index) => seed.readInt8(index % seed.length) + seed.readInt8((index * 7 + 3) % seed.length) / (index + 1) + 0.5,
  )
  const length = Math.hypot(...raw)
  return raw.map((value) => Math.fround(value / length))
}

export const base64Of = (vector: readonly number[]): string =>
  Buffer.from(Float32Array.from(vector).buffer).toString('base64')

/** Throws Refusal for a number that no model has; `member` is its name in the format. */
export const dimensionsOf = (asked: unknown, member: string): number => {
  if (asked === undefined || asked === null) return sandboxLimits.sandboxDimensions
  if (typeof asked === 'number' && Number.isInteger(asked) && asked >= 1 && asked <= sandboxLimits.sandboxDimensionsMax)
    return asked
  throw new Refusal(`Invalid '${member}': a whole number from 1 to ${sandboxLimits.sandboxDimensionsMax}.`, {
    param: member,
  })
}

export const promptTokens = (words: number, directives: Directives): Tokens =>
  tokensOf({ words, audioIn: 0, image: 0, visible: 0, reasoning: 0, audioOut: 0 }, directives, false)
