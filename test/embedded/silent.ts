import type { Logger } from '../../src/runtime/logger.ts'

const ignore = () => {}

export const silent: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }
