import { asArray, asObject, asText, type JsonObject } from '../../src/encoding/json.ts'
import {
  anyText,
  flag,
  headerText,
  integer,
  malformed,
  oneOf,
  type Rule,
  readEntries,
  type ValuesOf,
} from '../answers/directive-rules.ts'
import { sandboxLimits } from '../answers/limits.ts'

const ms = integer(0, sandboxLimits.sandboxDelayMsMax)
const calls = integer(0, sandboxLimits.sandboxTokensMax)

const numberText: Rule<string> = {
  expects: 'a number as JSON writes it',
  read: (text) => (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(text) ? text : undefined),
}

const courseRules = {
  queue_ms: ms, // In state `submitted`,
  run_ms: ms, // and then running.
  never: flag,
  failed: flag,
  fail_message: anyText,
  succeeded: flag, // The newer name of `succeed`.
  state: anyText, // The status reported while it runs.
  backwards: flag, // Every second query while it runs returns `submitted` again.
  deduction: anyText, // As a string, whatever it is.
  deduction_number: numberText,
  no_deduction: flag,
  input_seconds: integer(1, 3_600), // Of the video that is edited.
  videos: integer(0, sandboxLimits.sandboxVideoFilesMax),
  url_ms: ms, // How long the URL of a video is valid; each query signs it anew.
  not_unique: flag, // A second submit under the same external id makes a second task.
} as const

const faultRules = {
  on: oneOf('submit', 'query', 'any'), // Which calls; default: submits.
  skip: calls, // So many of them pass first,
  first: calls, // and so many fail then; default: all.
  done: flag, // A submit's task is made before it fails.
  status: integer(400, 599), // The vendor's code goes with it,
  code: integer(1, 999_999), // and the status with a code.
  message: anyText,
  leak: anyText,
  retry_after: headerText,
  html: flag,
  not_json: flag,
  empty: flag,
  hang: flag, // No response is ever sent.
  break: flag,
  break_body: flag, // The connection is cut in the middle of the body.
  delay_ms: ms,
  trickle_ms: ms, // Between two bytes of the body.
  oversize_bytes: integer(1, sandboxLimits.sandboxAnswerBytesMax), // Of blanks behind the body.
  other_task: flag, // The answer is about another task.
} as const

const rules = { ...courseRules, ...faultRules }

export type Course = ValuesOf<typeof courseRules>
export type VideoFault = ValuesOf<typeof faultRules>
type Block = ValuesOf<typeof rules>
type Name = keyof typeof rules

export interface VideoDirectives {
  readonly course: Course
  readonly faults: readonly VideoFault[]
}

/** A submit with one of these faults creates no task, unless with `done`. */
const inPlace = ['status', 'code', 'html', 'not_json', 'empty', 'hang', 'break'] as const
const happening: readonly Name[] = [
  ...inPlace,
  ...(['break_body', 'delay_ms', 'trickle_ms', 'oversize_bytes', 'other_task'] as const),
]
const onRefusal: readonly Name[] = ['status', 'code']

/** A directive that shapes a failure has no effect where nothing fails. */
const needs: { readonly [N in Name]?: readonly Name[] } = {
  on: happening,
  skip: happening,
  first: happening,
  done: inPlace,
  message: onRefusal,
  leak: onRefusal,
  retry_after: onRefusal,
  fail_message: ['failed'],
}

const assertMeaningful = (block: Block): void => {
  for (const [name, others] of Object.entries(needs))
    if (Object.hasOwn(block, name) && !others.some((other) => Object.hasOwn(block, other)))
      throw malformed(name, `it needs one of ${others.join(', ')}`)
}

const blocksIn = (text: string): readonly Block[] => {
  const lists = [...text.matchAll(/\[\[([^[\]]*)\]\]/g)].map(([, list = '']) => list)
  if (lists.length > sandboxLimits.sandboxVideoBlocksMax)
    throw malformed('[[…]]', `there are more than ${sandboxLimits.sandboxVideoBlocksMax} blocks`)
  const blocks = lists.map((list) => readEntries(rules, list))
  blocks.forEach(assertMeaningful)
  return blocks
}

const only = <T extends object>(block: Block, wanted: object): T =>
  Object.fromEntries(Object.entries(block).filter(([name]) => Object.hasOwn(wanted, name))) as T

const courseOf = (blocks: readonly Block[]): Course => {
  const names = blocks.flatMap((block) => Object.keys(only<Course>(block, courseRules)))
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw malformed(twice, 'it is given twice')
  return only<Course>(Object.assign({}, ...blocks), courseRules)
}

/**
 * Reads the blocks `[[key=value;…]]` of a text. Each block is at most one fault; what it sets of the task's course
 * holds wherever it is placed. Throws Refusal for anything malformed.
 */
export const readVideoDirectives = (text: string): VideoDirectives => {
  const blocks = blocksIn(text)
  const isFault = (block: Block): boolean => happening.some((name) => Object.hasOwn(block, name))
  return { course: courseOf(blocks), faults: blocks.filter(isFault).map((block) => only(block, faultRules)) }
}

export const promptsOf = (body: JsonObject): string =>
  [body['prompt'], ...asArray(body['multi_prompt']).map((shot) => asObject(shot)['prompt'])].map(asText).join('\n')

/** True where the fault's own answer, or none, replaces the true one. */
export const replacesAnswer = (fault: VideoFault): boolean => inPlace.some((name) => Object.hasOwn(fault, name))

export type VideoCall = 'submit' | 'query'

interface Counted {
  readonly fault: VideoFault
  calls: number
}

const isFor = ({ on = 'submit' }: VideoFault, call: VideoCall): boolean => on === 'any' || on === call

/** Faults in their order: a call meets the first one that is not over, and the next ones count from there. */
export class FaultQueue {
  readonly #counted: readonly Counted[]

  constructor(faults: readonly VideoFault[]) {
    this.#counted = faults.map((fault) => ({ fault, calls: 0 }))
  }

  next(call: VideoCall): VideoFault | null {
    for (const counted of this.#counted.filter(({ fault }) => isFor(fault, call))) {
      const { skip = 0, first = Number.POSITIVE_INFINITY } = counted.fault
      if (counted.calls >= skip + first) continue
      counted.calls += 1
      return counted.calls > skip ? counted.fault : null
    }
    return null
  }
}
