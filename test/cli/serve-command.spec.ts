import t from 'tap'
import { noRestarts, noteEnd, restartDelayMs } from '../../src/cli/restart-delay.ts'
import { countWorkers, parseRoles, parseWorkers } from '../../src/cli/serve-command.ts'
import { temporaryFolder } from '../support/gateway.ts'
import { runProgram } from '../support/program.ts'

t.test('roles that may share a process', async (t) => {
  t.equal(parseRoles('edge'), 'edge')
  t.equal(parseRoles('edge,proxy'), 'worker')
  t.equal(parseRoles('proxy, edge'), 'worker')
  t.equal(parseRoles('projector,scheduler,video-poller'), 'background')
  for (const text of ['', 'edge,', 'edge,edge', 'edge,scheduler', 'worker', 'edge,proxy,scheduler'])
    t.throws(() => parseRoles(text), { message: /together in one process edge,proxy or projector,scheduler/ }, text)
})

t.test('a number of workers', async (t) => {
  t.equal(parseWorkers('auto'), 'auto')
  t.equal(parseWorkers('64'), 64)
  for (const text of ['0', '65', '-1', '1.5', 'many', ''])
    t.throws(() => parseWorkers(text), { message: /from 1 to 64, or auto/ }, text)
  t.same(
    [1, 2, 3, 4].map((cores) => countWorkers('auto', cores)),
    [null, null, 2, 3],
    'one core is left for what runs behind them',
  )
  t.same(
    [null, 1, 2].map((workers) => countWorkers(workers, 4)),
    [null, 1, 2],
  )
})

t.test('a process that ends is replaced at once, and later where it ends again and again', async (t) => {
  let history = noRestarts
  const delays = Array.from({ length: 10 }, () => {
    history = noteEnd(history, 100)
    return restartDelayMs(history)
  })
  t.same(delays, [0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  t.equal(restartDelayMs(noteEnd(history, 60_000)), 0, 'one that had worked for a while')
})

t.test('workers of one role', async (t) => {
  const folder = await temporaryFolder(t)
  const ended = await runProgram(folder, folder, 'serve', '--workers', '2', '--role', 'edge')
  t.match(ended, { code: 2, err: /--workers is of the whole gateway: leave out --role/ })
})
