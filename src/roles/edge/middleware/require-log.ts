import type { Inference } from '../inference.ts'
import type { EdgeMiddleware } from './context.ts'

/** Refuses at once what could not be billed. */
export const requireLog =
  (inference: Inference): EdgeMiddleware =>
  (_ctx, next) => {
    inference.requireLog()
    return next()
  }
