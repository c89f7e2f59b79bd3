import t, { type Test } from 'tap'
import { FaultQueue, readVideoDirectives, type VideoFault } from '../../../sandbox/vv-video/directives.ts'
import { until } from '../ask.ts'
import { type Answered, bearer, control, get, post, textBody, videoSandboxFor } from './ask-video.ts'

t.test('reading', async (t) => {
  t.strictSame(readVideoDirectives('A cat.'), { course: {}, faults: [] })
  t.strictSame(readVideoDirectives('A [[run_ms=5;code=1302; first=2]] cat [[never]][[on=query;hang]]'), {
    course: { run_ms: 5, never: true },
    faults: [
      { code: 1302, first: 2 },
      { on: 'query', hang: true },
    ],
  })
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['[[nonsense]]', /no such directive/],
    ['[[code]]', /takes a whole number/],
    ['[[deduction_number=abc]]', /as JSON writes it/],
    ['[[first=1]]', /needs one of/],
    ['[[fail_message=no]]', /needs one of failed/],
    ['[[never]][[never]]', /given twice/],
    ['[[hang]]'.repeat(17), /more than 16 blocks/],
  ]
  for (const [text, message] of wrong) t.throws(() => readVideoDirectives(text), { message })
})

t.test('faults in their order', async (t) => {
  const seen = (faults: readonly VideoFault[], calls: readonly ('submit' | 'query')[]): readonly (number | null)[] => {
    const queue = new FaultQueue(faults)
    return calls.map((call) => queue.next(call)?.code ?? null)
  }
  const four = ['submit', 'submit', 'submit', 'submit'] as const
  t.strictSame(seen([{ code: 1 }], four), [1, 1, 1, 1])
  t.strictSame(seen([{ code: 1, first: 2 }], four), [1, 1, null, null])
  t.strictSame(
    seen(
      [
        { code: 1, first: 1 },
        { code: 2, first: 1 },
      ],
      four,
    ),
    [1, 2, null, null],
  )
  t.strictSame(seen([{ code: 1, skip: 1, first: 2 }], four), [null, 1, 1, null])
  t.strictSame(seen([{ code: 1, on: 'query' }], ['submit', 'query', 'submit']), [null, 1, null])
  t.strictSame(seen([{ code: 1, on: 'any', first: 2 }], ['submit', 'query', 'query']), [1, 1, null])
})

interface Told {
  readonly submit: (prompt: string) => Promise<Answered>
  readonly query: () => Promise<Answered>
  readonly made: () => number
  readonly pass: (ms: number) => void
}

const told = async (t: Test): Promise<Told> => {
  const { sandbox, clock } = await videoSandboxFor(t)
  return {
    submit: (prompt) => post(sandbox, textBody(prompt, { external_task_id: 'mine' })),
    query: () => get(sandbox, 'text2video/mine'),
    made: () => sandbox.videos.find('mine')?.vendorTaskIds.length ?? 0,
    pass: (ms) => {
      clock.nowMs += ms
    },
  }
}

t.test('a course: times, words, verdicts', async (t) => {
  const cases: readonly (readonly [string, object])[] = [
    ['[[run_ms=0;queue_ms=0]]', { task_status: 'succeed', final_unit_deduction: '3' }],
    ['[[run_ms=0;queue_ms=5]]', { task_status: 'submitted' }],
    ['[[queue_ms=0;run_ms=5]]', { task_status: 'processing' }],
    ['[[queue_ms=0;state=rendering]]', { task_status: 'rendering' }],
    ['[[queue_ms=0;run_ms=0;succeeded]]', { task_status: 'succeeded' }],
    [
      '[[queue_ms=0;run_ms=0;failed;fail_message=Unsafe.]]',
      { task_status: 'failed', task_status_msg: 'Unsafe.', final_unit_deduction: '0', task_result: { videos: [] } },
    ],
    ['[[queue_ms=0;run_ms=0;deduction=4,5]]', { final_unit_deduction: '4,5' }],
    ['[[queue_ms=0;run_ms=0;deduction=99999]]', { final_unit_deduction: '99999' }],
    ['[[queue_ms=0;run_ms=0;no_deduction]]', { final_unit_deduction: undefined }],
    ['[[queue_ms=0;run_ms=0;videos=0]]', { task_result: { videos: [] } }],
  ]
  for (const [prompt, data] of cases) {
    const { submit, query } = await told(t)
    await submit(prompt)
    t.match((await query()).body.data, data, prompt)
  }
  t.match((await (await told(t)).submit('[[queue_ms=1000000000]]')).body, { code: 1200 })
})

t.test('a task that never ends, and one that goes back', async (t) => {
  const { submit, query, pass } = await told(t)
  await submit('[[never]]')
  pass(10 ** 12)
  t.equal((await query()).body.data.task_status, 'processing')
  const back = await told(t)
  await back.submit('[[queue_ms=0;backwards]]')
  const words = [await back.query(), await back.query(), await back.query()].map(({ body }) => body.data.task_status)
  t.strictSame(words, ['processing', 'submitted', 'processing'])
})

t.test('a deduction as a number keeps its digits', async (t) => {
  const { sandbox } = await videoSandboxFor(t)
  await post(
    sandbox,
    textBody('[[queue_ms=0;run_ms=0;deduction_number=4.50000000000000000001]]', { external_task_id: 'mine' }),
  )
  for (const path of ['/mine', '']) {
    const response = await fetch(`${sandbox.url}/videos/text2video${path}`, { headers: { authorization: bearer } })
    t.match(await response.text(), /"final_unit_deduction":4\.50000000000000000001,/)
  }
})

t.test('refusals of a submit: nothing is made until they are over', async (t) => {
  const cases: readonly (readonly [string, number, object])[] = [
    ['[[code=1302;first=1;retry_after=3]]', 429, { code: 1302 }],
    ['[[code=1101;first=1]]', 429, { code: 1101 }],
    ['[[code=1301;first=1;message=Unsafe.]]', 400, { code: 1301, message: 'Unsafe.' }],
    ['[[code=1201;first=1;leak=see]]', 400, { code: 1201, message: /see: API key sandbox, organization org-Sandbox/ }],
    ['[[status=503;first=1]]', 503, { code: 5001 }],
    ['[[status=500;code=5002;first=1]]', 500, { code: 5002 }],
    ['[[empty;first=1]]', 200, { code: 0, data: null }],
  ]
  for (const [prompt, status, body] of cases) {
    const { submit, made } = await told(t)
    const first = await submit(prompt)
    t.match([first.status, first.body], [status, body], prompt)
    t.equal(made(), 0)
    t.equal((await submit(prompt)).status, 200)
    t.equal(made(), 1)
  }
  t.equal((await (await told(t)).submit('[[code=1302;retry_after=3]]')).headers.get('retry-after'), '3')
})

t.test('lost answers: the task is made, and nobody is told', async (t) => {
  const lost = ['[[status=500;done;first=1]]', '[[break;done;first=1]]', '[[break_body;first=1]]']
  for (const prompt of lost) {
    const { submit, made, query } = await told(t)
    await submit(prompt).then(
      ({ status }) => t.equal(status, 500),
      () => t.pass('it broke'),
    )
    t.equal(made(), 1, prompt)
    t.equal((await submit(prompt)).body.code, 1201)
    t.equal((await query()).body.data.task_info.external_task_id, 'mine')
  }
  const { submit, made } = await told(t)
  await t.rejects(submit('[[break;first=1]]'))
  t.equal(made(), 0)
})

t.test('silence, with and without the task', async (t) => {
  for (const [directives, made] of [
    ['hang', 0],
    ['hang;done', 1],
  ] as const) {
    const { sandbox } = await videoSandboxFor(t)
    const gone = AbortSignal.timeout(100)
    const body = JSON.stringify(textBody(`[[${directives}]]`, { external_task_id: 'mine' }))
    const headers = { authorization: bearer }
    await t.rejects(fetch(`${sandbox.url}/videos/text2video`, { method: 'POST', headers, body, signal: gone }))
    t.equal(sandbox.videos.totals().made, made)
    await until(() => sandbox.calls().at(-1)?.outcome === 'cancelled')
  }
})

t.test('queries: faults, pages, other tasks', async (t) => {
  const { sandbox } = await videoSandboxFor(t)
  const made = await post(
    sandbox,
    textBody('[[on=query;code=1303;first=1]][[on=query;html;first=1]][[on=query;other_task;first=1]]', {
      external_task_id: 'mine',
    }),
  )
  t.match((await get(sandbox, 'text2video/mine')).body, { code: 1303 })
  await t.rejects(get(sandbox, 'text2video/mine'))
  const other = await get(sandbox, 'text2video/mine')
  t.equal(other.body.data.task_info.external_task_id, 'enim')
  t.not(other.body.data.task_id, made.body.data.task_id)
  t.equal((await get(sandbox, 'text2video/mine')).body.data.task_id, made.body.data.task_id)
})

t.test('bodies that come slowly, or do not end', async (t) => {
  const { sandbox } = await videoSandboxFor(t)
  t.match((await post(sandbox, textBody('[[trickle_ms=0]]'))).body, { code: 0 })
  const headers = { authorization: bearer }
  const body = JSON.stringify(textBody('[[oversize_bytes=1000000]]'))
  const response = await fetch(`${sandbox.url}/videos/text2video`, { method: 'POST', headers, body })
  const text = await response.text()
  t.ok(text.length > 1_000_000)
  t.match(JSON.parse(text), { code: 0 })
})

t.test('from outside: for every task, for one, and over HTTP', async (t) => {
  const { sandbox, clock } = await videoSandboxFor(t)
  const submit = (external_task_id: string, prompt = 'A cat.') => post(sandbox, textBody(prompt, { external_task_id }))
  await control(sandbox, '/directives', '[[queue_ms=0;run_ms=10]][[code=1302;first=1]]')
  t.equal((await submit('a')).body.code, 1302)
  await submit('a')
  await submit('b', '[[run_ms=20]]')
  clock.nowMs += 10
  const words = async () => (await control(sandbox, '')).body.map(({ status }: { status: string }) => status)
  t.strictSame(await words(), ['succeed', 'processing'])
  t.equal((await control(sandbox, '/b/end', '[[failed]]')).status, 200)
  t.strictSame(await words(), ['succeed', 'failed'])
  t.match((await get(sandbox, 'text2video/b')).body.data, { task_status: 'failed', updated_at: clock.nowMs })
  t.match((await control(sandbox, '/a')).body, { submits: 2, units: '3', vendorTaskIds: [/^\d+$/] })
  t.match((await control(sandbox, '/totals')).body, { submits: 3, made: 2, open: 0 })
  t.equal((await control(sandbox, '/none')).status, 404)
  t.equal((await control(sandbox, '/none/end', '')).status, 404)
  t.match((await control(sandbox, '/directives', '[[nonsense]]')).body, { error: { message: /no such directive/ } })
  await control(sandbox, '/directives', '')
  await submit('c')
  t.equal((await get(sandbox, 'text2video/c')).body.data.task_status, 'submitted')
})
