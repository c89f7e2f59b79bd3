import { type UsageBounds, worstCasesPicos } from '../../src/domain/pricing/worst-case.ts'
import type { PriceSheet } from '../../src/events/types.ts'

/** In picos; `outputCap`: of each answer, where the wallet sets one. */
export const worstCasePicos = (sheet: PriceSheet, demand: UsageBounds, outputCap: number | null = null): bigint =>
  worstCasesPicos(sheet, demand, [outputCap])[0]!
