import { asArray, asObject, isObject, type JsonObject } from '../../encoding/json.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import { refuseProviderState } from '../canonical/refuse.ts'
import { isPresent } from './present.ts'

/** Blocks occur in messages, in results, in documents and in their sources. */
const refuseInBlocks = (blocks: unknown, path: string): void => {
  for (const [index, block] of asArray(blocks).entries()) if (isObject(block)) refuseInBlock(block, `${path}[${index}]`)
}

const refuseInBlock = (block: JsonObject, path: string): void => {
  const source = asObject(block['source'])
  if (isPresent(block['file_id'])) throw refuseProviderState(`${path}.file_id`)
  if (isPresent(source['file_id'])) throw refuseProviderState(`${path}.source.file_id`)
  refuseInBlocks(block['content'], `${path}.content`)
  refuseInBlocks(source['content'], `${path}.source.content`)
}

const refuseFiles = ({ system, messages }: JsonObject): void => {
  refuseInBlocks(system, 'system')
  for (const [index, message] of asArray(messages).entries())
    refuseInBlocks(asObject(message)['content'], `messages[${index}].content`)
}

/** Official SDKs' tool runners begin with a thread; this error's details make them send the whole conversation. */
export const refuseThread = ({ thread }: JsonObject): void => {
  if (!isPresent(thread)) return
  const message = '`thread` is not available: send the whole conversation with every request.'
  const details = { error_code: 'thread_unsupported_request', unsupported: ['thread'] }
  throw new GatewayError('unsupported_parameter', message, { param: 'thread', details })
}

/** Throws `unsupported_parameter`: every workspace shares the account, and what it keeps has no known owner. */
export const refuseAccountReferences = (body: JsonObject): void => {
  refuseThread(body)
  refuseFiles(body)
}
