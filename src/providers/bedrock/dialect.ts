import { messagesClient } from '../anthropic/dialect.ts'
import { embeddingsDialect } from '../canonical/embeddings.ts'
import type { ClientFormat, UpstreamFormat } from '../canonical/format.ts'
import { unsupported } from '../canonical/refuse.ts'
import { translated } from '../canonical/translated.ts'
import { byTarget } from '../dialect/by-target.ts'
import type { UpstreamDialect } from '../dialect/dialect.ts'
import { isClaude } from './address.ts'
import { bedrockClaude, bedrockMessages, writeClaudeSse } from './claude.ts'
import { ConverseReader } from './converse-reader.ts'
import { framed, type WriteSse } from './framed.ts'
import { readConverseReply } from './read-reply.ts'
import { readBedrockError } from './refusal.ts'
import { writeConverse } from './write-request.ts'

export const converseUpstream: UpstreamFormat = {
  writeRequest: writeConverse,
  readReply: readConverseReply,
  openReader: () => new ConverseReader(),
  offersSearch: () => false,
  readRefusal: readBedrockError,
}

const writeConverseSse: WriteSse = ({ name, payload }) => `event: ${name}\ndata: ${payload === '' ? '{}' : payload}\n\n`

const atBedrock = (client: ClientFormat, claude: UpstreamDialect): UpstreamDialect => {
  const ofClaude = framed(claude, writeClaudeSse)
  const ofOthers = framed(translated(client, converseUpstream), writeConverseSse)
  return byTarget((target) => (isClaude(target) ? ofClaude : ofOthers), readBedrockError)
}

/** Claude in its own format (`InvokeModel`), all other models by `Converse`. */
export const bedrock = (client: ClientFormat): UpstreamDialect =>
  atBedrock(client, client === messagesClient ? bedrockMessages : translated(client, bedrockClaude))

export const bedrockEmbeddings = embeddingsDialect({
  buildRequest: ({ model }) => {
    throw unsupported('model', `is \`${model}\`, and embeddings of this provider are not available`)
  },
  readAnswer: () => ({ fault: 'no_embeddings' }),
  readRefusal: readBedrockError,
})
