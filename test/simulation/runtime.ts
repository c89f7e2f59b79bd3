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
  const text = (length: number): string =>
    Array.from({ length }, () => letters[Math.floor(random() * letters.length)]!).join('')
  const clock = (): number => time.wallMs(process)
  return {
    clock,
    newId: () => v7({ msecs: clock(), random: Uint8Array.from({ length: 16 }, () => random() * 256) }),
    randomText: () => text(48),
    newTaskId: () => `task_${text(32)}`,
    random,
    logger,
    setSecrets: () => undefined,
    setLogLevel: () => undefined,
  }
}
