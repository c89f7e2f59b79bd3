import type { Test } from 'tap'
import { median } from '../bench/figures.ts'
import { type Memory, MemoryWatch } from '../bench/memory.ts'
import { cpuMicros } from '../bench/procfs.ts'
import { megabytes, table, whole } from '../bench/table.ts'
import { type TurnWatch, watchTurns } from '../stops/watch-turns.ts'
import { makeCertificates } from '../support/certificates.ts'
import { pricesOf, sheetOf } from '../support/gateway.ts'
import { startGatewayApart } from '../support/gateway-apart.ts'
import { startHostileUpstreamApart } from '../support/hostile-upstream.ts'
import { videoPrices } from '../support/video.ts'
import type { Endings, Order } from './attacker.ts'
import type { Attack, Keys } from './attacks.ts'
import { Neighbour, type NeighbourOptions, type Served } from './neighbour.ts'
import { PacedProcess } from './paced-process.ts'

/** Of a core, for all attackers together. */
const attackersShare = 0.1
const neighbourPerSecond = 40
const providerPerMinute = 1_200
const upstreamScript = new URL('upstream.ts', import.meta.url)
const settleMs = 1_000
/** Until what is compiled and loaded at first use is: an installation that is attacked has served before. */
const warmMs = 4_000
/** Of each attack, whose ways through the gateway are others than the neighbour's. */
const rehearsalMs = 1_000
const timesMax = 2
const addedMsMax = 50

export interface Row {
  readonly name: string
  readonly endings: Endings
  readonly tries: number
  readonly held: number
  /** Without an ending when the attack was over. */
  readonly open: number
  readonly calm: Served
  readonly attacked: Served
  readonly memory: Memory
  /** Of the gateway's event loop, in CPU time, over all rounds. */
  readonly longestTurnMs: number
  /** What the attack costs the gateway, in cores: its CPU beside the attack, less that of the neighbour alone. */
  readonly addedCores: number
  /** What was not as it should be. */
  readonly problems: readonly string[]
}

interface Place {
  readonly url: string
  readonly pid: number
  readonly turns: TurnWatch
  readonly neighbourKey: string
  readonly keys: Keys
}

const neighbourAt = (
  { url, neighbourKey: key }: Pick<Place, 'url' | 'neighbourKey'>,
  { model = 'neighbour/quick', perSecond = neighbourPerSecond, keyed = false }: NonNullable<Attack['neighbour']> = {},
): NeighbourOptions => ({ url, key, model, perSecond, keyed })

const startPlace = async (t: Test, listen: object = {}): Promise<Place> => {
  const upstream = await startHostileUpstreamApart(t, upstreamScript)
  const ofNeighbour = await startHostileUpstreamApart(t, upstreamScript) // The attackers' has a thread, too, and it is busy.
  const ofAttackers = upstream.models.flatMap((name) => [`openai/${name}`, `anthropic/${name}`])
  const priced = ['neighbour/quick', 'shared/limited', ...ofAttackers]
  const sheets = Object.fromEntries(priced.map((model) => [model, sheetOf()]))
  const divided = { name: 'shared', dialect: 'openai', profile: 'openai', baseUrl: upstream.url, apiKey: 'sk' } as const
  const shared = { name: 'only', weight: 1, requestsPerMinute: providerPerMinute, provider: divided }
  const vectors = sheetOf({ per_million_tokens: { input: '1', output: '0' }, max_output_tokens: 0 })
  const prices = { prices: [...pricesOf({ ...sheets, 'openai/vectors': vectors }).prices, ...videoPrices] }
  const turns = await watchTurns(t)
  const started = await startGatewayApart(t, {
    upstreamUrl: upstream.url,
    models: Object.fromEntries(upstream.models.map((name) => [name, name])),
    providers: [
      { ...divided, models: {}, deployments: [shared] },
      { ...divided, name: 'neighbour', baseUrl: ofNeighbour.url, models: {} },
    ],
    config: { listen: { host: '127.0.0.1', port: 0, ...listen }, tagNames: ['team'], prices },
    env: turns.env,
  })
  const { process: gateway, operator, account } = started
  const paying = await operator.openAccount('attacker', '10000')
  const penniless = await operator.openAccount('penniless', '0')
  const place = { url: gateway.url, pid: gateway.pid, turns, neighbourKey: account.secret }
  await operator.tail.stop() // What it reads of the log would delay the neighbour's clients, which are in this process.
  const first = await Neighbour.open(neighbourAt(place))
  await first.ask(warmMs)
  first.close()
  return {
    ...place,
    keys: { paying: paying.secret, penniless: penniless.secret },
  }
}

/** Gateways for one attack after another: one that serves HTTP, and one that serves HTTPS once an attack needs it. */
export const openPlaces = (t: Test): ((attack: Attack) => Promise<Place>) => {
  let [plain, secure]: (Promise<Place> | undefined)[] = []
  const startSecure = async (): Promise<Place> => {
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0' // The clients of this process trust whatever certificate they get.
    const certificates = await makeCertificates()
    t.teardown(() => certificates.remove())
    return startPlace(t, { tls: certificates.server })
  }
  return ({ overTls }) => {
    if (overTls) secure ??= startSecure()
    else plain ??= startPlace(t)
    return (overTls ? secure : plain)!
  }
}

const countOf = (endings: Endings, counts: (ending: Endings[number][0]) => boolean): number =>
  endings.reduce((sum, [ending, count]) => (counts(ending) ? sum + count : sum), 0)

const mostMs = (calmMs: number): number => Math.max(timesMax * calmMs, calmMs + addedMsMax)

const findProblems = ({ calm, attacked, tries, held, open }: Omit<Row, 'problems'>): readonly string[] => [
  ...(attacked.p99Ms > mostMs(calm.p99Ms) ? [`p99 above ${whole(mostMs(calm.p99Ms))} ms`] : []),
  ...(attacked.failed.size > 0
    ? [`neighbour: ${[...attacked.failed].map(([status, count]) => `${count} × ${status || 'broken'}`).join(', ')}`]
    : []),
  ...(held + open < tries ? [`${tries - held - open} tries got through`] : []),
]

/** Alone at first: what the start of a process takes from others is not the gateway's. */
const withAttacker = async <T>(work: (attacker: PacedProcess) => Promise<T>): Promise<T> => {
  const attacker = await PacedProcess.start(new URL('attacker.ts', import.meta.url), attackersShare)
  try {
    return await work(attacker)
  } finally {
    await attacker.stop()
  }
}

const mergeEndings = (rounds: readonly Endings[]): Endings => {
  const merged = new Map<Endings[number][0], number>()
  for (const [ending, count] of rounds.flat()) merged.set(ending, (merged.get(ending) ?? 0) + count)
  return [...merged]
}

/** The p99 is the median of the rounds', since a machine that does other things as well spoils one or the other. */
const mergeServed = (rounds: readonly Served[]): Served => {
  const failed = new Map<number, number>()
  for (const [status, count] of rounds.flatMap((each) => [...each.failed]))
    failed.set(status, (failed.get(status) ?? 0) + count)
  const asked = rounds.reduce((sum, each) => sum + each.asked, 0)
  return { asked, failed, p99Ms: median(rounds.map(({ p99Ms }) => p99Ms)) }
}

/** With the cores that the gateway used meanwhile. */
const watchCpu = async <T>(
  pid: number,
  work: () => Promise<T>,
): Promise<{ readonly done: T; readonly cores: number }> => {
  const [began, before] = [performance.now(), cpuMicros(pid)]
  const done = await work()
  const usedMs = ((cpuMicros(pid) ?? Number.NaN) - (before ?? Number.NaN)) / 1_000
  return { done, cores: usedMs / (performance.now() - began) }
}

interface Measuring {
  /** Of the attack, over all rounds. */
  readonly ms: number
  readonly rounds: number
}

/** The neighbour alone and beside the attack, in turn. */
export const measureAttack = async (attack: Attack, place: Place, { ms, rounds }: Measuring): Promise<Row> => {
  const neighbour = await Neighbour.open(neighbourAt(place, attack.neighbour))
  const order: Order = { attack: attack.name, url: place.url, keys: place.keys, ms: ms / rounds }
  await withAttacker((attacker) => attacker.ask<Endings>({ ...order, ms: rehearsalMs }))
  const watch = new MemoryWatch(place.pid)
  const [calms, attackeds, endingsOf, added]: [Served[], Served[], Endings[], number[]] = [[], [], [], []]
  let longestTurnMs = 0
  for (let round = 0; round < rounds; round += 1) {
    await neighbour.ask(settleMs) // What the attack before has left behind.
    const calm = await watchCpu(place.pid, () => neighbour.ask(order.ms / 2))
    await place.turns.readLongest()
    const { done, cores } = await withAttacker((attacker) =>
      watchCpu(place.pid, () => Promise.all([neighbour.ask(order.ms), attacker.ask<Endings>(order)])),
    )
    longestTurnMs = Math.max(longestTurnMs, (await place.turns.readLongest()).cpuMs)
    calms.push(calm.done)
    attackeds.push(done[0])
    endingsOf.push(done[1])
    added.push(Math.max(0, cores - calm.cores))
  }
  neighbour.close()
  const endings = mergeEndings(endingsOf)
  const found = {
    ...{ name: attack.name, endings, calm: mergeServed(calms), attacked: mergeServed(attackeds), memory: watch.stop() },
    addedCores: median(added),
    longestTurnMs,
    tries: countOf(endings, () => true),
    held: countOf(endings, (ending) => attack.held.includes(ending)),
    open: countOf(endings, (ending) => ending === 'open'),
  }
  return { ...found, problems: findProblems(found) }
}

const head = [
  'attack',
  'verdict',
  'tries',
  'held',
  'open',
  'p99 calm',
  'p99 attacked',
  'longest turn',
  'added CPU',
  'memory',
]

export const printRows = (rows: readonly Row[]): string =>
  table(
    head,
    rows.map(({ name, problems, tries, held, open, calm, attacked, longestTurnMs, addedCores, memory }) => [
      name,
      problems.length === 0 ? 'holds' : problems.join('; '),
      ...[tries, held, open].map(whole),
      ...[calm, attacked].map(({ p99Ms }) => `${p99Ms.toFixed(1)} ms`),
      `${whole(longestTurnMs)} ms`,
      `${whole(100 * addedCores)} %`,
      megabytes(memory.peak),
    ]),
  )
