import { asObject, asText, parseExactJson, parseJson } from '../../encoding/json.ts'
import { betasIn, cloudBody } from '../anthropic/cloud.ts'
import { messagesDialect, messagesFormat } from '../anthropic/dialect.ts'
import type { PostMessages } from '../anthropic/endpoint.ts'
import type { UpstreamFormat } from '../canonical/format.ts'
import { refuseProviderState } from '../canonical/refuse.ts'
import type { UpstreamDialect } from '../dialect/dialect.ts'
import { postToBedrock } from './address.ts'
import type { WriteSse } from './framed.ts'
import { readBedrockError } from './refusal.ts'

const version = 'bedrock-2023-05-31'

/** Guardrails, traces and what else Bedrock adds to a model's own format is the operator's. */
const operatorsMember = /^amazon-bedrock/

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html */
const postClaude: PostMessages = (target, _path, body, { stream, headers }) => {
  const { stream: _inTheAddress, ...members } = cloudBody(body, version)
  const refused = Object.keys(members).find((member) => operatorsMember.test(member))
  if (refused !== undefined) throw refuseProviderState(refused)
  const betas = betasIn(headers)
  return postToBedrock(target, stream ? 'invoke-with-response-stream' : 'invoke', {
    ...members,
    ...(betas.length === 0 ? {} : { anthropic_beta: betas }),
  })
}

export const bedrockClaude: UpstreamFormat = { ...messagesFormat(postClaude), readRefusal: readBedrockError }

export const bedrockMessages: UpstreamDialect = { ...messagesDialect(postClaude), readRefusal: readBedrockError }

const metrics = 'amazon-bedrock-invocationMetrics'

const withoutMetrics = (text: string): string => {
  if (!text.includes(metrics)) return text
  const { [metrics]: _operators, ...event } = asObject(parseExactJson(text))
  return JSON.stringify(event)
}

const typePattern = /^\{"type":"(\w+)"/

/** Each `chunk` has one event of Claude's own stream. */
export const writeClaudeSse: WriteSse = ({ name, payload }) => {
  if (name !== 'chunk') return `event: error\ndata: ${payload === '' ? '{}' : payload}\n\n`
  const bytes = asText(asObject(parseJson(payload))['bytes'])
  const text = withoutMetrics(
    Buffer.from(bytes, 'base64')
      .toString()
      .replaceAll(/[\r\n]+/g, ' '),
  )
  const type = typePattern.exec(text)?.[1] ?? asText(asObject(parseJson(text))['type'])
  return `event: ${type}\ndata: ${text}\n\n`
}
