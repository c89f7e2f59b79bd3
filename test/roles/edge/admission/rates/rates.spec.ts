import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { initialLedger } from '../../../../../src/domain/ledger/ledger.ts'
import type { RateLimit } from '../../../../../src/domain/rates/rate-limits.ts'
import { admissionLimits } from '../../../../../src/roles/edge/admission/limits.ts'
import { Rates, type RatesParts, type TakenUnits } from '../../../../../src/roles/edge/admission/rates/rates.ts'
import { until } from '../../../../support/clients.ts'
import { MemoryRates } from '../../memory-rates.ts'

type Listener = Parameters<RatesParts['tail']['onApplied']>[0]

const limit: RateLimit = {
  ...{ scope: 'workspace', id: 'acme', name: 'workspace:acme:tokens:', measure: 'tokens', model: null },
  max: 6_000,
}

const openRates = (clock: () => number, records: MemoryRates) => {
  let listener: Listener = () => undefined
  const tail: RatesParts['tail'] = {
    ledger: initialLedger(),
    onApplied: (each) => {
      listener = each
      return () => undefined
    },
  }
  const parts = { tail, records, clock, requestsPerMinute: () => null, requestDeadlineMs: 600_000 }
  const rates = new Rates({ ...parts, owner: 'an edge' })
  t.teardown(() => rates.close())
  return { rates, apply: (applied: unknown[]) => listener(applied as Parameters<Listener>[0]) }
}

t.test('a usage that cannot be counts as what was reserved', async (t) => {
  const { rates, apply } = openRates(() => 0, new MemoryRates())
  const taken = (await rates.take(limit, 100)) as TakenUnits
  rates.open('request-1', { ofAll: [taken], byModel: new Map() })
  const [{ remaining }, expected] = [rates.view(limit), rates.expectedOutput(limit)]
  const usage = { promptTotal: 1e15, outputTotal: 1e15 }
  apply([{ closed: { closing: { type: 'UsageRecorded', data: { requestId: 'request-1', usage, plausible: false } } } }])
  t.equal(rates.view(limit).remaining, remaining)
  t.equal(rates.expectedOutput(limit), expected)
})

t.test('the tokens of a long request are counted, though nobody asked meanwhile', async (t) => {
  let nowMs = 0
  const records = new MemoryRates()
  const { rates, apply } = openRates(() => nowMs, records)
  const taken = (await rates.take(limit, 100)) as TakenUnits
  rates.open('request-1', { ofAll: [taken], byModel: new Map() })
  t.equal(rates.view(limit).remaining, 100)

  const leased = records.calls
  nowMs = 60_000
  await until(() => records.calls > leased) // What lay unused has gone back.
  nowMs = 120_000
  await pause(3 * admissionLimits.rateSweepMs) // And the share is forgotten.
  const calls = records.calls

  const usage = { promptTotal: 300, outputTotal: 800 }
  apply([{ closed: { closing: { type: 'UsageRecorded', data: { requestId: 'request-1', usage } } } }])
  t.equal(rates.view(limit).remaining, 0)
  await until(() => records.calls >= calls + 3) // A write that another's record is in the way of, a look at it, and a write.
  await pause(10)
  const other = openRates(() => nowMs, records).rates
  t.match(await other.take(limit, 1), { limit, waitMs: 8_010 }, 'and owed at every edge')
})
