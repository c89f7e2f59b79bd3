import type { Dialect } from './dialect.ts'
import { openai } from './openai/dialect.ts'
import type { Provider } from './provider.ts'

/** Every way in which an upstream can be spoken to. */
export const dialects: { readonly [D in Provider['dialect']]: Dialect } = { openai }
