/** The API takes no budget below this. */
const budgetTokensMin = 1024

/** A thinking budget below `maxTokens`, as the API requires, with room for an answer; null where none fits. */
export const fitBudget = (wantedTokens: number, maxTokens: number): number | null => {
  if (wantedTokens < maxTokens) return wantedTokens
  return maxTokens > budgetTokensMin ? Math.max(budgetTokensMin, Math.floor(maxTokens / 2)) : null
}
