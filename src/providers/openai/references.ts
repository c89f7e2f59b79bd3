import { asArray, asObject, isObject, type JsonObject } from '../../encoding/json.ts'
import { refuseProviderState } from '../canonical/refuse.ts'

const storeTools: readonly unknown[] = ['file_search', 'collections_search']

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

const refuseFilesOf = (part: JsonObject, path: string): void => {
  if (isGiven(part['file_id'])) throw refuseProviderState(`${path}.file_id`)
  for (const [member, value] of Object.entries(part))
    if (isGiven(asObject(value)['file_id'])) throw refuseProviderState(`${path}.${member}.file_id`)
}

const refuseInMessage = (message: JsonObject, path: string): void => {
  for (const [index, part] of asArray(message['content']).entries())
    if (isObject(part)) refuseFilesOf(part, `${path}.content[${index}]`)
  if (isGiven(asObject(message['audio'])['id'])) throw refuseProviderState(`${path}.audio.id`)
}

/** Throws `unsupported_parameter`: every workspace shares the account, and what it keeps has no known owner. */
export const refuseChatAccountReferences = ({ messages, tools }: JsonObject): void => {
  for (const [index, message] of asArray(messages).entries())
    if (isObject(message)) refuseInMessage(message, `messages[${index}]`)
  for (const [index, tool] of asArray(tools).entries())
    if (storeTools.includes(asObject(tool)['type'])) throw refuseProviderState(`tools[${index}].type`)
}
