import type { VideoBody, VideoKind, VideoRequest } from '../../../src/domain/video/request.ts'

/** A request as a test writes it: the model's name behind the slash, and the rest that matters. */
export type Sketch = VideoBody & { readonly callbackUrl?: string; readonly externalTaskId?: string }

const requestOf = (kind: VideoKind, { callbackUrl, externalTaskId, ...body }: Sketch): VideoRequest => ({
  kind,
  model: 'vv/any',
  body: { prompt: 'a cat', ...body },
  callbackUrl: callbackUrl ?? null,
  externalTaskId: externalTaskId ?? null,
})

const imageUrl = 'https://example.com/a.png'
export const text = (sketch: Sketch = {}): VideoRequest => requestOf('text2video', sketch)
export const image = (sketch: Sketch = {}): VideoRequest => requestOf('image2video', { image: imageUrl, ...sketch })
export const omni = (sketch: Sketch = {}): VideoRequest => requestOf('omni-video', sketch)

type References = NonNullable<VideoBody['image_list']>
export const references = (count: number): References => Array.from({ length: count }, () => ({ image_url: imageUrl }))
export const firstFrame: References[number] = { image_url: imageUrl, type: 'first_frame' }
export const endFrame: References[number] = { image_url: imageUrl, type: 'end_frame' }

export const video = { video_url: 'https://example.com/a.mp4' } as const
export const feature = { ...video, refer_type: 'feature' } as const

/** Shots of so many seconds each. */
export const shots = (...seconds: readonly number[]): NonNullable<VideoBody['multi_prompt']> =>
  seconds.map((each, index) => ({ index: index + 1, prompt: `shot ${index + 1}`, duration: String(each) }))

/** Base64 that the tests' `dimensionsOf` reads. */
export const pixels = (width: number, height: number): string => {
  const text = `px${width}x${height}x`
  return text.padEnd(Math.ceil(text.length / 4) * 4, 'A')
}
