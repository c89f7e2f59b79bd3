import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { formatUsd, minOf } from '../../../../src/domain/money.ts'
import { endUserHolder, type Labels, tagHolder } from '../../../../src/domain/wallet/holders.ts'
import {
  balancePicos,
  findLimitedHolders,
  findRemaining,
  spendingOf,
  type Wallet,
} from '../../../../src/domain/wallet/wallet.ts'
import { GatewayError } from '../../../../src/errors/gateway-error.ts'
import type { Reservation } from '../../../../src/roles/edge/admission/spender.ts'
import { withTimeout } from '../../../../src/runtime/within.ts'
import { until } from '../../../support/clients.ts'
import { propertyRuns } from '../../../support/property-runs.ts'
import { limitsSet, workspaceId } from '../../projector/facts.ts'
import { openSharedWallet, type SharedWallet, type SharedWalletOptions } from './shared-wallet.ts'

const costPicos = 40_000_000n

interface Rush {
  readonly paidFor: number
  /** How many times the cost is reserved at most. */
  readonly worst: number
  readonly lastsTurnsMax: number
  /** Absent: the wallet has no more. Otherwise a key may spend what is paid for, and its wallet has so many times the cost beside it. */
  readonly besidesKey?: bigint
}

interface Client {
  readonly id: number
  readonly labels?: Labels
  refusals: number
}

/** Of the wallet, or of the limit of what it asks for where that is less. */
const leftPicos = (wallet: Wallet, { labels }: Client): bigint => {
  const room = findRemaining(wallet, findLimitedHolders(wallet, 'key-1', labels), '')
  const balance = balancePicos(wallet)
  return room === null ? balance : minOf(balance, room.leftPicos + room.heldPicos)
}

/** Asks some edge until it is let in, or until nothing is left; true when it was let in. */
const askUntilServed = async (
  shared: SharedWallet,
  client: Client,
  { worst, lastsTurnsMax }: Rush,
): Promise<boolean> => {
  const { edges, below, wallet, spend } = shared
  for (;;) {
    const requestId = `request-${client.id}-${client.refusals}`
    const wantedPicos = costPicos * BigInt(worst)
    try {
      const { allowances } = edges[below(edges.length)]!
      const reservation = await allowances.admit({
        requestId,
        workspaceId: wallet().workspaceId,
        keyId: 'key-1',
        labels: client.labels,
        wantedPicos,
        floorPicos: costPicos,
      })
      await spend(requestId, reservation, costPicos, below(lastsTurnsMax))
      return true
    } catch (refusal) {
      if (!(refusal instanceof GatewayError)) throw refusal
      client.refusals += 1
      const isSpent = leftPicos(wallet(), client) < costPicos
      if (refusal.status === 402 && !isSpent) shared.faults.push('402 while there was money')
      if (isSpent) return false
      await pause(below(20))
    }
  }
}

const spendOf = (picos: bigint) => ({ spend: { total: formatUsd(picos) } })

const rush = async (t: Test, asked: Rush, options: Omit<SharedWalletOptions, 'creditPicos' | 'limits'>) => {
  const paidPicos = costPicos * BigInt(asked.paidFor)
  const money =
    asked.besidesKey === undefined
      ? { creditPicos: paidPicos }
      : { creditPicos: paidPicos + costPicos * asked.besidesKey, limits: [limitsSet(spendOf(paidPicos), 'key-1')] }
  const shared = await openSharedWallet(t, { ...options, ...money })
  const clients = Array.from({ length: asked.paidFor + 20 }, (_, id): Client => ({ id, refusals: 0 }))
  const served = await Promise.all(clients.map((client) => askUntilServed(shared, client, asked)))
  await shared.stop()
  const { faults, wallet } = shared
  return { served: served.filter((each) => each).length, faults, wallet: wallet() }
}

t.test('three edges, money for exactly N: all N are let in, and never one that is not covered', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        seed: fc.integer(),
        paidFor: fc.integer({ min: 1, max: 60 }),
        worst: fc.constantFrom(1, 1, 2, 5),
        lastsTurnsMax: fc.constantFrom(1, 10, 200),
        distances: fc.tuple(...[1, 2, 3].map(() => fc.integer({ min: 1, max: 12 }))),
      }),
      async ({ seed, distances, ...asked }) => {
        const { served, faults, wallet } = await rush(t, asked, { seed, distances })
        t.equal(served, asked.paidFor)
        t.same(faults, [])
        t.equal(balancePicos(wallet), 0n)
        t.same([wallet.heldPicos, wallet.holds.size], [0n, 0], 'nothing stays held')
      },
    ),
    { ...propertyRuns(8), endOnFailure: true },
  )
})

t.test('the same where a key may spend the money for exactly N, and its wallet has as much or more', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        seed: fc.integer(),
        paidFor: fc.integer({ min: 1, max: 60 }),
        worst: fc.constantFrom(1, 1, 2, 5),
        lastsTurnsMax: fc.constantFrom(1, 10, 200),
        distances: fc.tuple(...[1, 2, 3].map(() => fc.integer({ min: 1, max: 12 }))),
        besidesKey: fc.constantFrom(0n, 1n, 1_000n),
      }),
      async ({ seed, distances, ...asked }) => {
        const { served, faults, wallet } = await rush(t, asked, { seed, distances })
        t.equal(served, asked.paidFor)
        t.same(faults, [])
        const { spent, held } = spendingOf(wallet, 'key-1')
        t.equal(spent.totalPicos, costPicos * BigInt(asked.paidFor), 'spent to the last digit')
        t.same([held.totalPicos, wallet.heldPicos, wallet.holds.size], [0n, 0n, 0], 'nothing stays held')
        t.equal(balancePicos(wallet), costPicos * asked.besidesKey)
      },
    ),
    { ...propertyRuns(8), endOnFailure: true },
  )
})

const endUsers = ['a', 'b', 'c'].map((digit) => digit.repeat(64))

t.test('the same where a tag may be spent by N, and end users with less of their own share it', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        seed: fc.integer(),
        paidFor: fc.integer({ min: 1, max: 40 }),
        worst: fc.constantFrom(1, 1, 2, 5),
        lastsTurnsMax: fc.constantFrom(1, 10, 200),
        distances: fc.tuple(...[1, 2, 3].map(() => fc.integer({ min: 1, max: 12 }))),
        own: fc.tuple(fc.nat({ max: 20 }), fc.nat({ max: 20 })),
      }),
      async ({ seed, distances, own, paidFor, ...asked }) => {
        const limited = own.map((count, index) => ({
          type: 'LimitsSet' as const,
          data: { workspaceId, endUser: endUsers[index]!, limits: spendOf(costPicos * BigInt(count)) },
        }))
        const paid = spendOf(costPicos * BigInt(paidFor))
        const ofTag = { type: 'LimitsSet' as const, data: { workspaceId, tag: 'team=search', limits: paid } }
        const creditPicos = costPicos * 1_000n
        const shared = await openSharedWallet(t, { seed, distances, creditPicos, limits: [ofTag, ...limited] })
        const clients = endUsers.flatMap((endUser, index) =>
          Array.from({ length: paidFor + 5 }, (_, id) => ({
            ...{ id: index * 100 + id, refusals: 0 },
            labels: { tags: { team: 'search' }, endUser },
          })),
        )
        const served = await Promise.all(clients.map((client) => askUntilServed(shared, client, { ...asked, paidFor })))
        await shared.stop()
        const wallet = shared.wallet()
        t.equal(served.filter((each) => each).length, paidFor)
        t.same(shared.faults, [])
        t.equal(spendingOf(wallet, tagHolder('team=search')).spent.totalPicos, costPicos * BigInt(paidFor))
        for (const [index, count] of own.entries())
          t.ok(spendingOf(wallet, endUserHolder(endUsers[index]!)).spent.totalPicos <= costPicos * BigInt(count))
        t.same([wallet.heldPicos, wallet.holds.size], [0n, 0], 'nothing stays held')
      },
    ),
    { ...propertyRuns(6), endOnFailure: true },
  )
})

const worstPicos = 10n * costPicos

interface Asked {
  readonly requestId: string
  readonly reservation: Reservation
}

/** Asks at one edge for many at once; answers with how many were let in before they gave up. */
const askTogether = async (
  shared: SharedWallet,
  edge: number,
  name: string,
  count: number,
): Promise<readonly Asked[]> => {
  const { allowances } = shared.edges[edge]!
  const { workspaceId } = shared.wallet()
  const asked = await Promise.allSettled(
    Array.from({ length: count }, async (_, index) => {
      const requestId = `${name}-${index}`
      const ask = { requestId, workspaceId, keyId: 'key-1', wantedPicos: worstPicos, floorPicos: worstPicos }
      return { requestId, reservation: await allowances.admit(ask) }
    }),
  )
  return asked.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
}

/** All of them come to next to nothing. */
const endAll = (shared: SharedWallet, asked: readonly Asked[]): Promise<unknown> =>
  Promise.all(asked.map(({ requestId, reservation }) => shared.spend(requestId, reservation, 1n, 1)))

t.test('what a request did not need serves another edge, while longer ones go on', async (t) => {
  const shared = await openSharedWallet(t, { seed: 1, creditPicos: 11n * worstPicos })
  for (let long = 0; long < 10; long += 1) {
    const admitted = await askTogether(shared, 0, `first-${long}`, 10)
    await endAll(shared, admitted.toSpliced(long, 1))
    const others = await askTogether(shared, 1, `then-${long}`, 9)
    t.equal(others.length, 9, `number ${long} goes on`)
    await endAll(shared, [admitted[long]!, ...others])
  }
  t.same(shared.faults, [])
})

t.test('an edge that needs little gives back what it took when it needed more', async (t) => {
  const shared = await openSharedWallet(t, { seed: 2, creditPicos: 40n * worstPicos })
  const burst = await askTogether(shared, 0, 'burst', 10)
  await endAll(shared, burst)
  let goesOn = true
  const trickle = async (lastsMs: number): Promise<void> => {
    for (let count = 0; goesOn; count += 1) {
      const [asked] = await askTogether(shared, 0, `little-${lastsMs}-${count}`, 1)
      await pause(lastsMs)
      if (asked !== undefined) await shared.spend(asked.requestId, asked.reservation, 1n, 1)
    }
  }
  const trickles = [30, 50, 70].map(trickle)
  const long = await askTogether(shared, 1, 'long', 29)
  t.equal(long.length, 29)
  const more = await askTogether(shared, 1, 'more', 4)
  t.equal(more.length, 4)
  goesOn = false
  await Promise.all(trickles)
  await endAll(shared, [...long, ...more])
  t.same(shared.faults, [])
})

t.test('what cannot be given back, since a request in it goes on, is used where it is', async (t) => {
  const shared = await openSharedWallet(t, { seed: 5, creditPicos: 40n * worstPicos })
  const burst = await askTogether(shared, 0, 'burst', 10)
  await endAll(shared, burst.toSpliced(5, 1))
  const others = await askTogether(shared, 1, 'others', 29)
  for (let round = 0; round < 6; round += 1) {
    const asked = await askTogether(shared, 0, `round-${round}`, 3)
    t.equal(asked.length, 3)
    await endAll(shared, asked)
    await pause(100)
  }
  await endAll(shared, [burst[5]!, ...others])
  t.same(shared.faults, [])
})

t.test('a request without an end leaves nothing behind when the scheduler takes its allowance back', async (t) => {
  const shared = await openSharedWallet(t, {
    seed: 3,
    creditPicos: 8n * worstPicos,
    distances: [1],
  })
  const { allowances, tail } = shared.edges[0]!
  const lost = await askTogether(shared, 0, 'lost', 4)
  const expired = new Set(lost.map(({ reservation }) => reservation.allowanceId ?? ''))
  for (const { requestId, reservation } of lost) await shared.route(requestId, reservation)
  for (const holdId of expired) await shared.expire(holdId)
  await tail.waitForSequence(await shared.log.lastSequence())

  const [next] = await askTogether(shared, 0, 'next', 1)
  t.ok(next !== undefined && !expired.has(next.reservation.allowanceId ?? ''), 'the next one has another allowance')
  await shared.spend(next!.requestId, next!.reservation, costPicos, 1)
  await withTimeout(allowances.ended(), 5_000, () => new Error('the edge waits for requests that nobody ends'))
  await allowances.close()
  t.equal(tail.ledger.wallets.get('acme')?.holds.size, 0)
})

t.test('an allowance that could not be given back is given back later', async (t) => {
  const shared = await openSharedWallet(t, { seed: 4, creditPicos: 8n * worstPicos, distances: [1] })
  const [asked] = await askTogether(shared, 0, 'first', 1)
  shared.breakOff(true)
  await shared.spend(asked!.requestId, asked!.reservation, costPicos, 1)
  await until(() => shared.logged.some(({ event }) => event === 'allowance.not_returned'))
  t.equal(shared.wallet().holds.size, 1)
  shared.breakOff(false)
  await until(() => shared.wallet().holds.size === 0)
})
