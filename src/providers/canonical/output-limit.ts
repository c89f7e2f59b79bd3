/** In tokens; undefined where neither limits them. */
export const outputLimit = (own: number | null, outputCap: number | null): number | undefined =>
  own === null || outputCap === null ? (own ?? outputCap ?? undefined) : Math.min(own, outputCap)
