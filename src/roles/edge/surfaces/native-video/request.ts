import type { VideoKind, VideoRequest } from '../../../../domain/video/request.ts'
import { isObject } from '../../../../encoding/json.ts'
import { GatewayError } from '../../../../errors/gateway-error.ts'
import { isEmpty, type PathOf, readVideo } from '../video-request.ts'

export interface ReadNative {
  readonly request: VideoRequest
  readonly pathOf: PathOf
}

/** Clients of the generic surface name the model `model`. */
export const readNativeRequest = (value: unknown, kind: VideoKind): ReadNative => {
  if (!isObject(value)) throw new GatewayError('invalid_value', 'Invalid request body: must be object.')
  const { model_name, model } = value
  const modelPath = isEmpty(model_name) && !isEmpty(model) ? 'model' : 'model_name'
  // The body is flat: paths are as the caller wrote them.
  const pathOf: PathOf = (path) => (path === 'model' || path === 'model_name' ? modelPath : path)
  return { request: { kind, ...readVideo({ ...value, model_name: value[modelPath] }, pathOf) }, pathOf }
}
