import type { Config } from '../config.ts'
import type { Runtime } from './runtime.ts'

export const replayCommand = async (
  _config: Config,
  _runtime: Runtime,
  _options: { swap: boolean; json: boolean },
): Promise<number> => 1
