/** A name without a version is an alias of the newest models. */
const newestGeneration = 3

/** 2 for every Gemini 2.x, 3 for every 3.x: parameters and charges differ between them. */
export const generationOf = (upstreamModel: string): number => {
  const version = /gemini-(\d+)/.exec(upstreamModel)?.[1]
  return version === undefined ? newestGeneration : Number(version)
}

/** How a search with Google is charged: by the answer that used it up to Gemini 2, by each query from Gemini 3 on. */
export const groundingItemOf = (upstreamModel: string): 'grounded_prompt' | 'grounding_query' =>
  generationOf(upstreamModel) < 3 ? 'grounded_prompt' : 'grounding_query'
