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
  'speaks',
  'spoken',
  'speaker',
  'speakers',
  'anybody',
  'believed',
  'patience',
  'asker',
  'keeping',
  'books',
] as const

const pattern = new RegExp(`\\b(${bannedWords.join('|')})\\b`, 'gi')
/** `told1hTokens` is four words, and so is `told_1h_tokens`. */
const wordsOfName = (name: string): string =>
  name.replaceAll(/([a-z])(?=[A-Z0-9])|([0-9])(?=[A-Za-z])/g, '$& ').replaceAll('_', ' ')

export const findBannedWordsIn = (text: string): readonly string[] =>
  [...text.matchAll(pattern)].map(([word]) => word.toLowerCase())

export interface BannedUse {
  readonly path: string
  readonly line: number
  readonly word: string
}

/** Where comments, strings and the names of what is declared use a banned word. */
export const findBannedWords = (sources: readonly SourceFile[]): readonly BannedUse[] =>
  sources.flatMap(({ path, comments, names, strings }) =>
    [...comments, ...[...strings, ...names].map(({ line, text }) => ({ line, text: wordsOfName(text) }))]
      .flatMap(({ line, text }) => findBannedWordsIn(text).map((word) => ({ path, line, word })))
      .toSorted((a, b) => a.line - b.line),
  )
