import { type ErrorCode, GatewayError } from '../../errors/gateway-error.ts'
import type { VideoModel } from './models.ts'
import type { VideoBody, VideoMode, VideoRequest } from './request.ts'

/** Pixels. */
export interface Dimensions {
  readonly width: number
  readonly height: number
}

export interface CheckedVideoRequest {
  readonly request: VideoRequest
  readonly body: VideoBody
  readonly modelName: string
  readonly model: VideoModel
  readonly mode: VideoMode
  readonly pathOf: (field: string) => string
  readonly dimensionsOf: (base64: string) => Dimensions | null
}

type Refusal = Extract<
  ErrorCode,
  | 'invalid_value'
  | 'missing_required_parameter'
  | 'unsupported_parameter'
  | 'unsupported_value'
  | 'invalid_parameter_combination'
>

export const videoRefusal = (code: Refusal, param: string, message: string): GatewayError =>
  new GatewayError(code, message, { param })

/** Counts characters, however many units of UTF-16 each takes. */
export const isLongerThan = (text: string, charactersMax: number): boolean =>
  text.length > 2 * charactersMax || (text.length > charactersMax && [...text].length > charactersMax)

export const isBlank = (text: string | undefined): boolean => text === undefined || text.trim() === ''
