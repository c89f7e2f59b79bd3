/** A name that tells no version stands for the newest models. */
const newestGeneration = 3

/** 2 for every Gemini 2.x, 3 for every 3.x: what is asked and what is charged differ between them. */
export const generationOf = (upstreamModel: string): number => {
  const version = /gemini-(\d+)/.exec(upstreamModel)?.[1]
  return version === undefined ? newestGeneration : Number(version)
}

/** What a search with Google is charged by: the answer that used it up to Gemini 2, each query from Gemini 3 on. */
export const groundingItemOf = (upstreamModel: string): 'grounded_prompt' | 'grounding_query' =>
  generationOf(upstreamModel) < 3 ? 'grounded_prompt' : 'grounding_query'
