import { drawWeighted, drawWhole, type Random } from './draw.ts'

/** How the video vendor treats one submit. */
export type SubmitMode =
  | 'accepts'
  | 'accepts_late'
  | 'loses_answer'
  | 'fails_after'
  | 'never_arrives'
  | 'is_busy'
  | 'refuses'
  | 'names_another'

/** What it reports as deducted. */
export type DeductionMode = 'exact' | 'less' | 'more' | 'absurd' | 'absent' | 'unreadable'

export interface VideoAction {
  readonly type: 'video'
  readonly workspace: number
  /** In its prompt, by which the vendor's task is found. */
  readonly number: number
  readonly isLimitedKey: boolean
  readonly seconds: number
  /** By what a repeat is recognized: the header, or the caller's own id in the body. */
  readonly repeatedBy: 'nothing' | 'key' | 'external_id'
  readonly submits: readonly SubmitMode[]
  readonly takesMs: number
  readonly end: 'succeeds' | 'fails' | 'never'
  readonly deduction: DeductionMode
  /** What it reports first is not what it reports later. */
  readonly contradicts: boolean
  /** When the client asks for the task again, after its answer. */
  readonly readsAfterMs: readonly number[]
}

const submitModes: readonly (readonly [SubmitMode, number])[] = [
  ['accepts', 60],
  ['accepts_late', 8],
  ['loses_answer', 8],
  ['fails_after', 4],
  ['never_arrives', 5],
  ['is_busy', 6],
  ['refuses', 5],
  ['names_another', 4],
]

const deductions: readonly (readonly [DeductionMode, number])[] = [
  ['exact', 60],
  ['less', 15],
  ['more', 9],
  ['absurd', 4],
  ['absent', 6],
  ['unreadable', 6],
]

export const drawVideo = (random: Random, workspace: number, number: number): VideoAction => ({
  type: 'video',
  workspace,
  number,
  isLimitedKey: random() < 0.2,
  seconds: 3 + drawWhole(random, 10),
  repeatedBy: drawWeighted(random, [
    ['nothing', 2],
    ['key', 1],
    ['external_id', 1],
  ]),
  submits: [drawWeighted(random, submitModes), drawWeighted(random, submitModes)],
  takesMs: 500 + random() ** 3 * 55_000,
  end: drawWeighted(random, [
    ['succeeds', 80],
    ['fails', 12],
    ['never', 8],
  ]),
  deduction: drawWeighted(random, deductions),
  contradicts: random() < 0.1,
  readsAfterMs: Array.from({ length: drawWhole(random, 3) }, () => random() * 30_000),
})
