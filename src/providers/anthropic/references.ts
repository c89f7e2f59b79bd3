import { isObject, type JsonObject, listOf, objectOf } from '../../json.ts'
import { keptByProvider } from '../canonical/refuse.ts'
import { isGiven } from './given.ts'

/** Blocks stand in messages, in results, in documents and in their sources. */
const refuseInBlocks = (blocks: unknown, path: string): void => {
  for (const [index, block] of listOf(blocks).entries()) if (isObject(block)) refuseInBlock(block, `${path}[${index}]`)
}

const refuseInBlock = (block: JsonObject, path: string): void => {
  const source = objectOf(block['source'])
  if (isGiven(block['file_id'])) throw keptByProvider(`${path}.file_id`)
  if (isGiven(source['file_id'])) throw keptByProvider(`${path}.source.file_id`)
  refuseInBlocks(block['content'], `${path}.content`)
  refuseInBlocks(source['content'], `${path}.source.content`)
}

/**
 * Throws `unsupported_parameter` with the path of a file that a request names by its id: every workspace shares the gateway's account at
 * the provider, and nothing tells whose it is.
 */
export const refuseFiles = ({ system, messages }: JsonObject): void => {
  refuseInBlocks(system, 'system')
  for (const [index, message] of listOf(messages).entries())
    refuseInBlocks(objectOf(message)['content'], `messages[${index}].content`)
}
