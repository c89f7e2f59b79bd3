import { asArray, asObject, asText, isObject, type JsonObject } from '../../encoding/json.ts'
import { scanJson } from '../../encoding/scan-json.ts'
import { GatewayError } from '../../errors/gateway-error.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import { invalidMember } from '../canonical/refuse.ts'

interface ArgumentText {
  readonly text: string
  readonly path: string
}

const argumentsIn = ({ tool_calls, function_call }: JsonObject, path: string): readonly ArgumentText[] => [
  ...asArray(tool_calls).map((call, place) => ({
    text: asText(asObject(asObject(call)['function'])['arguments']),
    path: `${path}.tool_calls[${place}].function.arguments`,
  })),
  ...(isObject(function_call)
    ? [{ text: asText(function_call['arguments']), path: `${path}.function_call.arguments` }]
    : []),
]

const tooMany = (param: string): GatewayError =>
  new GatewayError(
    'request_too_large',
    `The arguments of the request's tool calls have more than ${sharedLimits.jsonMembersMax} members and elements in total. Send fewer or smaller calls in one request.`,
    { param },
  )

/** Arguments were one string to the body's bounds: parsed, those of a request together have the same bounds. */
export const refuseLargeArguments = (messages: readonly unknown[]): void => {
  const { jsonDepthMax: depthMax } = sharedLimits
  let membersMax: number = sharedLimits.jsonMembersMax
  for (const [index, message] of messages.entries())
    for (const { text, path } of argumentsIn(asObject(message), `messages[${index}]`)) {
      const { tooDeep, tooMany: hasTooMany, members } = scanJson(text, { depthMax, membersMax })
      if (hasTooMany) throw tooMany(path)
      if (tooDeep) throw invalidMember(path, `must not nest deeper than ${depthMax} levels`)
      membersMax -= members
    }
}
