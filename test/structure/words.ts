import type { SourceFile } from './sources.ts'

/** Words that describe the program as if it were a person or a place. Standard terms exist for each: a process logs, sends, receives; a record exists or is stored. */
export const bannedWords = [
  'tell',
  'tells',
  'told',
  'telling',
  'untold',
  'say',
  'says',
  'said',
  'saying',
  'hear',
  'hears',
  'heard',
  'deaf',
  'ears',
  'mouth',
  'voice',
  'stand',
  'stands',
  'stood',
  'standing',
  'whoever',
  'nobody',
  'somebody',
  'stranger',
  'strangers',
  'house',
  'shelf',
  'trouble',
  'troubles',
] as const

const pattern = new RegExp(`\\b(${bannedWords.join('|')})\\b`, 'gi')
const wordsOfName = (name: string): string => name.replaceAll(/([a-z])([A-Z])/g, '$1 $2')

export interface BannedUse {
  readonly path: string
  readonly line: number
  readonly word: string
  readonly text: string
}

/** Where comments and exported names use a banned word. */
export const findBannedWords = (sources: readonly SourceFile[]): readonly BannedUse[] =>
  sources.flatMap(({ path, comments, exports }) => [
    ...comments.flatMap(({ line, text }) =>
      [...text.matchAll(pattern)].map(([word]) => ({ path, line, word: word.toLowerCase(), text })),
    ),
    ...exports.flatMap(({ name }) =>
      [...wordsOfName(name).matchAll(pattern)].map(([word]) => ({
        path,
        line: 0,
        word: word.toLowerCase(),
        text: name,
      })),
    ),
  ])
