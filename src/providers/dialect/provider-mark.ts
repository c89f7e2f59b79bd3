/**
 * What a model needs back in the next turn and no other provider may see (signatures, hidden thinking) goes to the client
 * behind a mark that names the provider. No provider's own encrypted content has a colon: it is base64.
 */
const prefix = 'gw1:'

export const markOf = (provider: string): string => `${prefix}${encodeURIComponent(provider)}:`

export const isMarked = (content: string): boolean => content.startsWith(prefix)

/** Without the mark; null where another provider made it. What has no mark came from the provider itself. */
export const unmark = (provider: string, content: string): string | null => {
  if (!isMarked(content)) return content
  const mark = markOf(provider)
  return content.startsWith(mark) ? content.slice(mark.length) : null
}
