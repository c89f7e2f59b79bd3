import fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  chooseDeployment,
  type DeploymentEvent,
  type DeploymentHealth,
  healthy,
  isAvailable,
  nextHealth,
  orderByAffinity,
} from '../../../src/domain/routing/deployments.ts'

const names = (all: readonly { readonly name: string }[]): readonly string[] => all.map(({ name }) => name)

const sharesOf = (all: readonly { readonly name: string; readonly weight: number }[], workspaces: number) => {
  const counts = new Map<string, number>()
  for (let at = 0; at < workspaces; at += 1) {
    const [first] = orderByAffinity(all, `workspace-${at} openai/gpt-5`)
    counts.set(first!.name, (counts.get(first!.name) ?? 0) + 1)
  }
  return counts
}

const divisions: readonly (readonly number[])[] = [
  [1, 1],
  [1, 1, 1],
  [3, 1],
  [5, 3, 2],
  [70, 20, 10],
  [1, 2, 3, 4, 5, 6],
]

/** Each workspace is drawn by itself: of n, a share p has n·p of them with the deviation √(n·p·(1−p)). */
const deviationOf = (workspaces: number, share: number): number => Math.sqrt(workspaces * share * (1 - share))

const assertShares = (
  t: Test,
  weights: readonly number[],
  workspaces: number,
  boundOf: (share: number) => number,
): void => {
  const all = weights.map((weight, at) => ({ name: `deployment-${at}`, weight }))
  const counts = sharesOf(all, workspaces)
  const sum = weights.reduce((total, weight) => total + weight, 0)
  for (const { name, weight } of all) {
    const expected = (workspaces * weight) / sum
    const off = Math.abs((counts.get(name) ?? 0) - expected)
    t.ok(off <= boundOf(weight / sum), `${name}: ${((100 * off) / expected).toFixed(1)} % beside its share`)
  }
}

for (const weights of divisions) {
  const named = weights.join(' : ')
  t.test(`of 1,000 workspaces each share of ${named} is as near as chance makes it: within 3 deviations`, async (t) => {
    assertShares(t, weights, 1_000, (share) => 3 * deviationOf(1_000, share))
  })
}

t.test('of 100,000 workspaces each share is within 5 % of its weight', async (t) => {
  assertShares(t, [70, 20, 10], 100_000, (share) => 0.05 * share * 100_000)
})

t.test('where one is gone, its own workspaces alone move', async () => {
  const weight = fc.integer({ min: 1, max: 100 })
  fc.assert(
    fc.property(fc.array(weight, { minLength: 2, maxLength: 8 }), fc.string(), (weights, affinity) => {
      const all = weights.map((each, at) => ({ name: `d${at}`, weight: each }))
      const order = orderByAffinity(all, affinity)
      const [first, ...rest] = names(order)
      const without = all.filter(({ name }) => name !== first)
      return JSON.stringify(names(orderByAffinity(without, affinity))) === JSON.stringify(rest)
    }),
  )
})

const failed = { type: 'failed', reason: 'failed', retryAfterMs: null } as const
const limited = (retryAfterMs: number | null) => ({ type: 'failed', reason: 'limited', retryAfterMs }) as const
const account = { type: 'failed', reason: 'account', retryAfterMs: null } as const
const called = { type: 'called' } as const
const answered = { type: 'answered' } as const
const abandoned = { type: 'abandoned' } as const

type Story = readonly (readonly [atMs: number, event: DeploymentEvent])[]

const healthAfter = (story: Story): DeploymentHealth =>
  story.reduce((health, [atMs, event]) => nextHealth(health, event, atMs), healthy)

const thrice: Story = [
  [0, failed],
  [0, failed],
  [0, failed],
]

const stories: readonly (readonly [what: string, story: Story, free: readonly number[], ejected: readonly number[]])[] =
  [
    [
      'one failure, then another',
      [
        [0, failed],
        [1, failed],
      ],
      [1, 2],
      [],
    ],
    ['three failures in row', thrice, [5_000], [0, 4_999]],
    [
      'an answer between failures',
      [
        [0, failed],
        [1, failed],
        [2, answered],
        [3, failed],
      ],
      [3],
      [],
    ],
    ['a rate limit counts at once, for as long as it says', [[0, limited(30_000)]], [30_000], [0, 29_999]],
    ['a rate limit that says nothing', [[0, limited(null)]], [5_000], [4_999]],
    ['a key that is not accepted', [[0, account]], [60_000], [59_999]],
    ['while one call probes it, others pass it by', [...thrice, [5_000, called]], [], [5_000, 600_000]],
    ['a probe that is answered', [...thrice, [5_000, called], [5_100, answered]], [5_100], []],
    ['a probe that fails doubles the time', [...thrice, [5_000, called], [5_100, failed]], [15_100], [15_099]],
    ['a probe without a verdict', [...thrice, [5_000, called], [5_100, abandoned]], [5_100], []],
    ['failures that were under way extend nothing twice', [...thrice, [100, failed], [200, failed]], [5_200], [5_199]],
    ['an answer that was under way brings nothing back', [...thrice, [100, answered]], [5_000], [200]],
  ]

for (const [what, story, free, ejected] of stories)
  t.test(what, async (t) => {
    const health = healthAfter(story)
    for (const atMs of free) t.equal(isAvailable(health, atMs), true, `free at ${atMs}`)
    for (const atMs of ejected) t.equal(isAvailable(health, atMs), false, `ejected at ${atMs}`)
  })

t.test('ejections grow up to a bound', async (t) => {
  let health = healthAfter(thrice)
  for (let times = 0; times < 12; times += 1) {
    const atMs = health.ejected!.untilMs
    health = nextHealth(nextHealth(health, called, atMs), failed, atMs)
    t.ok(health.ejected!.untilMs - atMs <= 300_000)
  }
  t.equal(health.ejected!.untilMs - healthAfter(thrice).ejected!.untilMs > 1_000_000, true)
})

const down = healthAfter(thrice)
const later = healthAfter([
  [1_000, failed],
  [1_000, failed],
  [1_000, failed],
])
const busy = healthAfter([[0, limited(30_000)]])

type Status = readonly [health: DeploymentHealth, waitMs: number]

const choices: readonly (readonly [what: string, statuses: readonly Status[], choice: object])[] = [
  [
    'the first in order',
    [
      [healthy, 0],
      [healthy, 0],
    ],
    { type: 'chosen', deployment: 0 },
  ],
  [
    'not one that is ejected',
    [
      [down, 0],
      [healthy, 0],
    ],
    { type: 'chosen', deployment: 1 },
  ],
  [
    'not one at its own limit',
    [
      [healthy, 1_500],
      [healthy, 0],
    ],
    { type: 'chosen', deployment: 1 },
  ],
  [
    'where all failed, what returns first',
    [
      [later, 0],
      [down, 0],
    ],
    { type: 'chosen', deployment: 1 },
  ],
  [
    'a failed one before a limited one',
    [
      [busy, 0],
      [later, 0],
    ],
    { type: 'chosen', deployment: 1 },
  ],
  [
    'where all are limited, none: the shortest wait',
    [
      [busy, 0],
      [healthy, 1_500],
    ],
    { type: 'limited', waitMs: 1_500 },
  ],
  ['what is limited twice waits for both', [[busy, 40_000]], { type: 'limited', waitMs: 40_000 }],
  ['where there is none', [], { type: 'none' }],
]

for (const [what, statuses, choice] of choices)
  t.test(`chosen is ${what}`, async (t) => {
    const all = statuses.map(([health, waitMs], deployment) => ({ deployment, health, waitMs }))
    t.same(chooseDeployment(all, 0), choice)
  })

const limitedIn = (workspaceId: string) => ({ ...limited(30_000), workspaceId }) as const

t.test('a limit that one workspace meets changes nothing of a deployment that failed for all', async (t) => {
  const hour = { ...limited(3_600_000), workspaceId: 'large' } as const
  const health = nextHealth(down, hour, 1)
  t.same(health, down, 'its call was under way, or was made since all have failed')
  t.match(
    chooseDeployment([{ deployment: 'only', health, waitMs: 0 }], 1),
    { type: 'chosen' },
    'others are still tried',
  )
  t.match(nextHealth(down, hour, 5_000).ejected, { reason: 'limited', workspaceId: 'large' }, 'once its time is over')
})

t.test("while one workspace is limited, the others' failures count as ever", async (t) => {
  for (const nowMs of [1, 30_001]) {
    let health = nextHealth(healthy, limitedIn('large'), 0)
    health = nextHealth(nextHealth(health, called, nowMs), failed, nowMs)
    t.match(health.ejected, { workspaceId: 'large', untilMs: 30_000, isProbed: false }, 'a single one is normal')
  }
  let health = nextHealth(healthy, limitedIn('large'), 0)
  for (let call = 0; call < 5; call += 1) health = nextHealth(nextHealth(health, failed, 1), answered, 1)
  t.match(health.ejected, { workspaceId: 'large' }, 'between answers too')
  for (let call = 0; call < 3; call += 1) health = nextHealth(health, failed, 1)
  t.match(health.ejected, { reason: 'failed', untilMs: 5_001, workspaceId: undefined }, 'for as long as a failure is')
})
