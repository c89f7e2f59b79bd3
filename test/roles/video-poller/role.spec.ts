import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { logUnavailable } from '../../../src/errors/gateway-error.ts'
import { genericTask, nativeTask } from '../../../src/roles/task-views.ts'
import { videoPoller } from '../../../src/roles/video-poller/role.ts'
import { until } from '../../support/clients.ts'
import { busy, busyWithThis, success, unknown } from './scripted-vendor.ts'
import { isDone, isEndedIn, prompt, startProcess, World, workspaceId } from './world.ts'

t.test('the manifest', async (t) => {
  t.strictSame(
    [videoPoller.name, videoPoller.emits],
    ['video-poller', ['TaskSubmitted', 'TaskProgressed', 'TaskSettled', 'LateVerdictSeen', 'CallbackFailed']],
  )
})

t.test('a task from its order to its callback', async (t) => {
  const world = new World()
  await startProcess(t, world)
  await world.order()
  await until(isDone(world))
  t.same(world.said(), ['TaskSubmitted', 'TaskProgressed IN_PROGRESS 30', 'TaskSettled'])
  t.match(world.task(), {
    status: 'SUCCESS',
    vendorTaskId: 'vendor-1',
    deduction: '3',
    total: '0.42',
    source: 'reported',
  })
  t.same(world.wallet(), { balance: '99.58', held: '0' })
  t.equal(world.vendor.made, 1)
  t.equal(world.vendor.count('find'), 0, 'nothing was in doubt')
  const [callback] = world.callbacks.puts
  t.match(callback, { id: 'task_1' })
  const { url, workspaceId, body } = JSON.parse(callback!.text)
  t.match({ url, workspaceId }, { url: 'https://caller.example/hook', workspaceId: 'acme' })
  t.same(JSON.parse(body), genericTask(world.task()!))
  const told = JSON.stringify([world.log.frames, world.lines, world.callbacks.puts])
  t.notOk(told.includes(prompt), 'the prompt stays in the payload')
})

t.test('a callback of the native surface has its shape', async (t) => {
  const world = new World()
  await startProcess(t, world)
  await world.order({ surface: 'native-video' })
  await until(isDone(world))
  t.same(JSON.parse(JSON.parse(world.callbacks.puts[0]!.text).body), nativeTask(world.task()!))
})

t.test('nobody is called back who did not ask, or where callbacks are off', async (t) => {
  for (const [callbackUrl, webhooks] of [
    [null, undefined],
    ['https://caller.example/hook', null],
  ] as const) {
    const world = new World()
    await startProcess(t, world, webhooks === undefined ? {} : { webhooks })
    await world.order({ callbackUrl })
    await until(isDone(world))
    t.same(world.callbacks.puts, [])
    t.equal(world.task()?.status, 'SUCCESS')
  }
})

t.test('an item that comes before its hold waits for it', async (t) => {
  const world = new World()
  await startProcess(t, world, { bounds: { taskHoldWaitMs: 60_000 } })
  await world.tasks.put('task_1', world.payload())
  t.same(world.vendor.calls, [])
  await world.hold()
  await until(isDone(world))
  t.equal(world.task()?.status, 'SUCCESS')
})

t.test('a payload whose hold never comes is dropped, and nothing is submitted', async (t) => {
  const world = new World()
  const asked: string[] = []
  await startProcess(t, world, {
    find: async (_workspace, taskId) => {
      asked.push(taskId)
      return null
    },
  })
  await world.tasks.put('task_1', world.payload())
  await until(isDone(world))
  t.same([world.vendor.calls, world.said()], [[], []])
  t.same(asked, ['task_1'])
  t.equal(world.logged('video.unheld_request_dropped'), 1)
})

t.test('a payload is not dropped while nobody can tell whether its task ended', async (t) => {
  const world = new World()
  let asked = 0
  await startProcess(t, world, {
    bounds: { taskHoldWaitMs: 5 },
    find: async () => {
      asked += 1
      if (asked < 4) throw new Error('the tables are away')
      return null
    },
  })
  await world.tasks.put('task_1', world.payload())
  await until(isDone(world))
  t.equal(asked, 4)
})

t.test('a payload that is gone, or another than was ordered, fails the task, and is told of', async (t) => {
  for (const tampered of [null, Buffer.from('{"taskId":"task_1","body":{}}')]) {
    const world = new World()
    await world.order()
    world.tasks.entries.get('task_1')!.bytes = tampered
    await startProcess(t, world)
    await until(isDone(world))
    t.match(world.task(), { status: 'FAILURE', failReason: /lost the request/, total: '0', vendorTaskId: null })
    t.same(world.wallet(), { balance: '100', held: '0' })
    t.same(world.vendor.calls, [])
    t.equal(world.lines.filter(({ level }) => level === 'error').length > 0, true)
  }
})

t.test('a submit whose answer was lost is looked up, and never made twice', async (t) => {
  const world = new World()
  world.vendor.onSubmit = (_payload, call) => (call === 1 ? 'lost' : null)
  await startProcess(t, world)
  await world.order()
  await until(isDone(world))
  t.same(world.vendor.calls.slice(0, 3), ['submit', 'find', 'query'])
  t.equal(world.vendor.made, 1)
  t.equal(world.task()?.status, 'SUCCESS')
})

t.test('a lost submit is not looked up before the vendor has given it up', async (t) => {
  const world = new World()
  const atMs: number[] = []
  world.vendor.onSubmit = () => {
    atMs.push(performance.now())
    return atMs.length === 1 ? unknown : null
  }
  world.vendor.onFind = () => {
    atMs.push(performance.now())
    return null
  }
  await startProcess(t, world, { bounds: { taskDoubtMs: 80 } })
  await world.order()
  await until(isDone(world))
  t.same(world.vendor.calls.slice(0, 3), ['submit', 'find', 'submit'])
  t.ok(atMs[1]! - atMs[0]! >= 79, 'the look-up waits')
})

t.test('a call that breaks down may have arrived', async (t) => {
  const world = new World()
  world.vendor.onSubmit = (payload, call) => {
    if (call > 1) return null
    world.vendor.make(payload.taskId)
    throw new Error('a fault of ours')
  }
  await startProcess(t, world)
  await world.order()
  await until(isDone(world))
  t.same(world.vendor.calls.slice(0, 2), ['submit', 'find'])
  t.equal(world.vendor.made, 1)
})

t.test('what a look-up finds to have ended is settled at once', async (t) => {
  const world = new World()
  world.vendor.onSubmit = () => 'lost'
  world.vendor.onFind = () => ({ type: 'ended', verdict: success('vendor-1') })
  await startProcess(t, world)
  await world.order()
  await until(isDone(world))
  t.same(world.said(), ['TaskSettled'])
  t.match(world.task(), { status: 'SUCCESS', vendorTaskId: 'vendor-1' })
})

t.test('a refusal is believed once the vendor does not know the task', async (t) => {
  const world = new World()
  world.vendor.onSubmit = () => ({ type: 'refused', message: 'The prompt is against the rules.', code: 1301 })
  await startProcess(t, world)
  await world.order()
  await until(isDone(world))
  t.same(world.vendor.calls, ['submit', 'find'])
  t.same(world.said(), ['TaskSettled'])
  t.match(world.task(), {
    status: 'FAILURE',
    failReason: 'The prompt is against the rules.',
    vendorCode: 1301,
    total: '0',
    results: [],
  })
  t.same(world.wallet(), { balance: '100', held: '0' })
  t.equal(world.callbacks.puts.length, 1)
})

t.test('a refusal is doubted while another process may have submitted the task', async (t) => {
  const world = new World()
  const atMs: number[] = []
  world.tasks.mayShare = true
  world.vendor.onSubmit = () => {
    atMs.push(performance.now())
    return { type: 'refused', message: 'invalid parameter', code: 1201 }
  }
  world.vendor.onFind = (taskId) => {
    atMs.push(performance.now())
    world.vendor.make(taskId)
    return null
  }
  await startProcess(t, world, { bounds: { taskDoubtMs: 80 } })
  await world.order()
  await until(isDone(world))
  t.same(world.vendor.calls.slice(0, 2), ['submit', 'find'])
  t.ok(atMs[1]! - atMs[0]! >= 79, 'the other submit has arrived by then')
  t.match(world.task(), { status: 'SUCCESS', vendorTaskId: 'vendor-1' })
})

t.test('of two submits at one time one is refused, and the other is taken: its verdict is recorded', async (t) => {
  const world = new World()
  const taken = Promise.withResolvers<void>()
  await startProcess(t, world, {
    beforeAppend: async ([fact]) => {
      if (fact?.type === 'TaskSubmitted') await taken.promise
    },
  })
  await world.order()
  await until(() => world.vendor.made === 1)
  await world.refuse()
  taken.resolve()
  await until(isDone(world))
  t.same(world.said(), ['TaskSettled', 'TaskSubmitted', 'LateVerdictSeen'])
  t.match(world.task(), { status: 'FAILURE', total: '0' })
  t.same(world.wallet(), { balance: '100', held: '0' })
})

t.test('a refusal that is recorded when another process may have submitted the task: it is looked for', async (t) => {
  for (const isShared of [true, false]) {
    const world = new World()
    world.vendor.onSubmit = () => ({ type: 'refused', message: 'no', code: 1301 })
    await startProcess(t, world, {
      beforeAppend: async ([fact]) => {
        if (fact?.type === 'TaskSettled') world.tasks.mayShare = isShared
      },
    })
    await world.order()
    await until(isEndedIn(world))
    if (isShared) world.vendor.make('task_1')
    await until(isDone(world))
    t.same(world.said(), isShared ? ['TaskSettled', 'LateVerdictSeen'] : ['TaskSettled'])
    t.equal(world.vendor.count('find'), isShared ? 2 : 1)
    t.match(world.task(), { status: 'FAILURE', total: '0' })
    t.equal(world.callbacks.puts.length, 1)
  }
})

t.test(
  'of two processes that were refused the second does not end the search for what a third submitted',
  async (t) => {
    const world = new World()
    world.tasks.mayShare = true
    world.vendor.onSubmit = () => ({ type: 'refused', message: 'no', code: 1301 })
    await startProcess(t, world, { bounds: { taskDoubtMs: 60 } })
    await world.order()
    await until(isEndedIn(world))
    world.vendor.make('task_1')
    await world.refuse()
    await until(isDone(world))
    t.same(world.said(), ['TaskSettled', 'TaskSettled', 'LateVerdictSeen'])
  },
)

t.test('what another process has ended is not submitted, though it is open in the ledger of this one', async (t) => {
  const world = new World()
  world.tasks.mayShare = true
  const payload = world.payload()
  const { tail } = await startProcess(t, world)
  await world.hold()
  await until(() => tail.ledger.tasks.has('task_1'))
  world.log.deliver(false)
  await world.refuse()
  const lastSequence = world.log.lastSequence.bind(world.log)
  world.log.lastSequence = () => {
    world.log.deliver(true)
    return lastSequence()
  }
  await world.tasks.put('task_1', payload)
  await until(isDone(world))
  t.equal(world.vendor.count('submit'), 0)
})

t.test('a refusal that waits for the log gives way to what another process has submitted', async (t) => {
  const rows = [
    { isRecorded: true, isKnown: true },
    { isRecorded: true, isKnown: false },
    { isRecorded: false, isKnown: true },
  ]
  for (const { isRecorded, isKnown } of rows) {
    const world = new World()
    const other = { vendorTaskId: '' }
    const reachLog = async (): Promise<void> => {
      if (other.vendorTaskId !== '') return
      world.tasks.mayShare = isKnown
      other.vendorTaskId = world.vendor.make('task_1')
      const data = { taskId: 'task_1', workspaceId, ...other }
      if (isRecorded) await world.log.append([{ type: 'TaskSubmitted', data }])
      world.log.deliver(true)
    }
    const lastSequence = world.log.lastSequence.bind(world.log)
    world.log.lastSequence = () => reachLog().then(lastSequence)
    world.vendor.onSubmit = () => ({ type: 'refused', message: 'no', code: 1301 })
    world.vendor.onFind = (_taskId, call) => {
      if (call === 1) world.log.deliver(false)
      return null
    }
    await startProcess(t, world, { bounds: { taskDoubtMs: 60 }, beforeAppend: reachLog })
    await world.order()
    await until(isDone(world))
    t.match(world.task(), { status: 'SUCCESS', ...other })
    t.equal(world.events('TaskSettled').length, 1)
    t.same(world.wallet(), { balance: '99.58', held: '0' })
  }
})

t.test('a refused duplicate is the task itself', async (t) => {
  const world = new World()
  await world.order()
  world.vendor.make('task_1')
  await startProcess(t, world)
  await until(isDone(world))
  t.same(world.vendor.calls.slice(0, 3), ['submit', 'find', 'query'])
  t.equal(world.vendor.made, 1)
  t.equal(world.task()?.status, 'SUCCESS')
})

t.test('a busy vendor is asked again', async (t) => {
  const world = new World()
  world.vendor.onSubmit = (_payload, call) => (call < 4 ? busy : null)
  world.vendor.onFind = () => busy
  await startProcess(t, world)
  await world.order()
  await until(isDone(world))
  t.equal(world.vendor.count('submit'), 4)
  t.equal(world.vendor.count('find'), 0, 'nothing was done, so nothing is in doubt')
  t.equal(world.logged('video.vendor_failed'), 1, 'logged once')
})

t.test('a request that the vendor puts off again and again holds up no other', async (t) => {
  const world = new World()
  const bad = Array.from({ length: 60 }, (_, n) => `bad_${n}`)
  const good = Array.from({ length: 20 }, (_, n) => `good_${n}`)
  const tries = new Map<string, number>()
  world.vendor.onSubmit = ({ taskId }) => {
    tries.set(taskId, (tries.get(taskId) ?? 0) + 1)
    return taskId.startsWith('bad') ? busyWithThis : null
  }
  await startProcess(t, world, { bounds: { taskRetryMs: 60_000, taskRetryMaxMs: 60_000 } })
  for (const taskId of bad) await world.order({ taskId })
  await until(() => tries.size === bad.length)
  for (const taskId of good) await world.order({ taskId })
  await until(() => good.every((taskId) => isDone(world, taskId)()))
  for (const taskId of good) t.equal(world.task(taskId)?.status, 'SUCCESS')
  for (const taskId of bad)
    t.match([world.task(taskId)?.status, tries.get(taskId)], ['QUEUED', 1], 'it backs off alone')
  t.equal(world.vendor.count('find'), 0, 'nothing was done, so nothing is in doubt')
})

t.test('a request that was put off is made once the vendor takes it', async (t) => {
  const world = new World()
  world.vendor.onSubmit = (_payload, call) => (call < 4 ? busyWithThis : null)
  await startProcess(t, world)
  await world.order()
  await until(isDone(world))
  t.same(world.vendor.calls.slice(0, 4), ['submit', 'submit', 'submit', 'submit'])
  t.equal(world.task()?.status, 'SUCCESS')
})

t.test('an account without room holds every submit', async (t) => {
  const world = new World()
  world.vendor.onSubmit = () => busy
  await startProcess(t, world, { bounds: { taskRetryMs: 60_000, taskRetryMaxMs: 60_000, vendorSubmitsMax: 2 } })
  await world.order({ taskId: 'first' })
  await until(() => world.vendor.count('submit') === 1)
  for (let n = 0; n < 20; n += 1) await world.order({ taskId: `next_${n}` })
  await delay(100)
  t.equal(world.vendor.count('submit'), 1)
})

t.test('a vendor that stays busy ends at the deadline, with no charge and nothing left to do', async (t) => {
  const world = new World()
  world.vendor.onSubmit = () => busy
  await startProcess(t, world)
  await world.order()
  await until(() => world.vendor.count('submit') >= 3)
  await world.expire()
  await until(isDone(world))
  t.match(world.task(), { status: 'FAILURE', failReason: /deadline/, total: '0' })
  t.same(world.said(), [])
  t.equal(world.callbacks.puts.length, 1)
  t.same(world.wallet(), { balance: '100', held: '0' })
})

t.test('no account for the provider: the task waits for its deadline', async (t) => {
  const world = new World()
  await startProcess(t, world)
  await world.order({ provider: 'elsewhere' })
  await until(() => world.logged('video.vendor_failed') > 0)
  await world.expire()
  await until(() => world.task()?.status === 'FAILURE') // The vendor may be configured again: its item stays.
  t.same([world.vendor.calls, world.said()], [[], []])
})

t.test('a word that nobody knows changes nothing', async (t) => {
  const world = new World()
  world.vendor.onQuery = (vendorTaskId, poll) => {
    if (poll === 1) return { type: 'open', vendorTaskId, status: 'IN_PROGRESS' }
    return poll < 5 ? { type: 'open', vendorTaskId, status: null } : { type: 'ended', verdict: success(vendorTaskId) }
  }
  await startProcess(t, world)
  await world.order()
  await until(isDone(world))
  t.same(world.said(), ['TaskSubmitted', 'TaskProgressed IN_PROGRESS 30', 'TaskSettled'])
})

t.test('a success without a figure costs what was held, and says so', async (t) => {
  for (const deduction of [null, 'three']) {
    const world = new World()
    world.vendor.onQuery = (vendorTaskId) => ({ type: 'ended', verdict: success(vendorTaskId, deduction) })
    await startProcess(t, world)
    await world.order()
    await until(isDone(world))
    t.match(world.task(), { status: 'SUCCESS', source: 'estimated', total: '0.56' })
  }
})

t.test('a success without a result is charged, and told of', async (t) => {
  const world = new World()
  world.vendor.onQuery = (vendorTaskId) => ({ type: 'ended', verdict: { ...success(vendorTaskId), results: [] } })
  await startProcess(t, world)
  await world.order()
  await until(isDone(world))
  t.match(world.task(), { status: 'SUCCESS', total: '0.42', results: [] })
  t.match(
    world.lines.filter(({ event }) => event === 'video.results_missing'),
    [{ level: 'warn', fields: { taskId: 'task_1' } }],
  )
})

t.test('a verdict that breaks its schema is recorded with its outcome and its figure', async (t) => {
  const world = new World()
  world.vendor.onQuery = (vendorTaskId) => ({
    type: 'ended',
    verdict: { ...success(vendorTaskId), results: [{ id: 'x'.repeat(300), url: 'https://cdn.example/v1.mp4' }] },
  })
  await startProcess(t, world)
  await world.order()
  await until(isDone(world))
  t.match(world.task(), { status: 'SUCCESS', source: 'reported', total: '0.42', results: [] })
  t.equal(world.logged('video.verdict_invalid'), 1)
})

t.test('a task that the vendor has forgotten is asked for until it is remembered', async (t) => {
  const world = new World()
  world.vendor.onQuery = (vendorTaskId, poll) =>
    poll < 20 ? { type: 'not_found' } : { type: 'ended', verdict: success(vendorTaskId) }
  await startProcess(t, world)
  await world.order()
  await until(isDone(world))
  t.equal(world.task()?.status, 'SUCCESS')
  t.equal(world.logged('video.task_unknown_to_vendor'), 1)
})

t.test('vendor trouble between polls delays the verdict and nothing else', async (t) => {
  const world = new World()
  world.vendor.onQuery = (vendorTaskId, poll) => {
    if (poll === 3) throw new Error('a fault of ours')
    return poll < 5 ? (poll % 2 === 0 ? busy : unknown) : { type: 'ended', verdict: success(vendorTaskId) }
  }
  await startProcess(t, world)
  await world.order()
  await until(isDone(world))
  t.same(world.said(), ['TaskSubmitted', 'TaskSettled'])
})

t.test('a verdict after the deadline is told once and charged to nobody', async (t) => {
  const world = new World()
  let isOut = false
  world.vendor.onQuery = (vendorTaskId) =>
    isOut ? { type: 'ended', verdict: success(vendorTaskId) } : { type: 'open', vendorTaskId, status: 'IN_PROGRESS' }
  await startProcess(t, world)
  await world.order()
  await until(() => world.vendor.count('query') > 2)
  await world.expire()
  await until(() => world.callbacks.puts.length === 1)
  t.match(JSON.parse(JSON.parse(world.callbacks.puts[0]!.text).body), { status: 'FAILURE', fail_reason: /deadline/ })
  const queries = world.vendor.count('query')
  await until(() => world.vendor.count('query') > queries + 2)
  t.notOk(isDone(world)(), 'the vendor’s word is still waited for')
  isOut = true
  await until(isDone(world))
  t.match(world.events('LateVerdictSeen'), [
    { taskId: 'task_1', vendorTaskId: 'vendor-1', outcome: 'SUCCESS', deduction: '3', cost: '0.42' },
  ])
  t.equal(world.events('LateVerdictSeen').length, 1)
  t.equal(world.events('TaskSettled').length, 0)
  t.equal(world.callbacks.puts.length, 1)
  t.same(world.wallet(), { balance: '100', held: '0' })
})

t.test('the wait for a late verdict ends', async (t) => {
  const world = new World()
  world.vendor.onQuery = (vendorTaskId) => ({ type: 'open', vendorTaskId, status: 'IN_PROGRESS' })
  await startProcess(t, world, { bounds: { lateVerdictWindowMs: 60 } })
  await world.order()
  await until(() => world.vendor.count('query') > 2)
  await world.expire()
  await until(isDone(world))
  t.equal(world.events('LateVerdictSeen').length, 0)
})

t.test('a verdict that comes between the last poll and the end of the wait is recorded', async (t) => {
  const world = new World()
  let expiredMs = Number.POSITIVE_INFINITY
  world.vendor.onQuery = (vendorTaskId) =>
    performance.now() < expiredMs + 50
      ? { type: 'open', vendorTaskId, status: 'IN_PROGRESS' }
      : { type: 'ended', verdict: success(vendorTaskId) }
  await startProcess(t, world, { bounds: { lateVerdictWindowMs: 100, latePollMs: 200, latePollMaxMs: 200 } })
  await world.order()
  await until(() => world.vendor.count('query') > 2)
  await world.expire()
  expiredMs = performance.now()
  await until(isDone(world))
  t.equal(world.events('LateVerdictSeen').length, 1)
})

t.test('a deadline that comes between a lost submit and its look-up: the verdict is still looked for', async (t) => {
  const world = new World()
  world.vendor.onSubmit = () => 'lost'
  await startProcess(t, world, { bounds: { taskDoubtMs: 60 } })
  await world.order()
  await until(() => world.vendor.made === 1)
  await world.expire()
  await until(isDone(world))
  t.same(world.said(), ['LateVerdictSeen'])
})

t.test('a settlement that comes second is the late verdict', async (t) => {
  const world = new World()
  await startProcess(t, world, {
    beforeAppend: async ([fact]) => {
      if (fact?.type === 'TaskSettled') await world.expire()
    },
  })
  await world.order()
  await until(isDone(world))
  t.same(world.said(), ['TaskSubmitted', 'TaskProgressed IN_PROGRESS 30', 'TaskSettled'])
  t.match(world.task(), { status: 'FAILURE', total: '0' })
  t.match(JSON.parse(JSON.parse(world.callbacks.puts[0]!.text).body), { status: 'FAILURE' })
  t.same(world.wallet(), { balance: '100', held: '0' })
})

t.test('nothing is done before its event is acknowledged', async (t) => {
  const world = new World()
  const gate = Promise.withResolvers<void>()
  let waits = false
  await startProcess(t, world, {
    beforeAppend: async ([fact]) => {
      if (fact?.type !== 'TaskSettled') return
      waits = true
      await gate.promise
    },
  })
  await world.order()
  await until(() => waits)
  t.same([world.tasks.done, world.callbacks.puts], [[], []])
  gate.resolve()
  await until(isDone(world))
})

t.test('what the log does not take is said again', async (t) => {
  const world = new World()
  const refused = new Map<string, number>()
  await startProcess(t, world, {
    beforeAppend: async ([fact]) => {
      const count = refused.get(fact!.type) ?? 0
      refused.set(fact!.type, count + 1)
      if (count < 2) throw logUnavailable()
    },
  })
  await world.order()
  await until(isDone(world))
  t.equal(world.events('TaskSubmitted').length, 1)
  t.equal(world.events('TaskSettled').length, 1)
  t.equal(world.vendor.made, 1)
})

t.test('a task that ended before this process began is called back, and done', async (t) => {
  const world = new World()
  await world.order()
  await world.log.append([
    {
      type: 'TaskSettled',
      data: {
        taskId: 'task_1',
        workspaceId: 'acme',
        outcome: 'FAILURE',
        vendorTaskId: 'vendor-1',
        failReason: 'no',
        source: 'reported',
        priceVersion: 'prices-1',
        lines: [],
        total: '0',
        held: '0.56',
        results: [],
      },
    },
  ])
  world.tasks.entries.get('task_1')!.deliveries = 1
  await startProcess(t, world, { bounds: { taskHoldWaitMs: 60_000 } })
  await until(isDone(world))
  t.match(JSON.parse(JSON.parse(world.callbacks.puts[0]!.text).body), { status: 'FAILURE', fail_reason: 'no' })
  t.same(world.vendor.calls, [])
})

t.test('a task whose hold ended before this process began: its late verdict is looked for', async (t) => {
  for (const wasRecorded of [true, false]) {
    const world = new World()
    await world.order()
    const vendorTaskId = world.vendor.make('task_1')
    if (wasRecorded)
      await world.log.append([{ type: 'TaskSubmitted', data: { taskId: 'task_1', workspaceId: 'acme', vendorTaskId } }])
    await world.expire()
    world.tasks.entries.get('task_1')!.deliveries = 1
    await startProcess(t, world)
    await until(isDone(world))
    t.equal(world.callbacks.puts.length, 1)
    t.equal(world.events('LateVerdictSeen').length, 1)
    t.equal(world.vendor.made, 1)
  }
})

t.test('a poller that stops gives back what it has, and records what was under way', async (t) => {
  const world = new World()
  const answer = Promise.withResolvers<null>()
  world.vendor.onSubmit = (payload) => (payload.taskId === 'task_1' ? answer.promise : busy)
  const first = await startProcess(t, world)
  await world.order()
  await world.order({ taskId: 'task_2' })
  await until(() => world.vendor.count('submit') >= 2)
  const stopped = first.stop()
  await until(() => world.tasks.again.length === 2)
  t.same(new Set(world.tasks.again.map(({ id, delayMs }) => `${id} ${delayMs}`)), new Set(['task_1 0', 'task_2 0']))
  answer.resolve(null)
  await stopped
  t.same(world.said(), ['TaskSubmitted'])
  world.vendor.onSubmit = () => null
  await startProcess(t, world)
  await until(isDone(world))
  await until(isDone(world, 'task_2'))
  t.equal(world.vendor.made, 2)
  t.equal(world.events('TaskSettled').length, 2)
})

t.test('a poller that stops does not wait for a vendor for ever', async (t) => {
  const world = new World()
  world.vendor.onSubmit = () => new Promise(() => {})
  const first = await startProcess(t, world, { bounds: { stopMs: 20, lastAnswerMs: 20 } })
  await world.order()
  await until(() => world.vendor.count('submit') === 1)
  await first.stop()
  t.same(world.said(), [])
})

t.test('leases are renewed while tasks wait', async (t) => {
  const world = new World()
  world.vendor.onSubmit = () => busy
  await startProcess(t, world, { bounds: { queueRenewMs: 20 } })
  await world.order()
  await until(() => world.tasks.renewals > 3)
  await world.expire()
  await until(isDone(world))
})

t.test('a poller paused past its lease, and woken: one vendor task, one settlement', async (t) => {
  const world = new World()
  const answer = Promise.withResolvers<null>()
  let skippedMs = 0
  world.vendor.onSubmit = (_payload, call) => (call === 1 ? answer.promise : null)
  await startProcess(t, world, { steadyMs: () => performance.now() + skippedMs })
  await world.order()
  await until(() => world.vendor.count('submit') === 1)
  // Its submit is on its way; the lease ends, and another takes over.
  await startProcess(t, world)
  world.tasks.expire('task_1')
  await until(() => world.vendor.made === 1)
  skippedMs = 60_000
  answer.resolve(null)
  await until(isEndedIn(world))
  await until(isDone(world))
  t.equal(world.vendor.made, 1)
  t.equal(world.ends(), 1)
  t.match(world.task(), { status: 'SUCCESS', total: '0.42' })
  t.same(world.wallet(), { balance: '99.58', held: '0' })
})

t.test('a poller that notices its pause looks up before it submits', async (t) => {
  const world = new World()
  let skippedMs = 0
  world.vendor.onSubmit = (_payload, call) => {
    if (call > 1) return null
    skippedMs = 60_000
    return busy
  }
  await startProcess(t, world, { steadyMs: () => performance.now() + skippedMs })
  await world.order()
  await until(isDone(world))
  t.same(world.vendor.calls.slice(0, 3), ['submit', 'find', 'submit'])
  t.equal(world.logged('video.poller_paused'), 1)
})

t.test('what a look-up told before a pause does not count after it', async (t) => {
  const world = new World()
  let skippedMs = 0
  world.vendor.onSubmit = (_payload, call) => (call === 1 ? unknown : null)
  world.vendor.onFind = async (_taskId, call) => {
    if (call > 1) return null
    skippedMs = 60_000
    await until(() => world.logged('video.poller_paused') === 1)
    return { type: 'not_found' }
  }
  await startProcess(t, world, { steadyMs: () => performance.now() + skippedMs })
  await world.order()
  await until(isDone(world))
  t.same(world.vendor.calls.slice(0, 4), ['submit', 'find', 'find', 'submit'])
})

t.test(
  'a poller cut off from the queue for longer than its lease submits nothing, and looks up before it does',
  async (t) => {
    const world = new World()
    world.vendor.onSubmit = (_payload, call) => (call === 1 ? busy : null)
    world.tasks.isUp = false
    await startProcess(t, world, {
      bounds: { queueLeaseMs: 100, queueRenewMs: 20, taskDoubtMs: 1_000, taskRetryMs: 600, taskRetryMaxMs: 600 },
    })
    await world.order()
    await until(() => world.vendor.count('submit') === 1)
    await delay(1_500)
    t.same(world.vendor.calls, ['submit'], 'somebody else may have it')
    world.tasks.isUp = true
    await until(isDone(world))
    t.same(world.vendor.calls.slice(0, 3), ['submit', 'find', 'submit'])
  },
)

t.test('an item that the queue hands to its holder again is looked up before it is submitted', async (t) => {
  const world = new World()
  world.vendor.onSubmit = () => (world.vendor.count('find') === 0 ? busy : null)
  await startProcess(t, world)
  await world.order()
  await until(() => world.vendor.count('submit') > 0)
  world.tasks.entries.get('task_1')!.deliveries += 1
  await until(isDone(world))
  t.same([world.vendor.made, world.vendor.count('find')], [1, 1])
})

t.test('an item that comes again to the process that has it goes on with its run', async (t) => {
  const world = new World()
  world.vendor.onSubmit = () => (world.vendor.count('find') === 0 ? busy : null)
  await startProcess(t, world)
  await world.order()
  await until(() => world.vendor.count('submit') > 0)
  world.tasks.expire('task_1')
  await until(isDone(world))
  t.equal(world.vendor.made, 1)
  t.equal(world.vendor.count('find'), 1, 'somebody else may have had it')
  t.equal(world.task()?.status, 'SUCCESS')
})
