import type { Provider } from './provider.ts'

/**
 * What a model needs back in the next turn and no other provider may see (signatures, hidden thinking) goes to the client
 * behind a mark that names its maker. No provider's own encrypted content has a colon: it is base64.
 */
const prefix = 'gw1:'

/** Who made such content: the provider, and which of its deployments, where it has several. */
export const makerOf = ({ name, deployment }: Pick<Provider, 'name' | 'deployment'>): string =>
  deployment === undefined ? name : `${name}/${deployment}`

export const markOf = (maker: string): string => `${prefix}${encodeURIComponent(maker)}:`

export const isMarked = (content: string): boolean => content.startsWith(prefix)

const isSameMaker = (one: string, other: string): boolean => {
  const [provider, deployment] = one.split('/')
  const [otherProvider, otherDeployment] = other.split('/')
  if (provider !== otherProvider) return false
  // From the time before or after its deployments.
  return deployment === otherDeployment || deployment === undefined || otherDeployment === undefined
}

/** The beginning of a mark in base64, as Gemini's signatures are. */
const prefixInBase64 = 'Z3cxO'
const markCharactersMax = 512

const decoded = (text: string): string =>
  text.startsWith(prefixInBase64) ? Buffer.from(text.slice(0, markCharactersMax), 'base64').toString('latin1') : text

const parseMark = (content: string): { readonly maker: string; readonly rest: string } | null => {
  const end = isMarked(content) ? content.indexOf(':', prefix.length) : -1
  if (end === -1) return null
  try {
    return { maker: decodeURIComponent(content.slice(prefix.length, end)), rest: content.slice(end + 1) }
  } catch {
    return null
  }
}

/** Without the mark; null where another maker made it. What has no mark came from the provider itself. */
export const unmark = (maker: string, content: string): string | null => {
  if (!isMarked(content)) return content
  const mark = parseMark(content)
  return mark !== null && isSameMaker(mark.maker, maker) ? mark.rest : null
}

/** The deployment of the provider that made the last marked content of a body; null where none is named. */
export const findMarkedDeployment = (provider: string, body: unknown): string | null => {
  const open: unknown[] = [body]
  while (open.length > 0) {
    const value = open.pop() // From the end: the last one counts.
    if (typeof value === 'string') {
      const [name, deployment] = parseMark(decoded(value))?.maker.split('/') ?? []
      if (name === provider && deployment !== undefined) return deployment
    } else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) open.push(each)
  }
  return null
}
