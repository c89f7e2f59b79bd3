import t from 'tap'
import { isExpired } from '../../../src/providers/vv-video/signed-url.ts'

const endMs = Date.parse('2026-11-21T12:00:00Z')
const endSeconds = endMs / 1_000

const ending: readonly string[] = [
  `Expires=${endSeconds}&Signature=abc&Key-Pair-Id=K`,
  `expires=${endSeconds}`,
  `expires=${endMs}`,
  `OSSAccessKeyId=a&Expires=${endSeconds}&Signature=b`,
  `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20261121T110000Z&X-Amz-Expires=3600&X-Amz-Signature=a`,
  `x-amz-expires=3600&x-amz-date=20261121T110000Z`,
  `X-Goog-Date=20261121T110000Z&X-Goog-Expires=3600`,
  `x-oss-date=20261121T110000Z&x-oss-expires=3600&x-oss-signature-version=OSS4-HMAC-SHA256`,
  `x-oss-expires=${endSeconds}&x-oss-signature-version=OSS2`,
  `X-Tos-Date=20261121T110000Z&X-Tos-Expires=3600`,
  `auth_key=${endSeconds}-0-0-0123456789abcdef`,
  `q-sign-time=${endSeconds - 3600};${endSeconds}&q-key-time=${endSeconds - 3600};${endSeconds}`,
  `wsSecret=a&wsTime=${endSeconds.toString(16)}`,
  `sv=2024-11-04&se=2026-11-21T12%3A00%3A00Z&sig=a`,
  `x-expires=${endSeconds}&x-signature=a`,
  `exp=${endSeconds}`,
  `expires=${endSeconds}&x-amz-date=20261121T120000Z&x-amz-expires=7200`,
]

t.test('a signature ends when it says so', async (t) => {
  for (const query of ending) {
    const url = `https://cdn.example/video.mp4?${query}`
    t.notOk(isExpired(url, endMs - 1), `before: ${query}`)
    t.ok(isExpired(url, endMs), `then: ${query}`)
  }
})

const silent: readonly string[] = [
  'https://cdn.example/video.mp4',
  'https://cdn.example/video.mp4?token=1',
  'https://cdn.example/video.mp4?expires=3600',
  'https://cdn.example/video.mp4?expires=never',
  'https://cdn.example/video.mp4?expires=',
  'https://cdn.example/video.mp4?X-Amz-Expires=3600',
  'https://cdn.example/video.mp4?X-Amz-Date=nonsense&X-Amz-Expires=3600',
  'https://cdn.example/video.mp4?auth_key=abc-0-0-0',
  'https://cdn.example/video.mp4?q-sign-time=1',
  'https://cdn.example/video.mp4?se=soon',
  'no address',
  '',
]

t.test('what tells nothing is not expired', async (t) => {
  for (const url of silent) t.notOk(isExpired(url, endMs), url)
})
