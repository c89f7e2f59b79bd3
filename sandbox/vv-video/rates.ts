import { asArray, asObject, asText, type JsonObject } from '../../src/encoding/json.ts'
import type { Course } from './directives.ts'

type Modes = { readonly [mode: string]: number }

/** Tenths of a unit for a second of video, by mode. */
interface Rates {
  readonly silent: Modes
  readonly sound?: Modes
  readonly voice?: Modes
  readonly video?: Modes
}

const early: Rates = { silent: { std: 3, pro: 5 } }
const master: Rates = { silent: { std: 20, pro: 20 } }

const table: { readonly [model: string]: Rates } = {
  v1: early,
  'v1-6': early,
  'v2-5-turbo': early,
  'v2-master': master,
  'v2-1-master': master,
  'v2-6': { silent: { std: 3, pro: 5 }, sound: { pro: 10 } },
  v3: {
    silent: { std: 6, pro: 8, '4k': 30 },
    sound: { std: 9, pro: 12, '4k': 30 },
    voice: { std: 11, pro: 14, '4k': 30 },
  },
  'v3-omni': {
    silent: { std: 6, pro: 8, '4k': 30 },
    sound: { std: 8, pro: 10, '4k': 30 },
    video: { std: 9, pro: 12 },
  },
  'video-o1': { silent: { std: 6, pro: 8 }, video: { std: 9, pro: 12 } },
}

const longestFirst = Object.keys(table).toSorted((a, b) => b.length - a.length)

/** Without the vendor's prefix; '' where there is no such model. */
export const plainVideoModel = (model: string): string =>
  longestFirst.find((name) => model === name || model.endsWith(`-${name}`)) ?? ''

export const modeOf = (kind: string, body: JsonObject): string =>
  asText(body['mode']) || (kind === 'omni-video' ? 'pro' : 'std')

const defaultSeconds = 5

/** An edited video is as long as its input. */
export const secondsOf = (body: JsonObject, course: Course): number => {
  const [video] = asArray(body['video_list']).map(asObject)
  if (video !== undefined && (video['refer_type'] ?? 'base') === 'base') return course.input_seconds ?? defaultSeconds
  return Number(asText(body['duration']) || defaultSeconds)
}

const ratesOf = (rates: Rates, body: JsonObject): Modes | undefined => {
  if (asArray(body['video_list']).length > 0) return rates.video
  if (body['sound'] !== 'on') return rates.silent
  return asArray(body['voice_list']).length > 0 ? (rates.voice ?? rates.sound) : rates.sound
}

export const tenthsPerSecond = (kind: string, body: JsonObject): number | undefined => {
  const rates = table[plainVideoModel(asText(body['model_name']))]
  return rates === undefined ? undefined : ratesOf(rates, body)?.[modeOf(kind, body)]
}

/** `4.5`: what the vendor takes for the task, as a decimal. */
export const unitsOf = (kind: string, body: JsonObject, course: Course): string => {
  const tenths = (tenthsPerSecond(kind, body) ?? 0) * secondsOf(body, course)
  return tenths % 10 === 0 ? String(tenths / 10) : `${Math.floor(tenths / 10)}.${tenths % 10}`
}
