import fc from 'fast-check'
import t from 'tap'
import {
  applyFrame,
  findOrCreateWallet,
  initialLedger,
  type Ledger,
  type LedgerFrame,
} from '../../../src/domain/ledger/ledger.ts'
import { applyToDraft, draftWorkspace } from '../../../src/domain/ledger/workspace-draft.ts'
import { formatUsd, parseUsd } from '../../../src/domain/money.ts'
import { noUsage } from '../../../src/domain/usage/usage.ts'
import { decideWallet, type WalletCommand } from '../../../src/domain/wallet/decide.ts'
import { availablePicos, balancePicos, findRemaining } from '../../../src/domain/wallet/wallet.ts'
import { type Event, type Fact, type FactOf, wrapEvent } from '../../../src/events/envelope.ts'

const seal = (fact: Fact): Event => wrapEvent(fact, 'id', '/gateway/test', '2026-11-21T10:00:00.000Z')

const routed = (requestId: string, reserved: string, allowanceId: string | null = null): Fact => ({
  type: 'RequestRouted',
  data: {
    requestId,
    workspaceId: 'acme',
    keyId: 'key_1',
    surface: 'chat',
    model: 'openai/m',
    router: null,
    stream: false,
    candidates: [{ model: 'openai/m', provider: 'openai', upstreamModel: 'm', priceVersion: 'v1' }],
    allowanceId,
    reserved,
    outputCap: null,
    deadline: '2026-11-21T10:10:00.000Z',
  },
})

const used = (requestId: string, total: string, allowanceId: string | null = null): Fact => ({
  type: 'UsageRecorded',
  data: {
    requestId,
    workspaceId: 'acme',
    keyId: 'key_1',
    surface: 'chat',
    model: 'openai/m',
    provider: 'openai',
    level: 0,
    priceVersion: 'v1',
    usage: noUsage,
    source: 'reported',
    lines: [],
    total,
    reserved: total,
    allowanceId,
    attempts: [],
    outcome: 'completed',
  },
})

const failed = (requestId: string): Fact => ({
  type: 'RequestFailed',
  data: {
    requestId,
    workspaceId: 'acme',
    keyId: 'key_1',
    surface: 'chat',
    status: 502,
    reason: 'upstream_error',
    allowanceId: null,
    attempts: [],
  },
})

const issued = (keyId: string, replaces?: string): FactOf<'KeyIssued'> => ({
  type: 'KeyIssued',
  data: {
    keyId,
    workspaceId: 'acme',
    name: 'ci',
    sha256: Buffer.from(keyId).toString('hex').padEnd(64, '0'),
    prefix: 'sk-a',
    ...(replaces === undefined ? {} : { replaces }),
  },
})
const opened: Fact = { type: 'WorkspaceOpened', data: { workspaceId: 'acme', name: 'Acme', creditLimit: '5' } }
const credited = (amount: string): Fact => ({
  type: 'WalletCredited',
  data: { workspaceId: 'acme', amount, reference: amount, note: '' },
})
const placed = (holdId: string, amount: string): FactOf<'HoldPlaced'>['data'] => ({
  holdId,
  workspaceId: 'acme',
  purpose: 'allowance',
  amount,
  deadline: '2026-11-21T12:00:00.000Z',
  owner: 'edge-1',
})
const held = (holdId: string, amount: string): Fact => ({ type: 'HoldPlaced', data: placed(holdId, amount) })
const placing = (keyId: string, usd: string): WalletCommand => ({
  type: 'PlaceAllowance',
  holdId: 'h9',
  minimumPicos: parseUsd(usd),
  desiredPicos: parseUsd(usd),
  holders: [keyId],
  day: '2026-11-21',
  deadline: '2026-11-21T12:00:00.000Z',
  owner: 'edge-1',
})
const released = (holdId: string): Fact => ({
  type: 'HoldReleased',
  data: { holdId, workspaceId: 'acme', reason: 'returned' },
})

interface Unplaced {
  readonly writer: string
  readonly counter: number
  readonly wallet: boolean
  readonly facts: readonly Fact[]
}

const place = (frames: readonly Unplaced[]): readonly LedgerFrame[] =>
  frames.map(({ writer, counter, wallet, facts }, index) => ({
    sequence: index + 1,
    walletSubject: wallet ? 'acme' : null,
    writer,
    counter,
    events: facts.map(seal),
  }))

const fold = (frames: readonly Unplaced[]): Ledger => {
  const ledger = initialLedger()
  for (const frame of place(frames)) applyFrame(ledger, frame)
  return ledger
}

const journal = (writer: string, counter: number, ...facts: readonly Fact[]): Unplaced => ({
  writer,
  counter,
  wallet: false,
  facts,
})
const wallet = (...facts: readonly Fact[]): Unplaced => ({ writer: 'w', counter: 1, wallet: true, facts })

const figures = (ledger: Ledger) => {
  const acme = findOrCreateWallet(ledger, 'acme')
  return {
    balance: formatUsd(balancePicos(acme)),
    available: formatUsd(availablePicos(acme)),
    held: formatUsd(acme.heldPicos),
  }
}

t.test('a frame stored twice is applied once', async (t) => {
  const frames = [wallet(credited('10')), journal('edge', 1, routed('r1', '2')), journal('proxy', 1, used('r1', '1'))]
  const ledger = fold([...frames, frames[1]!, frames[2]!])
  t.same(figures(ledger), { balance: '9', available: '9', held: '0' })
  t.equal(ledger.openRequests.size, 0)
})

t.test('the first closing event of a request is honoured, any other stays listed', async (t) => {
  const ledger = fold([
    journal('edge', 1, routed('r1', '2')),
    journal('a', 1, failed('r1')),
    journal('b', 1, used('r1', '1')),
  ])
  t.same(figures(ledger), { balance: '0', available: '0', held: '0' })
  t.match(ledger.openRequests.get('r1'), { routed: null, closing: { type: 'UsageRecorded' } })
})

t.test('a closing event may stand before the routing event', async (t) => {
  const ledger = fold([journal('proxy', 1, used('r1', '1')), journal('edge', 1, routed('r1', '2'))])
  t.equal(figures(ledger).balance, '-1')
  t.equal(ledger.openRequests.size, 0)
})

t.test('the checkpoint that seals the most is known, and of equals the first', async (t) => {
  const sealed = (size: number): Fact => ({
    type: 'CheckpointSealed',
    data: { size, root: '', peaks: [], from: 0, leaves: '', note: '' },
  })
  t.equal(fold([journal('a', 1, opened)]).sealed, null)
  const frames = [
    journal('a', 1, opened),
    journal('a', 2, sealed(1)),
    journal('b', 1, sealed(2)),
    journal('a', 3, sealed(1)),
  ]
  t.same(fold([...frames, journal('a', 4, sealed(2))]).sealed, { size: 2, sequence: 3 })
})

t.test('a missing frame stops the fold', async (t) => {
  const ledger = initialLedger()
  t.throws(
    () => applyFrame(ledger, { sequence: 2, walletSubject: null, writer: 'a', counter: 1, events: [] }),
    /sequence 0/,
  )
})

t.test('a key that took the place of another spends what is left of one limit with it', async (t) => {
  const limited: Fact = {
    type: 'LimitsSet',
    data: { workspaceId: 'acme', keyId: 'key_0', limits: { spend: { total: '3' } } },
  }
  const rotated = wallet(opened, issued('key_0'), limited, issued('key_1', 'key_0'), issued('key_2', 'key_1'))
  const ledger = fold([rotated, journal('edge', 1, routed('r1', '2')), journal('proxy', 1, used('r1', '1'))])
  const acme = findOrCreateWallet(ledger, 'acme')
  t.same([...acme.spendings.keys()], ['key_0'], 'counted under the first')
  const draft = draftWorkspace(acme, ledger.accounts)
  applyToDraft(draft, issued('key_3', 'key_2'))
  for (const keyId of ['key_0', 'key_1', 'key_2', 'key_3']) {
    const room = findRemaining(draft.wallet, [keyId], '2026-11-21')
    t.equal(formatUsd(room?.leftPicos ?? 0n), '2', keyId)
    const decision = decideWallet(placing(keyId, '2.5'), draft.wallet)
    t.match(decision, { refused: { reason: 'spend_limit_reached' } }, keyId)
  }
  applyToDraft(draft, { type: 'HoldPlaced', data: { ...placed('h1', '1.5'), keyId: 'key_3', day: '2026-11-21' } })
  t.match(decideWallet(placing('key_1', '1'), draft.wallet), { refused: { reason: 'spend_limit_reached' } })
})

t.test('a workspace brings its credit limit', async (t) => {
  t.equal(figures(fold([journal('edge', 1, opened)])).available, '5')
})

/** Requests with their money, as separate writers store them: each writer keeps its own order, the log mixes them. */
const histories = fc.array(
  fc.record({ cost: fc.integer({ min: 0, max: 90 }), fails: fc.boolean(), twice: fc.boolean() }),
  { minLength: 1, maxLength: 30 },
)

const writersOf = (
  requests: readonly { cost: number; fails: boolean; twice: boolean }[],
): readonly (readonly Unplaced[])[] => {
  const closing = requests.map(({ cost, fails }, index) =>
    fails
      ? failed(`r${index}`)
      : used(`r${index}`, `0.${String(cost).padStart(2, '0')}`.replace(/\.?0+$/, '') || '0', 'h1'),
  )
  return [
    requests.map((_, index) => journal('edge', index + 1, routed(`r${index}`, '1', 'h1'))),
    requests.flatMap(({ twice }, index) => {
      const frame = journal('proxy', index + 1, closing[index]!)
      return twice ? [frame, frame] : [frame]
    }),
    [wallet(credited('100')), wallet(held('h1', '40')), wallet(released('h1'))],
  ]
}

const interleave = (writers: readonly (readonly Unplaced[])[], picks: readonly number[]): readonly Unplaced[] => {
  const left = writers.map((frames) => [...frames])
  const mixed: Unplaced[] = []
  for (let turn = 0; left.some((frames) => frames.length > 0); turn += 1) {
    const waiting = left.filter((frames) => frames.length > 0)
    mixed.push(waiting[(picks[turn % picks.length] ?? 0) % waiting.length]!.shift()!)
  }
  return mixed
}

t.test('a changed workspace changes its credit limit, and aliases and routers are known', async (t) => {
  const ledger = initialLedger()
  const workspaceId = 'acme'
  const frameOf = (sequence: number, ...facts: readonly Fact[]) => ({
    sequence,
    walletSubject: null,
    writer: 'w',
    counter: sequence,
    events: facts.map((fact, index) =>
      wrapEvent(fact, `e-${sequence}-${index}`, '/gateway/test', '2026-03-01T00:00:00.000Z'),
    ),
  })
  applyFrame(ledger, frameOf(1, { type: 'WorkspaceOpened', data: { workspaceId, name: 'Acme', creditLimit: '5' } }))
  applyFrame(ledger, frameOf(2, { type: 'WorkspaceChanged', data: { workspaceId, name: 'New', creditLimit: '7.5' } }))
  t.equal(ledger.wallets.get(workspaceId)?.creditLimitPicos, 7_500_000_000_000n)
  t.match(ledger.accounts.workspaces.get(workspaceId), { name: 'New' })
  const before = ledger.routing
  applyFrame(ledger, frameOf(3, { type: 'AliasSet', data: { alias: 'mini', model: 'openai/a' } }))
  t.not(ledger.routing, before, 'whoever made something of it notices')
  t.equal(ledger.routing.aliases.get('mini'), 'openai/a')
})

t.test('the fold does not depend on the order between writers', async () => {
  fc.assert(
    fc.property(histories, fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 100 }), (requests, picks) => {
      const writers = writersOf(requests)
      const one = fold(writers.flat())
      const other = fold(interleave(writers, picks))
      return (
        JSON.stringify(figures(one)) === JSON.stringify(figures(other)) &&
        one.openRequests.size === 0 &&
        other.openRequests.size === 0
      )
    }),
  )
})

t.test("a key's id that is said again of another workspace binds nothing there", async (t) => {
  const again = issued('key_1', 'key_0')
  const foreign: Fact = { ...again, data: { ...again.data, workspaceId: 'other' } }
  const ledger = fold([wallet(opened, issued('key_0'), again), journal('a', 1, foreign)])
  t.equal(findOrCreateWallet(ledger, 'acme').limitKeys.get('key_1'), 'key_0')
  t.equal(findOrCreateWallet(ledger, 'other').limitKeys.size, 0)
})
