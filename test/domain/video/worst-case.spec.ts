import { readFileSync } from 'node:fs'
import t from 'tap'
import type { PriceFile } from '../../../src/domain/pricing/price-file.ts'
import type { VideoKind, VideoMode, VideoRequest } from '../../../src/domain/video/request.ts'
import { unitsPicosRoundingHalfUp } from '../../../src/domain/video/settle.ts'
import { worstCaseUnits } from '../../../src/domain/video/worst-case.ts'
import { feature, image, omni, type Sketch, shots, text, video } from './requests.ts'

const { prices }: PriceFile = JSON.parse(readFileSync(new URL('../../../prices.json', import.meta.url), 'utf8'))

const sheetOf = (modelName: string) => {
  const sheet = prices.find(({ model }) => model === `vv/${modelName}`)?.video
  if (sheet === undefined) throw new Error(`${modelName} makes no videos`)
  return sheet
}
const unitsOf = (modelName: string, request: VideoRequest): string =>
  worstCaseUnits(sheetOf(modelName), request, modelName)

const extras: Readonly<Record<string, Sketch>> = {
  '-': {},
  audio: { sound: 'on' },
  voice: { voice_list: [{ voice_id: '1' }] },
  video: { video_list: [feature] },
}

// model, mode, beside it, seconds, units: worked by hand from wire §4.8; `no` is what has no price.
const table = `
v3            std  -      5   3
v3            std  -      7   4.2
v3            pro  -      5   4
v3            4k   -      5   15
v3            std  audio  5   4.5
v3            pro  audio  15  18
v3            4k   audio  15  45
v3            std  voice  5   5.5
v3            pro  voice  10  14
v3            4k   voice  5   no
v3            std  video  5   no
v3-omni       std  -      3   1.8
v3-omni       pro  -      15  12
v3-omni       4k   -      15  45
v3-omni       std  audio  5   4
v3-omni       pro  audio  7   7
v3-omni       4k   audio  15  45
v3-omni       std  video  3   2.7
v3-omni       pro  video  10  12
v3-omni       4k   video  5   no
v3-omni       pro  voice  5   no
video-o1      std  -      5   3
video-o1      pro  -      10  8
video-o1      std  video  5   4.5
video-o1      pro  video  10  12
video-o1      4k   -      5   no
video-o1      pro  audio  5   no
v2-6          std  -      5   1.5
v2-6          pro  -      10  5
v2-6          pro  audio  10  10
v2-6          std  audio  5   no
v2-6          4k   -      5   no
v2-6          pro  voice  5   no
v2-5-turbo    std  -      10  3
v2-5-turbo    pro  -      5   2.5
v2-5-turbo    pro  audio  5   no
v2-master     std  -      5   10
v2-master     std  -      10  20
v2-master     pro  -      5   no
v2-1-master   std  -      5   10
v2-1-master   pro  -      5   no
`

t.test('every cell of the price table', async (t) => {
  for (const line of table.trim().split('\n')) {
    const [model = '', mode, beside = '', duration = '', units = ''] = line.split(/\s+/)
    const request = omni({ mode: mode as VideoMode, duration, ...extras[beside] })
    if (units === 'no') t.throws(() => unitsOf(model, request), { code: 'unsupported_value' }, line)
    else t.equal(unitsOf(model, request), units, line)
  }
})

t.test('what has no price is named', async (t) => {
  const rows: readonly (readonly [modelName: string, request: VideoRequest, param: string])[] = [
    ['v2-master', text({ mode: 'pro' }), 'metadata.mode'],
    ['v2-6', text({ sound: 'on' }), 'metadata.sound'],
    ['v3', omni({ video_list: [video] }), 'metadata.video_list'],
    ['v2-6', text({ voice_list: [{ voice_id: '1' }] }), 'metadata.voice_list'],
  ]
  for (const [modelName, request, param] of rows)
    t.throws(() => worstCaseUnits(sheetOf(modelName), request, modelName, (field) => `metadata.${field}`), {
      code: 'unsupported_value',
      param,
    })
})

t.test('what is left open counts as the default', async (t) => {
  const rows: readonly (readonly [request: VideoRequest, units: string])[] = [
    [text(), '3'],
    [image(), '3'],
    [omni(), '4'],
    [omni({ video_list: [feature] }), '6'],
    [text({ sound: 'off' }), '3'],
    [text({ multi_shot: true, multi_prompt: shots(2, 3) }), '3'],
    [text({ video_list: [], voice_list: [] }), '3'],
  ]
  for (const [request, units] of rows) t.equal(unitsOf('v3-omni', request), units, JSON.stringify(request))
})

t.test('an edit counts as ten seconds, whatever its duration says', async (t) => {
  t.equal(unitsOf('v3-omni', omni({ video_list: [video] })), '12')
  t.equal(unitsOf('v3-omni', omni({ video_list: [{ ...video, refer_type: 'base' }], mode: 'std', duration: '3' })), '9')
  t.equal(unitsOf('video-o1', omni({ video_list: [video], duration: '5' })), '12')
})

t.test('of several rates the highest counts', async (t) => {
  const both = (sound: 'on' | 'off') => text({ sound, voice_list: [{ voice_id: '1' }] })
  t.equal(unitsOf('v3', both('on')), '5.5')
  t.equal(unitsOf('v3', both('off')), '5.5')
  const sheet = {
    currency: 'USD',
    unit_price: '1',
    units_per_second: { std: '1', 'std+audio': '2', 'std+voice': '1.5' },
  } as const
  t.equal(worstCaseUnits(sheet, both('on'), 'v3'), '10')
})

t.test('no guess at a duration or a mode', async (t) => {
  for (const duration of ['', '0', '-5', '5.0', '1e1', 'five'])
    t.throws(() => unitsOf('v3', text({ duration })), { code: 'invalid_value', param: 'duration' }, duration)
  for (const mode of ['toString', 'ultra', ''])
    t.throws(() => unitsOf('v3', text({ mode: mode as VideoMode })), { code: 'unsupported_value', param: 'mode' }, mode)
})

t.test('4k with audio for 15 seconds holds 6.30 dollars', async (t) => {
  const kinds: readonly VideoKind[] = ['text2video', 'image2video']
  for (const kind of kinds) {
    const units = unitsOf('v3', { ...text({ mode: '4k', sound: 'on', duration: '15' }), kind })
    t.equal(unitsPicosRoundingHalfUp(units, sheetOf('v3').unit_price), 6_300_000_000_000n)
  }
})
