import { unsupported } from '../canonical/refuse.ts'
import type { Target, UpstreamRequest } from '../dialect/dialect.ts'
import { endpointOf } from '../dialect/provider.ts'

type Operation = 'converse' | 'converse-stream' | 'invoke' | 'invoke-with-response-stream'

const prefixPattern = /^(?:anthropic|converse)\//

/** Claude is invoked in its own format, also by inference profiles; `converse/…` and `anthropic/…` decide otherwise. */
export const isClaude = ({ upstreamModel }: Pick<Target, 'upstreamModel'>): boolean =>
  prefixPattern.test(upstreamModel)
    ? upstreamModel.startsWith('anthropic/')
    : /(?:^|[./])anthropic\./.test(upstreamModel)

/** Throws `unsupported_parameter` for an ARN as the public name: resources of an account are configured, not asked for. */
const modelIdOf = ({ model, upstreamModel }: Target): string => {
  if (/(?:^|\/)arn:/.test(model)) throw unsupported('model', 'names a resource of an account')
  return upstreamModel.replace(prefixPattern, '')
}

export const postToBedrock = (target: Target, operation: Operation, body: object): UpstreamRequest => {
  const { apiKey, headers } = target.provider
  return {
    url: endpointOf(target.provider, `/model/${encodeURIComponent(modelIdOf(target))}/${operation}`),
    headers: {
      ...headers,
      ...(apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }),
      'content-type': 'application/json',
      accept: operation.endsWith('stream') ? 'application/vnd.amazon.eventstream' : 'application/json',
    },
    body,
  }
}
