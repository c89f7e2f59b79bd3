/** What the upstream does, whatever it speaks: it calls the tool that it was offered, and answers with what the tool said. */
import type { JsonObject } from '../../src/encoding/json.ts'

export interface Call {
  readonly name: string
  readonly arguments: string
}

export type Reply = { readonly content: string } | { readonly call: Call }

/** A request, as every format has it. */
export interface Asked {
  readonly tools: readonly string[]
  /** The last text of the user, or the result of the last tool. */
  readonly said: string
  readonly isResult: boolean
}

const fileIn = (asked: string): string | undefined => /\/\S+\.txt/.exec(asked)?.[0]

/** The tools that are known here, with what they are asked. */
const argumentsOf: Readonly<Record<string, (asked: string) => JsonObject>> = {
  Read: (asked) => ({ file_path: fileIn(asked) }),
  read_file: (asked) => ({ file_path: fileIn(asked) }),
  exec_command: (asked) => ({ cmd: `cat ${fileIn(asked)}` }),
  // Of newer models: a program that calls the tools.
  functions__exec: (asked) => ({ input: `text(await tools.exec_command({ cmd: 'cat ${fileIn(asked)}' }))` }),
  weather: () => ({ place: 'Bern' }),
}

/** Throws where no known tool is offered. */
export const replyTo = ({ tools, said, isResult }: Asked): Reply => {
  if (isResult) return { content: `The tool said: ${said}` }
  const name = tools.find((each) => Object.hasOwn(argumentsOf, each))
  if (name === undefined) throw new Error(`no known tool was offered, but ${tools.join()}`)
  return { call: { name, arguments: JSON.stringify(argumentsOf[name]?.(said)) } }
}

/** Arguments and words come in pieces. */
export const piecesOf = (whole: string): readonly string[] => whole.match(/.{1,7}/gsu) ?? []

export interface Counted {
  readonly prompt: number
  readonly output: number
}

const tokensIn = (value: unknown): number => Math.ceil(JSON.stringify(value).length / 4)

export const countTokens = (body: JsonObject, reply: Reply): Counted => ({
  prompt: tokensIn(body),
  output: tokensIn(reply),
})
