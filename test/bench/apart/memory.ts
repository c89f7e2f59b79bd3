import { type Memory, MemoryWatch } from '../memory.ts'

/** The processes that every call goes through. */
export const watched = ['edge', 'proxy'] as const
export type Watched = (typeof watched)[number]
export type Memories = { readonly [Role in Watched]: Memory }

/** What the work finds, and the memory of both processes meanwhile. */
export const watchMemory = async <Found>(
  pids: Readonly<Record<string, number>>,
  work: () => Promise<Found>,
): Promise<{ readonly found: Found; readonly memory: Memories }> => {
  const edge = new MemoryWatch(pids['edge']!)
  const proxy = new MemoryWatch(pids['proxy']!)
  try {
    const found = await work()
    return { found, memory: { edge: edge.stop(), proxy: proxy.stop() } }
  } finally {
    edge.stop()
    proxy.stop()
  }
}
