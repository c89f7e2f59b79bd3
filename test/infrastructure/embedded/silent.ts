import type { Logger } from '../../../src/roles/role.ts'

const ignore = () => {}

export const silent: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }
