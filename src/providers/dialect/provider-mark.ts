import type { Target } from './dialect.ts'
import type { Provider } from './provider.ts'

/**
 * What a model needs back in the next turn and no other may see (signatures, hidden thinking) goes to the client behind a
 * mark that names its maker. No provider's own encrypted content has a colon: it is base64.
 */
const prefix = 'gw1:'

const hostsOfOneFamily = /(?:^|\.)(?:openai\.com|anthropic\.com|x\.ai|generativelanguage\.googleapis\.com)$/

/** Models that may read what each other encrypted, by a word in their names. The first match counts. */
const families: readonly (readonly [family: string, word: RegExp])[] = [
  ['gpt', /\b(?:(?:chat)?gpt(?!-oss)|codex|o\d)/i],
  ['mistral', /\b(?:(?:mi|mini|magi|dev)stral|mixtral|codestral)/i],
  ['qwen', /\bq(?:wen|wq|vq)/i],
  ...['claude', 'deepseek', 'gemini', 'glm', 'gpt-oss', 'grok', 'kimi', 'llama', 'minimax', 'nova'].map(
    (family) => [family, new RegExp(`\\b${family}`, 'i')] as const,
  ),
]

interface Maker extends Pick<Target, 'model' | 'upstreamModel'> {
  readonly provider: Pick<Provider, 'name' | 'deployment' | 'baseUrl'>
}

/** Operators name models as they like, here or there: one whose names have no such word is a family of its own. */
const familyOf = ({ model, upstreamModel }: Maker): string => {
  const name = model.slice(model.indexOf('/') + 1)
  const known = [upstreamModel, name].map((each) => families.find(([, word]) => word.test(each))?.[0])
  return known.find((each) => each !== undefined) ?? name
}

/** Who made such content: `provider/deployment/family`. A provider with one family names none, nor one without deployments. */
export const makerOf = (maker: Maker): string => {
  const { name, deployment, baseUrl } = maker.provider
  const hasFamilies = !hostsOfOneFamily.test(new URL(baseUrl).hostname)
  if (hasFamilies) return [name, deployment ?? '', familyOf(maker)].join('/')
  return deployment === undefined ? name : `${name}/${deployment}`
}

export const markOf = (maker: string): string => `${prefix}${encodeURIComponent(maker)}:`

export const isMarked = (content: string): boolean => content.startsWith(prefix)

const isSameMaker = (one: string, other: string): boolean => {
  const [provider, deployment = '', ...family] = one.split('/')
  const [otherProvider, otherDeployment = '', ...otherFamily] = other.split('/')
  if (provider !== otherProvider || family.join('/') !== otherFamily.join('/')) return false
  // From the time before or after its deployments.
  return deployment === otherDeployment || deployment === '' || otherDeployment === ''
}

/** The beginning of a mark in base64, as Gemini's signatures are. */
const prefixInBase64 = 'Z3cxO'
const markCharactersMax = 512

const decoded = (text: string): string =>
  text.startsWith(prefixInBase64) ? Buffer.from(text.slice(0, markCharactersMax), 'base64').toString('latin1') : text

const parseMark = (content: string): { readonly maker: string; readonly rest: string } | null => {
  const end = isMarked(content) ? content.slice(0, markCharactersMax).indexOf(':', prefix.length) : -1
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

/** Which of these made the last of a body's marked content that any of them made. */
export const findMaker = <Found>(makers: ReadonlyMap<string, Found>, body: unknown): Found | null => {
  const open: unknown[] = [body]
  while (open.length > 0) {
    const value = open.pop() // From the end: the last one counts.
    if (typeof value === 'string') {
      const found = makers.get(parseMark(decoded(value))?.maker ?? '')
      if (found !== undefined) return found
    } else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) open.push(each)
  }
  return null
}
