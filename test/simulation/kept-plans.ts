import { readFile } from 'node:fs/promises'
import type { Plan } from './plan.ts'

/** Plans that violated something before a fault of the program was mended, or do so with a planted bug. */
export const keptFolder = new URL('kept/', import.meta.url)

export const readPlan = async (file: string | URL): Promise<Plan> => JSON.parse(await readFile(file, 'utf8')) as Plan
