import t from 'tap'
import { type Provider, policyFor } from '../../../src/providers/dialect/provider.ts'

t.test("a model's policy is that of its dated snapshots too, unless they have one of their own", async (t) => {
  const timeouts: NonNullable<Provider['timeouts']> = {
    idleMs: 1,
    models: { 'o3-pro': { firstByteMs: 2 }, 'o1-2024-12-17': { firstByteMs: 3 }, o1: { idleMs: 4 } },
  }
  const of = (model: string) => {
    const { firstByteMs, idleMs } = policyFor(timeouts, model)
    return { firstByteMs, idleMs }
  }
  t.same(of('openai/o3-pro'), { firstByteMs: 2, idleMs: 1 })
  t.same(of('openai/o3-pro-2025-06-10'), { firstByteMs: 2, idleMs: 1 })
  t.same(of('openai/o1-20241217'), { firstByteMs: undefined, idleMs: 4 })
  t.same(of('openai/o1-2024-12-17'), { firstByteMs: 3, idleMs: 1 })
  t.same(of('openai/o3'), { firstByteMs: undefined, idleMs: 1 })
  t.same(of('openai/constructor'), { firstByteMs: undefined, idleMs: 1 })
})
