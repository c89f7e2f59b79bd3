import t, { type Test } from 'tap'
import { errorOf } from '../../edge-fixture.ts'
import { jpeg, png } from '../../images.ts'
import { startVideoEdge, submitted, type VideoEdge } from '../../video-fixture.ts'

const url = 'https://x.example/a.png'
const clip = 'https://x.example/a.mp4'
const imageList = (count: number): object[] => Array.from({ length: count }, () => ({ image_url: url }))
const shot = (index: number, own: object = {}): object => ({ index, prompt: 'x', duration: '3', ...own })
const shots = (...multi_prompt: object[]): object => ({ multi_shot: true, multi_prompt, duration: '6' })

type Kind = 'text2video' | 'image2video' | 'omni-video'

/**
 * What breaks a rule, in the members of the native format; the native path; the model; the member at fault. The generic surface has all but
 * `prompt` and `image` in its metadata.
 */
type Row = readonly [what: string, kind: Kind, model: string, members: object, param: string]

const rows: readonly Row[] = [
  ['no prompt', 'text2video', 'v3', { prompt: undefined }, 'prompt'],
  ['a blank prompt', 'text2video', 'v3', { prompt: ' \n' }, 'prompt'],
  ['a prompt that is a number', 'text2video', 'v3', { prompt: 7 }, 'prompt'],
  ['a prompt of 2501 characters', 'text2video', 'v3', { prompt: 'x'.repeat(2_501) }, 'prompt'],
  ['what is not wanted, at length', 'text2video', 'v3', { negative_prompt: 'x'.repeat(2_501) }, 'negative_prompt'],
  ['an unknown mode', 'text2video', 'v3', { mode: 'ultra' }, 'mode'],
  ['4k of a model without it', 'text2video', 'v2-6', { mode: '4K' }, 'mode'],
  ['a duration that is too long', 'text2video', 'v3', { duration: 16 }, 'duration'],
  ['a duration that is too short', 'text2video', 'v3', { duration: '2' }, 'duration'],
  ['half a second', 'text2video', 'v3', { duration: 5.5 }, 'duration'],
  ['a duration in words', 'text2video', 'v3', { duration: 'five' }, 'duration'],
  ['seven seconds of the older models', 'text2video', 'v2-6', { duration: '7' }, 'duration'],
  ['seven seconds of o1', 'text2video', 'video-o1', { duration: 7 }, 'duration'],
  ['an odd aspect ratio', 'text2video', 'v3', { aspect_ratio: '4:3' }, 'aspect_ratio'],
  ['an odd sound', 'text2video', 'v3', { sound: true }, 'sound'],
  ['sound of a model without it', 'text2video', 'v2-5-turbo', { sound: 'on' }, 'sound'],
  ['sound of o1', 'text2video', 'video-o1', { sound: 'on' }, 'sound'],
  ['sound of v2-6 in std', 'text2video', 'v2-6', { sound: 'on', mode: 'std' }, 'sound'],
  ['sound of v2-6 in its default mode', 'text2video', 'v2-6', { sound: 'on' }, 'sound'],
  ['sound beside a video', 'omni-video', 'v3-omni', { sound: 'on', video_list: [{ video_url: clip }] }, 'sound'],
  ['a scale above 1', 'text2video', 'v3', { cfg_scale: 1.1 }, 'cfg_scale'],
  ['a scale as text', 'text2video', 'v3', { cfg_scale: '0.5' }, 'cfg_scale'],
  ['a watermark that is true', 'text2video', 'v3', { watermark_info: true }, 'watermark_info'],
  ['a watermark of no kind', 'text2video', 'v3', { watermark_info: {} }, 'watermark_info.enabled'],
  ['three voices', 'text2video', 'v3', { voice_list: ['a', 'b', 'c'].map((voice_id) => ({ voice_id })) }, 'voice_list'],
  [
    'a camera that swings too far',
    'text2video',
    'v3',
    { camera_control: { type: 'simple', config: { pan: 11 } } },
    'camera_control.config.pan',
  ],
  ['a camera of an unknown kind', 'text2video', 'v3', { camera_control: { type: 'wild' } }, 'camera_control.type'],
  ['an image that is no URL', 'image2video', 'v3', { image: 'ftp://x.example/a.png' }, 'image'],
  ['an image as a data URL', 'image2video', 'v3', { image: `data:image/png;base64,${png(400, 400)}` }, 'image'],
  [
    'an image that is none',
    'image2video',
    'v3',
    { image: Buffer.from('hello'.repeat(20)).toString('base64') },
    'image',
  ],
  ['an image that is small', 'image2video', 'v3', { image: png(1_000, 299) }, 'image'],
  ['an image that is slim', 'image2video', 'v3', { image: jpeg(2_000, 700) }, 'image'],
  [
    'an image above 10 MB',
    'image2video',
    'v3',
    { image: `${png(400, 400)}${'A'.repeat(14_000_000)}`.replaceAll('=', 'A') },
    'image',
  ],
  [
    'a last frame as a data URL',
    'image2video',
    'v3',
    { image: url, image_tail: 'data:image/png;base64,AA' },
    'image_tail',
  ],
  ['a list for a model of one source', 'omni-video', 'v3', { image_list: imageList(1) }, 'image_list'],
  ['a video for a model of one source', 'omni-video', 'v2-6', { video_list: [{ video_url: clip }] }, 'video_list'],
  ['an item without its image', 'omni-video', 'v3-omni', { image_list: [{}] }, 'image_list[0].image_url'],
  [
    'an item of an odd type',
    'omni-video',
    'v3-omni',
    { image_list: [{ image_url: url, type: 'middle' }] },
    'image_list[0].type',
  ],
  [
    'an image in a list as a data URL',
    'omni-video',
    'v3-omni',
    { image_list: [{ image_url: 'data:image/png;base64,AA' }] },
    'image_list[0].image_url',
  ],
  [
    'an end frame alone',
    'omni-video',
    'v3-omni',
    { image_list: [{ image_url: url, type: 'end_frame' }] },
    'image_list',
  ],
  [
    'an end frame among three',
    'omni-video',
    'v3-omni',
    {
      image_list: [{ image_url: url, type: 'first_frame' }, { image_url: url, type: 'end_frame' }, { image_url: url }],
    },
    'image_list',
  ],
  ['eight images', 'omni-video', 'v3-omni', { image_list: imageList(8) }, 'image_list'],
  [
    'five images beside a video',
    'omni-video',
    'v3-omni',
    { image_list: imageList(5), video_list: [{ video_url: clip }] },
    'image_list',
  ],
  ['two videos', 'omni-video', 'v3-omni', { video_list: [{ video_url: clip }, { video_url: clip }] }, 'video_list'],
  [
    'a video without its URL',
    'omni-video',
    'v3-omni',
    { video_list: [{ refer_type: 'base' }] },
    'video_list[0].video_url',
  ],
  [
    'a video of an odd format',
    'omni-video',
    'v3-omni',
    { video_list: [{ video_url: 'https://x.example/a.webm' }] },
    'video_list[0].video_url',
  ],
  [
    'a video of an odd use',
    'omni-video',
    'v3-omni',
    { video_list: [{ video_url: clip, refer_type: 'style' }] },
    'video_list[0].refer_type',
  ],
  [
    'a video with odd sound',
    'omni-video',
    'v3-omni',
    { video_list: [{ video_url: clip, keep_original_sound: true }] },
    'video_list[0].keep_original_sound',
  ],
  ['a video in 4k', 'omni-video', 'v3-omni', { mode: '4k', video_list: [{ video_url: clip }] }, 'mode'],
  [
    'a video for 12 seconds',
    'omni-video',
    'v3-omni',
    { duration: 12, video_list: [{ video_url: clip, refer_type: 'feature' }] },
    'duration',
  ],
  [
    'what is not wanted, of omni',
    'omni-video',
    'v3-omni',
    { negative_prompt: 'x', image_list: imageList(1) },
    'negative_prompt',
  ],
  ['a scale, of omni', 'omni-video', 'v3-omni', { cfg_scale: 0.5, image_list: imageList(1) }, 'cfg_scale'],
  [
    'an image that is not there',
    'omni-video',
    'v3-omni',
    { prompt: '<<<image_2>>>', image_list: imageList(1) },
    'prompt',
  ],
  [
    'a video that is not there',
    'omni-video',
    'v3-omni',
    { prompt: '<<<video_1>>>', image_list: imageList(1) },
    'prompt',
  ],
  [
    'the image before the first',
    'omni-video',
    'v3-omni',
    { prompt: '<<<image_0>>>', image_list: imageList(1) },
    'prompt',
  ],
  ['a placeholder without omni', 'text2video', 'v3', { prompt: '<<<image_1>>>' }, 'prompt'],
  ['an element without its id', 'omni-video', 'v3-omni', { element_list: [{}] }, 'element_list[0].element_id'],
  [
    'an element whose number is read as another',
    'omni-video',
    'v3-omni',
    { element_list: [{ element_id: 7 }, { element_id: Number('829836802793406551') }] },
    'element_list[1].element_id',
  ],
  [
    'a path whose numbers are read as others',
    'image2video',
    'v3',
    { image: url, dynamic_masks: [{ mask: url, trajectories: [{ x: 1, y: -(2 ** 53) }] }] },
    'dynamic_masks[0].trajectories[0].y',
  ],
  ['several shots of a model of one', 'text2video', 'v2-6', { ...shots(shot(1)), duration: '5' }, 'multi_shot'],
  ['no shots', 'text2video', 'v3', { multi_shot: true }, 'multi_prompt'],
  [
    'seven shots',
    'text2video',
    'v3',
    shots(...[1, 2, 3, 4, 5, 6, 7].map((index) => shot(index, { duration: '1' }))),
    'multi_prompt',
  ],
  ['shots that take longer', 'text2video', 'v3', shots(shot(1), shot(2, { duration: '4' })), 'multi_prompt'],
  ['a shot of no time', 'text2video', 'v3', shots(shot(1, { duration: '0' }), shot(2)), 'multi_prompt[0].duration'],
  ['a shot without words', 'text2video', 'v3', shots(shot(1), shot(2, { prompt: ' ' })), 'multi_prompt[1].prompt'],
  [
    'a shot of 513 characters',
    'text2video',
    'v3',
    shots(shot(1, { prompt: 'x'.repeat(513) }), shot(2)),
    'multi_prompt[0].prompt',
  ],
  ['shots in disorder', 'text2video', 'v3', shots(shot(2), shot(1)), 'multi_prompt[0].index'],
  ['shots that nobody asked for', 'text2video', 'v3', { multi_prompt: [shot(1)] }, 'multi_prompt'],
  ['shots of an odd kind', 'text2video', 'v3', { multi_shot: true, shot_type: 'random' }, 'shot_type'],
  ['a call back to nowhere', 'text2video', 'v3', { callback_url: 'somewhere' }, 'callback_url'],
  ['a call back by mail', 'text2video', 'v3', { callback_url: 'mailto:a@x.example' }, 'callback_url'],
  ['a call back with a password', 'text2video', 'v3', { callback_url: 'https://a:b@x.example' }, 'callback_url'],
  ['an id that is a number', 'text2video', 'v3', { external_task_id: 7 }, 'external_task_id'],
  ['an id without end', 'text2video', 'v3', { external_task_id: 'x'.repeat(129) }, 'external_task_id'],
  ['an id with a line break', 'text2video', 'v3', { external_task_id: 'a\nb' }, 'external_task_id'],
]

const refused = async (
  t: Test,
  edge: VideoEdge,
  what: string,
  path: string,
  body: object,
  param: string,
): Promise<void> => {
  const response = await edge.post(body, {}, path)
  const error = await errorOf(response)
  t.match(
    { status: response.status, ...error },
    { status: 400, type: 'invalid_request_error', param },
    `${what}: ${error.message}`,
  )
  t.notMatch(error.message, /oneOf|anyOf|"then"/, what)
}

t.test('every rule refuses what breaks it, naming the field, before anything is stored', async (t) => {
  const edge = await startVideoEdge(t)
  const framesBefore = edge.log.frames.length
  for (const [what, kind, model, members, param] of rows) {
    const {
      prompt = 'prompt' in members ? undefined : 'A cat.',
      image,
      ...metadata
    } = members as Record<string, unknown>
    await refused(
      t,
      edge,
      what,
      `/vv/v1/videos/${kind}`,
      { model_name: `vv/${model}`, prompt, image, ...metadata },
      param,
    )
    const isTop = /^(prompt|image)\b/.test(param) && !/^image_/.test(param)
    const generic = { model: `vv/${model}`, prompt, image, metadata }
    await refused(t, edge, `${what}, generic`, '/v1/video/generations', generic, isTop ? param : `metadata.${param}`)
  }
  t.equal(edge.queued.size, 0, 'nothing was queued')
  t.equal(edge.log.frames.length, framesBefore, 'nothing was held')
  t.same(edge.logged, [], 'a caller in error is no fault of ours')
})

t.test('what only one surface can get wrong', async (t) => {
  const edge = await startVideoEdge(t)
  const generations = '/v1/video/generations'
  const plain = { model: 'vv/v3', prompt: 'A cat.' }
  const generic: readonly [string, unknown, string | null][] = [
    ['no model', { prompt: 'x' }, 'model'],
    ['a model that is a number', { ...plain, model: 7 }, 'model'],
    ['metadata that is a list', { ...plain, metadata: [1] }, 'metadata'],
    ['metadata that is no JSON', { ...plain, metadata: '{mode:std}' }, 'metadata'],
    ['metadata as text that is a list', { ...plain, metadata: '[1]' }, 'metadata'],
    ['metadata that says a thing twice', { ...plain, metadata: '{"mode":"std","mode":"4k"}' }, 'metadata'],
    ['two images', { ...plain, images: [url, url] }, 'images'],
    ['a bad image among images', { ...plain, images: ['ftp://x.example'] }, 'images[0]'],
    ['a size of no shape', { ...plain, size: '1000x900' }, 'size'],
    ['a size in words', { ...plain, size: 'large' }, 'size'],
    ['bad seconds', { ...plain, seconds: '99' }, 'seconds'],
    ['a bad duration beside metadata', { ...plain, duration: 99 }, 'duration'],
    ['a bad mode beside metadata', { ...plain, mode: 'x' }, 'mode'],
    ['a file', { ...plain, input_reference: { file_id: 'file-1' } }, 'input_reference.file_id'],
    ['a list', [plain], null],
  ]
  for (const [what, body, param] of generic) {
    const response = await edge.post(body, {}, generations)
    t.match({ status: response.status, ...(await errorOf(response)) }, { status: 400, param }, what)
  }
  const native: readonly [string, string, unknown, string | null][] = [
    ['no model', 'text2video', { prompt: 'x' }, 'model_name'],
    ['a model of the other surface', 'text2video', { prompt: 'x', model: 7 }, 'model'],
    ['an image on the path of text', 'text2video', { ...plain, image: url }, 'image'],
    ['no image on the path of images', 'image2video', plain, 'image'],
    ['the path of many sources with a model of one', 'omni-video', plain, 'model'],
    ['a list', 'text2video', [plain], null],
  ]
  for (const [what, kind, body, param] of native) {
    const response = await edge.post(body, {}, `/vv/v1/videos/${kind}`)
    t.match({ status: response.status, ...(await errorOf(response)) }, { status: 400, param }, what)
  }
  t.equal(edge.queued.size + edge.holds().length, 0)
})

t.test('sound beside a video is a combination, by its own code', async (t) => {
  const edge = await startVideoEdge(t)
  const metadata = { sound: 'on', video_list: [{ video_url: clip }] }
  const response = await edge.post({ model: 'vv/v3-omni', prompt: 'x', metadata }, {}, '/v1/video/generations')
  const expected = { status: 400, code: 'invalid_parameter_combination', param: 'metadata.sound' }
  t.match({ status: response.status, ...(await errorOf(response)) }, expected)
})

t.test('a body above the bound is refused as a whole', async (t) => {
  const edge = await startVideoEdge(t, { bounds: { requestBodyBytesMax: 10_000 } })
  for (const path of ['/v1/video/generations', '/v1/videos', '/vv/v1/videos/image2video']) {
    const response = await edge.post({ model: 'vv/v3', prompt: 'x', image: 'A'.repeat(20_000) }, {}, path)
    t.match({ status: response.status, ...(await errorOf(response)) }, { status: 413, code: 'request_too_large' }, path)
  }
  t.equal(edge.queued.size, 0)
})

t.test('models that make no videos, or are not there', async (t) => {
  const edge = await startVideoEdge(t)
  for (const model of ['openai/plain', 'vv/v9', 'nobody/v3', 'v3']) {
    const response = await edge.post({ model, prompt: 'x' }, {}, '/v1/video/generations')
    t.match(
      { status: response.status, ...(await errorOf(response)) },
      { status: 404, code: 'model_not_found', param: 'model' },
      model,
    )
  }
})

t.test('images of every kind that come along are taken', async (t) => {
  const edge = await startVideoEdge(t)
  for (const image of [png(300, 750), jpeg(1_920, 1_080, 60_000)]) {
    const taskId = await submitted(edge, { model: 'vv/v3', prompt: 'x', image })
    t.equal(edge.payloadOf(taskId).body.image, image)
  }
})

t.test('a name of the caller’s is shown as far as it tells anything', async (t) => {
  const edge = await startVideoEdge(t)
  const name = 'x'.repeat(16_000)
  for (const members of [
    { camera_control: { type: 'simple', config: { [name]: 1 } } },
    { camera_control: { type: 'simple', config: { [`\u{1f600}${name}`]: 1 } } },
  ])
    for (const [path, body] of [
      ['/v1/video/generations', { model: 'vv/v3', prompt: 'x', metadata: members }],
      ['/vv/v1/videos/text2video', { model_name: 'vv/v3', prompt: 'x', ...members }],
    ] as const) {
      const text = await (await edge.post(body, {}, path)).text()
      t.match(text, /camera_control\.config\..?.?x{90}/)
      t.ok(text.length < 2_000, `${text.length} characters`)
    }
})

t.test('an id of more digits than a number keeps is asked for as text', async (t) => {
  const edge = await startVideoEdge(t)
  const ask = (id: string, own = '') =>
    edge.post(
      `{"model":"vv/v3-omni","prompt":"x","metadata":{"element_list":[{"element_id":${id}}]${own}}}`,
      {},
      '/v1/video/generations',
    )
  const external = ',"external_task_id":"mine"'
  for (const id of ['829836802793406551', '9007199254740992', '1e300', '-829836802793406551']) {
    const response = await ask(id, external)
    const expected = { status: 400, param: 'metadata.element_list[0].element_id', message: /send it as a string/ }
    t.match({ status: response.status, ...(await errorOf(response)) }, expected, id)
  }
  const taken: string[] = []
  for (const [id, own] of [
    ['9007199254740991', ''],
    ['"829836802793406551"', external],
    ['"829836802793406551"', external],
  ] as const)
    taken.push(((await (await ask(id, own)).json()) as { id: string }).id)
  t.same(
    taken.map((id) => edge.payloadOf(id).body.element_list),
    [
      [{ element_id: 9007199254740991 }],
      [{ element_id: '829836802793406551' }],
      [{ element_id: '829836802793406551' }],
    ],
  )
  t.equal(taken[1], taken[2])
  t.equal((await ask('"829836802793406552"', external)).status, 409, 'another element is another task')
})
