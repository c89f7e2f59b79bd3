import type { VideoKind, VideoMode } from './request.ts'

interface VideoReference {
  readonly modes: readonly VideoMode[]
  /** Seconds. */
  readonly durations: readonly number[]
}

export interface VideoModel {
  readonly kinds: readonly VideoKind[]
  readonly modes: readonly VideoMode[]
  /** Seconds. */
  readonly durations: readonly number[]
  readonly audioModes: readonly VideoMode[]
  readonly multiShot: boolean
  readonly videoReference: VideoReference | null
}

const fromTo = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)

const standard: VideoModel = {
  kinds: ['text2video', 'image2video'],
  modes: ['std', 'pro'],
  durations: [5, 10],
  audioModes: [],
  multiShot: false,
  videoReference: null,
}
const third: VideoModel = {
  ...standard,
  modes: ['std', 'pro', '4k'],
  durations: fromTo(3, 15),
  audioModes: ['std', 'pro', '4k'],
  multiShot: true,
}
const everyKind: readonly VideoKind[] = ['text2video', 'image2video', 'omni-video']

const models: ReadonlyMap<string, VideoModel> = new Map([
  ['v3', third],
  ['v3-omni', { ...third, kinds: everyKind, videoReference: { modes: ['std', 'pro'], durations: fromTo(3, 10) } }],
  ['video-o1', { ...standard, kinds: everyKind, videoReference: { modes: ['std', 'pro'], durations: [5, 10] } }],
  ['v2-6', { ...standard, audioModes: ['pro'] }],
  ['v2-5-turbo', standard],
  ['v2-master', standard],
  ['v2-1-master', standard],
])

export const videoModelOf = (modelName: string): VideoModel | undefined => models.get(modelName)
