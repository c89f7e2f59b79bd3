export type Random = () => number

/** From 0 to below `max`. */
export const drawWhole = (random: Random, max: number): number => Math.floor(random() * max)

export const drawWeighted = <T>(random: Random, weights: readonly (readonly [T, number])[]): T => {
  let left = random() * weights.reduce((sum, [, weight]) => sum + weight, 0)
  for (const [value, weight] of weights) {
    left -= weight
    if (left < 0) return value
  }
  return weights[0]![0]
}
