import type { Dialect } from './dialect.ts'
import { openai } from './openai/dialect.ts'
import type { Provider } from './provider.ts'

type Surface = 'chat' | 'messages' | 'responses'

/** Every way in which an upstream can be spoken to, by the surface of the caller; what is missing is not implemented. */
export const dialects: { readonly [D in Provider['dialect']]: { readonly [S in Surface]?: Dialect } } = {
  openai: { chat: openai },
  anthropic: {},
  google: {},
}
