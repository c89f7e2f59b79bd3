import t from 'tap'
import { withDefaults } from '../../../src/domain/video/defaults.ts'
import type { VideoBody, VideoRequest } from '../../../src/domain/video/request.ts'
import { endFrame, feature, firstFrame, image, omni, references, shots, text, video } from './requests.ts'

type Row = readonly [modelName: string, request: VideoRequest, added: VideoBody]

const rows: readonly Row[] = [
  ['v3', text(), { mode: 'std', duration: '5', aspect_ratio: '16:9', sound: 'off' }],
  ['v2-6', text(), { mode: 'std', duration: '5', aspect_ratio: '16:9', sound: 'off' }],
  ['v2-master', text(), { mode: 'std', duration: '5', aspect_ratio: '16:9' }],
  ['v3', image(), { mode: 'std', duration: '5', sound: 'off' }],
  ['v3-omni', omni(), { mode: 'pro', duration: '5', aspect_ratio: '16:9', sound: 'off' }],
  ['v3-omni', omni({ image_list: references(2) }), { mode: 'pro', duration: '5', aspect_ratio: '16:9', sound: 'off' }],
  ['v3-omni', omni({ image_list: [firstFrame, endFrame] }), { mode: 'pro', duration: '5', sound: 'off' }],
  ['v3-omni', omni({ video_list: [video] }), { mode: 'pro', sound: 'off' }],
  ['video-o1', omni({ video_list: [feature] }), { mode: 'pro', duration: '5', aspect_ratio: '16:9' }],
  [
    'v3',
    text({ multi_shot: true, multi_prompt: shots(2, 3) }),
    { mode: 'std', duration: '5', aspect_ratio: '16:9', sound: 'off', shot_type: 'customize' },
  ],
]

t.test('what was left open is said', async (t) => {
  for (const [modelName, request, added] of rows)
    t.same(withDefaults(request, modelName), { ...request, body: { ...request.body, ...added } }, JSON.stringify(added))
})

t.test('what the vendor ignores is left out', async (t) => {
  const { duration: _duration, ...edit } = withDefaults(omni({ video_list: [video] }), 'v3-omni').body
  t.same(withDefaults(omni({ video_list: [video], duration: '60' }), 'v3-omni').body, edit)
})

t.test('what was asked for stays', async (t) => {
  const asked: readonly (readonly [modelName: string, request: VideoRequest])[] = [
    ['v3', text({ mode: '4k', duration: '15', aspect_ratio: '1:1', sound: 'on' })],
    [
      'v3',
      text({
        mode: 'pro',
        duration: '3',
        aspect_ratio: '9:16',
        sound: 'off',
        multi_shot: true,
        shot_type: 'intelligence',
      }),
    ],
    ['v2-master', text({ mode: 'std', duration: '10', aspect_ratio: '16:9', sound: 'off' })],
  ]
  for (const [modelName, request] of asked) t.same(withDefaults(request, modelName), request)
})
