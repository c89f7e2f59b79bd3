import type { VideoSheet } from '../../events/types.ts'
import { formatUsd, maxOf, parseUsd } from '../money.ts'
import { videoRefusal } from './checked-request.ts'
import { isEdit, readVideoDuration, readVideoMode } from './defaults.ts'
import type { VideoBody, VideoRequest } from './request.ts'

/** An edit is as long as its input, which is not measured: the vendor takes no longer one. */
const editSecondsMax = 10

type Extra = readonly [field: keyof VideoBody, rate: 'audio' | 'video' | 'voice']

const extrasOf = ({ sound, video_list = [], voice_list = [] }: VideoBody): readonly Extra[] => [
  ...(sound === 'on' ? [['sound', 'audio'] as const] : []),
  ...(video_list.length > 0 ? [['video_list', 'video'] as const] : []),
  ...(voice_list.length > 0 ? [['voice_list', 'voice'] as const] : []),
]

const secondsMaxOf = ({ body }: VideoRequest, pathOf: (field: string) => string): number => {
  if (isEdit(body)) return editSecondsMax
  const seconds = readVideoDuration(body)
  if (seconds === null)
    throw videoRefusal('invalid_value', pathOf('duration'), `Invalid value for '${pathOf('duration')}': whole seconds.`)
  return seconds
}

/** The highest rates that apply. Throws `unsupported_value` with the field for what the sheet has no rate for. */
export const worstCaseUnits = (
  sheet: VideoSheet,
  request: VideoRequest,
  modelName: string,
  pathOf: (field: string) => string = (field) => field,
): string => {
  const mode = readVideoMode(request)
  const rateOf = (rate: string, field: string): bigint => {
    if (!Object.hasOwn(sheet.units_per_second, rate))
      throw videoRefusal('unsupported_value', pathOf(field), `\`${modelName}\` has no price for \`${rate}\`.`)
    return parseUsd(sheet.units_per_second[rate]!)
  }
  const plain = rateOf(mode, 'mode')
  const rates = extrasOf(request.body).map(([field, extra]) => rateOf(`${mode}+${extra}`, field))
  return formatUsd(maxOf(plain, ...rates) * BigInt(secondsMaxOf(request, pathOf)))
}
