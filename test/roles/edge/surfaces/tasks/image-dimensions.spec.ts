import t from 'tap'
import { readImageDimensions } from '../../../../../src/roles/edge/surfaces/tasks/image-dimensions.ts'
import { gif, jpeg, png, webp } from '../../images.ts'

t.test('the pixels of an image, by its header', async (t) => {
  const size = { width: 1_280, height: 720 }
  for (const [format, base64] of Object.entries({
    png: png(1_280, 720),
    gif: gif(1_280, 720),
    jpeg: jpeg(1_280, 720),
    'jpeg with much metadata': jpeg(1_280, 720, 65_000),
    'lossy webp': webp.lossy(1_280, 720),
    'lossless webp': webp.lossless(1_280, 720),
    'extended webp': webp.extended(1_280, 720),
  }))
    t.same(readImageDimensions(base64), size, format)
})

t.test('what is no image has none', async (t) => {
  const cut = Buffer.from(jpeg(1_280, 720), 'base64').subarray(0, 500).toString('base64')
  for (const [what, base64] of Object.entries({
    nothing: '',
    text: Buffer.from('not an image at all, though long enough to be one').toString('base64'),
    'a signature alone': 'iVBORw0KGgo=',
    'a jpeg that is cut off': cut,
    'a jpeg whose segments are of no length': Buffer.from([
      0xff,
      0xd8,
      0xff,
      0xe0,
      ...new Array<number>(60).fill(0),
    ]).toString('base64'),
  }))
    t.equal(readImageDimensions(base64), null, what)
})
