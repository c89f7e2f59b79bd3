import { hash } from 'node:crypto'
import type { Test } from 'tap'
import { findOrCreateWallet } from '../../../src/domain/ledger/ledger.ts'
import { formatUsd } from '../../../src/domain/money.ts'
import type { TaskPayload } from '../../../src/domain/video/request.ts'
import { decideSettlement, type VideoVerdict } from '../../../src/domain/video/settle.ts'
import type { Task } from '../../../src/domain/video/task.ts'
import { availablePicos } from '../../../src/domain/wallet/wallet.ts'
import type { EventOf, Fact } from '../../../src/events/envelope.ts'
import type { VideoSheet } from '../../../src/events/types.ts'
import type { LedgerTail } from '../../../src/log/ledger-tail.ts'
import { RecentTasks, type StoredTasks } from '../../../src/roles/recent-tasks.ts'
import { silentLogger } from '../../support/log-lines.ts'
import type { MemoryLog } from '../../support/memory-log.ts'
import { type EdgeOptions, secret, startEdge, type TestEdge, workspaceId } from './edge-fixture.ts'

export const otherSecret = 'sk-test-other'

const sheet: VideoSheet = {
  currency: 'USD',
  unit_price: '0.14',
  units_per_second: {
    std: '0.6',
    pro: '0.8',
    '4k': '3',
    'std+audio': '0.9',
    'pro+audio': '1.2',
    '4k+audio': '3',
    'std+video': '0.9',
    'pro+video': '1.2',
    'std+voice': '1.1',
    'pro+voice': '1.4',
  },
}

const models = ['v3', 'v3-omni', 'video-o1', 'v2-6', 'v2-5-turbo', 'v2-master']

/** Five seconds in std: 3 units, 0.42 USD. */
export const plainBody = { model: 'vv/v3', prompt: 'A cat.' }
export const plainNative = { model_name: 'vv/v3', prompt: 'A cat.' }

/** The tables as a projector would have them by now. */
const storedTasks = (tail: LedgerTail): StoredTasks => {
  const tasks = new Map<string, { readonly task: Task; readonly sequences: number[] }>()
  tail.onApplied((applied) => {
    for (const { task, sequence } of applied) {
      if (task === null) continue
      const stored = tasks.get(task.taskId)
      if (stored === undefined) tasks.set(task.taskId, { task, sequences: [sequence] })
      else stored.sequences.push(sequence)
    }
  })
  const indexOf = ({ task: { taskId }, sequences }: { readonly task: Task; readonly sequences: number[] }) => ({
    taskId,
    sequences,
  })
  return {
    findTask: async (workspace, taskId) => {
      const stored = tasks.get(taskId)
      return stored?.task.workspaceId === workspace ? indexOf(stored) : null
    },
    listTasks: async (workspace, kind, { page, pageSize }) =>
      [...tasks.values()]
        .filter(({ task }) => task.workspaceId === workspace && task.kind === kind)
        .toReversed()
        .slice((page - 1) * pageSize, page * pageSize)
        .map(indexOf),
    checkpoint: async () => tail.ledger.sequence,
  }
}

const recentTasks = (t: Test, tail: LedgerTail, log: MemoryLog): RecentTasks => {
  const tasks = new RecentTasks({ tail, log, frames: log, logger: silentLogger, stored: storedTasks(tail) })
  t.teardown(() => tasks.stop())
  return tasks
}

const otherWorkspace: readonly Fact[] = [
  { type: 'WorkspaceOpened', data: { workspaceId: 'other', name: 'Other', creditLimit: '10' } },
  {
    type: 'KeyIssued',
    data: {
      keyId: 'key-9',
      workspaceId: 'other',
      name: 'other',
      sha256: hash('sha256', otherSecret),
      prefix: 'sk-test-',
    },
  },
]

export interface VideoEdge extends TestEdge {
  readonly holds: () => readonly EventOf<'HoldPlaced'>[]
  readonly availableUsd: () => string
  readonly payloadOf: (taskId: string) => TaskPayload
  readonly get: (path: string, key?: string) => Promise<Response>
  /** Appends what a poller would. */
  readonly tell: (...facts: Fact[]) => Promise<void>
  readonly openTask: (taskId: string) => Task
}

/** An edge that sells videos; `vv/v3` is called otherwise upstream. */
export const startVideoEdge = async (t: Test, options: EdgeOptions = {}): Promise<VideoEdge> => {
  const edge = await startEdge(t, {
    videoSheets: Object.fromEntries(models.map((model) => [`vv/${model}`, sheet])),
    tasks: (tail, log) => recentTasks(t, tail, log),
    ...options,
  })
  const { log, tail, url, queued } = edge
  const tell = async (...facts: Fact[]): Promise<void> => {
    const { sequence } = await log.append(facts)
    await tail.waitForSequence(sequence)
  }
  await tell(...otherWorkspace)
  return {
    ...edge,
    holds: () => log.events.filter((event) => event.type === 'HoldPlaced'),
    availableUsd: () => formatUsd(availablePicos(findOrCreateWallet(tail.ledger, workspaceId))),
    payloadOf: (taskId) => JSON.parse(Buffer.from(queued.get(taskId) ?? '').toString()),
    get: (path, key = secret) => fetch(url + path, { headers: { authorization: `Bearer ${key}` }, redirect: 'manual' }),
    tell,
    openTask: (taskId) => {
      const task = tail.ledger.tasks.get(taskId)
      if (task === undefined) throw new Error(`${taskId} is not open`)
      return task
    },
  }
}

export const submittedFact = (taskId: string): Fact => ({
  type: 'TaskSubmitted',
  data: { taskId, workspaceId, vendorTaskId: 'vendor-77' },
})

export const progressedFact = (taskId: string, progress: number): Fact => ({
  type: 'TaskProgressed',
  data: { taskId, workspaceId, status: 'IN_PROGRESS', progress },
})

export const settledFact = (task: Task, verdict: Partial<VideoVerdict> = {}): Fact =>
  decideSettlement(task, {
    outcome: 'SUCCESS',
    vendorTaskId: 'vendor-77',
    deduction: '2.5',
    failReason: null,
    vendorCode: null,
    results: [{ id: 'vendor-video', url: 'https://cdn.example/a.mp4?sig=%2Fx', duration: '5.1' }],
    ...verdict,
  })

export const bodyOf = async (response: Response): Promise<Record<string, unknown>> =>
  (await response.json()) as Record<string, unknown>

/** Submits and answers with the task's id. Throws for any other answer. */
export const submitted = async (edge: Pick<VideoEdge, 'post'>, body: object = plainBody): Promise<string> => {
  const response = await edge.post(body, {}, '/v1/video/generations')
  const answer = await bodyOf(response)
  if (response.status !== 200) throw new Error(JSON.stringify(answer))
  return String(answer['id'])
}
