import { truncateName } from '../../errors/gateway-error.ts'
import { type CheckedVideoRequest, videoRefusal } from './checked-request.ts'

/** Of an image once decoded. */
const imageBytesMax = 10 * 1024 * 1024
const imageSidePixelsMin = 300
/** The longer side by the shorter one. */
const imageRatioMax = 2.5

const schemePattern = /^[a-z][a-z0-9+.-]{0,31}:/i
const webPattern = /^https?:\/\//i
const base64Pattern = /^[A-Za-z0-9+/]+={0,2}$/
const videoExtensions: readonly string[] = ['mp4', 'mov']

/** Of megabytes, each address would be parsed for a tenth of a second. */
const urlCharactersMax = 16_384

const isWebUrl = (text: string): boolean =>
  text.length <= urlCharactersMax && webPattern.test(text) && URL.canParse(text)

const unpaddedLength = (base64: string): number => {
  if (base64.endsWith('==')) return base64.length - 2
  return base64.endsWith('=') ? base64.length - 1 : base64.length
}

const isBase64 = (text: string): boolean => base64Pattern.test(text) && unpaddedLength(text) % 4 !== 1

const decodedBytes = (base64: string): number => Math.floor((unpaddedLength(base64) * 3) / 4)

const checkUrl = (url: string, path: string): void => {
  if (!isWebUrl(url))
    throw videoRefusal('invalid_value', path, `Invalid value for '${path}': must be an http or https URL.`)
}

const checkPixels = (asked: CheckedVideoRequest, base64: string, path: string): void => {
  const pixels = asked.dimensionsOf(base64)
  if (pixels === null)
    throw videoRefusal('invalid_value', path, `Invalid value for '${path}': no PNG, JPEG, WebP or GIF image is in it.`)
  const { width, height } = pixels
  if (Math.min(width, height) < imageSidePixelsMin)
    throw videoRefusal(
      'invalid_value',
      path,
      `The image in '${path}' has ${width} × ${height} pixels; neither side may be below ${imageSidePixelsMin}.`,
    )
  if (Math.max(width, height) > imageRatioMax * Math.min(width, height))
    throw videoRefusal(
      'invalid_value',
      path,
      `The image in '${path}' has ${width} × ${height} pixels; its ratio must be within 1:2.5 and 2.5:1.`,
    )
}

const checkBase64 = (asked: CheckedVideoRequest, text: string, path: string): void => {
  if (/^data:/i.test(text))
    throw videoRefusal(
      'invalid_value',
      path,
      `Invalid value for '${path}': send raw base64 without a \`data:\` prefix, or a URL.`,
    )
  if (!isBase64(text))
    throw videoRefusal('invalid_value', path, `Invalid value for '${path}': must be an http or https URL, or base64.`)
  if (decodedBytes(text) > imageBytesMax)
    throw videoRefusal(
      'invalid_value',
      path,
      `The image in '${path}' is larger than ${imageBytesMax / 1024 / 1024} MB.`,
    )
  checkPixels(asked, text, path)
}

const checkImage = (asked: CheckedVideoRequest, image: unknown, path: string): void => {
  if (typeof image !== 'string')
    throw videoRefusal('invalid_value', path, `Invalid value for '${path}': must be a string.`)
  if (schemePattern.test(image) && !/^data:/i.test(image)) checkUrl(image, path)
  else checkBase64(asked, image, path)
}

const imagesOf = ({ body, pathOf }: CheckedVideoRequest): readonly (readonly [path: string, image: unknown])[] => {
  const { image_list = [], dynamic_masks = [] } = body
  const single = (['image', 'image_tail', 'static_mask'] as const)
    .filter((field) => body[field] !== undefined)
    .map((field) => [pathOf(field), body[field]] as const)
  return [
    ...single,
    ...image_list.map(({ image_url }, index) => [`${pathOf('image_list')}[${index}].image_url`, image_url] as const),
    ...dynamic_masks.map(({ mask }, index) => [`${pathOf('dynamic_masks')}[${index}].mask`, mask] as const),
  ]
}

/** An image by URL is checked by the vendor; an inline one is checked here. */
export const checkImages = (asked: CheckedVideoRequest): void => {
  for (const [path, image] of imagesOf(asked)) checkImage(asked, image, path)
}

const extensionOf = (url: string): string | null =>
  /\.([a-z0-9]+)$/.exec(new URL(url).pathname.toLowerCase())?.[1] ?? null

export const checkVideos = ({ body, pathOf }: CheckedVideoRequest): void => {
  for (const [index, { video_url }] of (body.video_list ?? []).entries()) {
    const path = `${pathOf('video_list')}[${index}].video_url`
    checkUrl(video_url, path)
    const extension = extensionOf(video_url)
    if (extension !== null && !videoExtensions.includes(extension))
      throw videoRefusal(
        'unsupported_value',
        path,
        `The video in '${path}' is a \`.${truncateName(extension)}\`; only MP4 and MOV are taken.`,
      )
  }
}

export const checkCallbackUrl = ({ request, pathOf }: CheckedVideoRequest): void => {
  if (request.callbackUrl !== null) checkUrl(request.callbackUrl, pathOf('callback_url'))
}
