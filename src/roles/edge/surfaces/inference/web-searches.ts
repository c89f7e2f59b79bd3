import { sharedLimits } from '../../../../runtime/limits.ts'

/** What models that search the web for every request charge for it; other models have no price under this name. */
export const builtInSearch = (contextSize = 'medium'): { readonly [item: string]: number } => ({
  [`web_search_${contextSize}`]: 1,
})

/** The most web searches of a request, under each name that a provider charges them by. */
export const webSearches = (callsMax: number = sharedLimits.webSearchesMax): { readonly [item: string]: number } => ({
  web_search: callsMax,
  grounded_prompt: 1,
  grounding_query: sharedLimits.webSearchesMax, // No caller can bound these.
})
