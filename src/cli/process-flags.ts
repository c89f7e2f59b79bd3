/** Of V8 in all workers together: each has its share of what is in flight. */
const newGenerationMegabytes = 64
const newGenerationMegabytesMin = 16

const maximumOf = (flag: string): number => Number(/^--max[-_]semi[-_]space[-_]size=(\d+)$/.exec(flag)?.[1] ?? Infinity)

/**
 * Those of a supervisor, and what V8's new generation has in one of so many workers, or in a process that serves no clients: no
 * more than the supervisor was started with. V8 follows the last.
 */
export const processFlags = (ofSupervisor: readonly string[], workers: number | null): string[] => {
  const megabytes = workers === null ? newGenerationMegabytesMin : newGenerationMegabytes / workers
  const share = 2 ** Math.floor(Math.log2(Math.max(newGenerationMegabytesMin, megabytes)))
  const own = ofSupervisor.map(maximumOf).findLast(Number.isFinite) || Infinity
  return [...ofSupervisor, `--max-semi-space-size=${Math.min(share, own)}`, '--semi-space-growth-factor=64']
}
