import t from 'tap'
import { problemsOfVendorError } from '../../reference/vv-video-contract.ts'
import { post, textBody, videoSandboxFor } from './ask-video.ts'

const image = 'https://a.example/a.png'
const video = 'https://a.example/a.mp4'
const omni = { model_name: 'vendor-v3-omni', prompt: 'A cat.' }
const edit = { ...omni, video_list: [{ video_url: video }] }
const style = { ...omni, video_list: [{ video_url: video, refer_type: 'feature' }] }
const shots = (...durations: readonly string[]): object => ({
  multi_shot: true,
  shot_type: 'customize',
  multi_prompt: durations.map((duration, index) => ({ index: index + 1, prompt: 'A cat.', duration })),
})

/** kind, body, units: by the price list of wire §4.8. */
const taken: readonly (readonly [string, object, string])[] = [
  ['text2video', textBody(), '3'],
  ['text2video', textBody('A cat.', { mode: 'pro' }), '4'],
  ['text2video', textBody('A cat.', { mode: '4k', duration: '15', sound: 'on' }), '45'],
  ['text2video', textBody('A cat.', { sound: 'on' }), '4.5'],
  ['text2video', textBody('A cat.', { sound: 'on', voice_list: [{ voice_id: 'a' }] }), '5.5'],
  ['text2video', { model_name: 'v3', prompt: 'A cat.' }, '3'],
  ['text2video', { prompt: '', ...shots('3', '4'), model_name: 'v3', duration: '7' }, '4.2'],
  ['text2video', textBody('A cat.', { model_name: 'vendor-v2-6', mode: 'pro', sound: 'on' }), '5'],
  ['text2video', textBody('A cat.', { model_name: 'vendor-v2-5-turbo', duration: '10' }), '3'],
  ['text2video', textBody('A cat.', { model_name: 'vendor-v2-master', mode: 'pro' }), '10'],
  ['image2video', { model_name: 'vendor-v3', image }, '3'],
  ['image2video', { model_name: 'vendor-v3', image_tail: 'aGVsbG8=' }, '3'],
  ['omni-video', omni, '4'],
  ['omni-video', { ...omni, sound: 'on', mode: 'std' }, '4'],
  ['omni-video', edit, '6'],
  ['omni-video', { ...edit, prompt: 'A cat. [[input_seconds=10]]', mode: 'std' }, '9'],
  ['omni-video', { ...style, duration: '3' }, '3.6'],
  ['omni-video', { ...omni, model_name: 'vendor-video-o1', duration: '10' }, '8'],
  ['omni-video', { ...omni, image_list: [{ image_url: image, type: 'first_frame' }] }, '4'],
]

t.test('what is taken, and what it costs', async (t) => {
  const { sandbox } = await videoSandboxFor(t)
  for (const [index, [kind, body, units]] of taken.entries()) {
    const made = await post(sandbox, { ...body, external_task_id: String(index) }, kind)
    t.match(made.body, { code: 0 }, JSON.stringify(body))
    t.equal(sandbox.videos.find(String(index))?.units, units, JSON.stringify(body))
  }
})

const images = (count: number): object => ({ image_list: Array.from({ length: count }, () => ({ image_url: image })) })
const frame = (type: string): object => ({ image_url: image, type })

/** kind, body, what the refusal names. */
const refused: readonly (readonly [string, object, RegExp])[] = [
  ['text2video', { prompt: 'A cat.' }, /^model_name is required/],
  ['text2video', textBody('A cat.', { model_name: 'vendor-v9' }), /^model_name/],
  ['text2video', textBody('A cat.', { mode: '8k' }), /^mode must be one of/],
  ['text2video', textBody('A cat.', { mode: '4K' }), /^mode/],
  ['text2video', textBody('A cat.', { duration: 5 }), /^duration/],
  ['text2video', textBody('A cat.', { duration: '16' }), /^duration/],
  ['text2video', textBody('A cat.', { aspect_ratio: '4:3' }), /^aspect_ratio/],
  ['text2video', textBody('x'.repeat(2_501)), /^prompt/],
  ['text2video', textBody(''), /^prompt is required/],
  ['text2video', textBody('A cat.', { image }), /^image/],
  ['text2video', textBody('A cat.', { video_list: [] }), /^video_list/],
  ['text2video', textBody('A cat.', { cfg_scale: 2 }), /^cfg_scale/],
  ['text2video', textBody('A cat.', { voice_list: [1, 2, 3].map((voice_id) => ({ voice_id })) }), /^voice_list/],
  ['text2video', textBody('A cat.', { model_name: 'vendor-v2-6', sound: 'on' }), /^mode or sound/],
  ['text2video', textBody('A cat.', { model_name: 'vendor-v2-6', mode: '4k' }), /^mode or sound/],
  ['text2video', textBody('A cat.', { model_name: 'vendor-v2-5-turbo', sound: 'on' }), /^mode or sound/],
  ['text2video', textBody('A cat.', { model_name: 'vendor-v2-6', duration: '7' }), /^duration/],
  ['text2video', textBody('A cat.', { model_name: 'vendor-v2-6', ...shots('5') }), /^multi_shot/],
  ['text2video', textBody('A cat.', shots('3', '3')), /add up/],
  ['text2video', textBody('A cat.', shots(...Array.from({ length: 7 }, () => '1'))), /^multi_prompt/],
  ['image2video', textBody(), /^(?:image|image_tail) is required/],
  ['image2video', textBody('A cat.', { image: 'data:image/png;base64,aGVsbG8=' }), /^image/],
  ['omni-video', textBody(), /^model_name is not supported/],
  ['omni-video', { ...omni, negative_prompt: 'dogs' }, /^negative_prompt/],
  ['omni-video', { ...omni, cfg_scale: 0.5 }, /cfg_scale/],
  ['omni-video', { ...edit, sound: 'on' }, /^sound must be "off"/],
  ['omni-video', { ...edit, mode: '4k' }, /^mode or sound/],
  ['omni-video', { ...style, duration: '11' }, /^duration/],
  ['omni-video', { ...omni, video_list: [{ video_url: video }, { video_url: video }] }, /^video_list/],
  ['omni-video', { ...omni, video_list: [{}] }, /^video_list\[0\].video_url/],
  ['omni-video', { ...omni, ...images(8) }, /^image_list/],
  ['omni-video', { ...style, ...images(5) }, /too many images/],
  ['omni-video', { ...omni, ...images(5), element_list: [1, 2, 3].map((element_id) => ({ element_id })) }, /too many/],
  ['omni-video', { ...omni, image_list: [frame('end_frame')] }, /end frame needs/],
  ['omni-video', { ...omni, image_list: [frame('first_frame'), frame('end_frame'), frame('')] }, /^image_list/],
  [
    'omni-video',
    { ...omni, image_list: [frame('first_frame'), frame('end_frame'), { image_url: image }] },
    /more than two/,
  ],
  ['omni-video', { ...edit, image_list: [frame('first_frame')] }, /frames are not supported/],
  ['omni-video', { ...omni, model_name: 'vendor-video-o1', duration: '7' }, /^duration/],
]

t.test('what is refused, and why', async (t) => {
  const { sandbox } = await videoSandboxFor(t)
  for (const [kind, body, message] of refused) {
    const { status, body: told } = await post(sandbox, body, kind)
    t.match([status, told.code], [400, 1201], JSON.stringify(body).slice(0, 200))
    t.match(told.message, message)
    t.strictSame(problemsOfVendorError(told), [])
  }
  for (const text of ['{', '[]', '']) t.match((await post(sandbox, text)).body, { code: 1200 })
  t.equal(sandbox.videos.totals().made, 0)
})
