import { embeddingsDialect } from '../canonical/embeddings.ts'
import { unsupported } from '../canonical/refuse.ts'
import { readMessagesError } from './refusal.ts'

/** Anthropic has none: a candidate is passed over, with the reason. */
export const anthropicEmbeddings = embeddingsDialect({
  buildRequest: ({ model }) => {
    throw unsupported('model', `is \`${model}\`, and Anthropic's API makes no embeddings`)
  },
  readAnswer: () => ({ fault: 'no_embeddings' }),
  readRefusal: readMessagesError,
})
