import { v7 } from 'uuid'
import type { Runtime } from '../../src/cli/runtime.ts'
import type { Logger } from '../../src/runtime/logger.ts'
import type { SimProcess } from './process.ts'
import type { VirtualTime } from './virtual-time.ts'

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Clock, ids and randomness of a simulated process. */
export const createSimRuntime = (
  process: SimProcess,
  { time, random, logger }: { readonly time: VirtualTime; readonly random: () => number; readonly logger: Logger },
): Runtime => {
  const text = (length: number): string => {
    let drawn = ''
    for (let at = 0; at < length; at += 1) drawn += letters[Math.floor(random() * letters.length)]!
    return drawn
  }
  const bytes = (length: number): Uint8Array => {
    const drawn = new Uint8Array(length)
    for (let at = 0; at < length; at += 1) drawn[at] = random() * 256
    return drawn
  }
  const clock = (): number => time.wallMs(process)
  return {
    clock,
    newId: () => v7({ msecs: clock(), random: bytes(16) }),
    randomText: () => text(48),
    newTaskId: () => `task_${text(32)}`,
    random,
    logger,
    setSecrets: () => undefined,
    setLogLevel: () => undefined,
  }
}
