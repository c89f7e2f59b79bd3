/** How often a property is tried: as often as said, and `make properties` so many times that. */
export const propertyRuns = (runs: number): { readonly numRuns: number } => ({
  numRuns: runs * Number(process.env['PROPERTY_TIMES'] ?? 1),
})
