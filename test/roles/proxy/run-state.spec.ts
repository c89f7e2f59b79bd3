import t from 'tap'
import { GatewayError } from '../../../src/errors/gateway-error.ts'
import { beginRun, nextRunState, type RunEvent, type RunState } from '../../../src/roles/proxy/run-state.ts'

const unasked = beginRun(true)
const asking: RunState = { ...unasked, upstreamCalled: true }
const askingWhole: RunState = { ...beginRun(false), upstreamCalled: true }
const waiting: RunState = { ...asking, clientLeft: true }
const askingAfter = (stopped: RunState['stopped']): RunState => ({ ...asking, stopped })
const streaming: RunState = { ...asking, phase: 'streaming' }
const streamingReleased: RunState = { ...streaming, released: true }
const draining: RunState = { ...streaming, phase: 'draining', stopped: 'client_gone', clientLeft: true }
const drainingReleased: RunState = { ...draining, released: true }
const closed: RunState = { ...streamingReleased, phase: 'closed' }
const over: RunState = { ...closed, detached: true }

const error = new GatewayError('upstream_error', 'no')
const clientLeft: RunEvent = { type: 'client_left', mayDrain: true }
const oneTooMany: RunEvent = { type: 'client_left', mayDrain: false }
const upstreamAsked: RunEvent = { type: 'upstream_called' }
const readerEnded: RunEvent = { type: 'reader_ended' }
const deadline: RunEvent = { type: 'deadline' }
const shutdown: RunEvent = { type: 'shutdown' }
const overdue: RunEvent = { type: 'drain_overdue' }
const unserved: RunEvent = { type: 'unserved', error, isAborted: false }
const cut: RunEvent = { type: 'unserved', error, isAborted: true }
const fault: RunEvent = { type: 'fault', error }
const wholeRead: RunEvent = { type: 'whole_read' }
const opened: RunEvent = { type: 'stream_opened' }
const usageToCome: RunEvent = { type: 'drain_begun', rest: 'usage' }
const hiddenToCome: RunEvent = { type: 'drain_begun', rest: 'hidden' }
const contentToCome: RunEvent = { type: 'drain_begun', rest: 'content' }
const drainEnded: RunEvent = { type: 'drain_ended' }
const chunk = { type: 'stream_read', hasBytes: true, ended: false, fault: null } as const
const heldBack = { ...chunk, hasBytes: false }
const lastChunk = { ...chunk, ended: true }
const end = { ...heldBack, ended: true }
const brokenOff = { ...end, fault: 'network' }
const silent = { ...end, fault: 'timeout' }

const broken = 'report_upstream broken_off'
const timeout = 'report_upstream timeout'

type Row = readonly [
  when: string,
  state: RunState,
  event: RunEvent,
  then: Partial<RunState>,
  effects: readonly string[],
]

const table: readonly Row[] = [
  // No candidate has answered yet
  ['an upstream is called', unasked, upstreamAsked, { upstreamCalled: true }, []],
  [
    'the client of a stream leaves before an upstream is called',
    unasked,
    clientLeft,
    { clientLeft: true, stopped: 'client_gone' },
    ['cancel_upstream'],
  ],
  ['the client of a stream leaves', asking, clientLeft, { clientLeft: true }, ['bound_drain head']],
  [
    'the client of a stream leaves, and too many are read on',
    asking,
    oneTooMany,
    { clientLeft: true, mayDrain: false, stopped: 'client_gone' },
    ['cancel_upstream'],
  ],
  ['no head comes within the bound', waiting, overdue, { stopped: 'client_gone' }, ['cancel_upstream']],
  ['the proxy stops while it waits for the head', waiting, shutdown, { stopped: 'client_gone' }, ['cancel_upstream']],
  ['the deadline passes meanwhile', waiting, deadline, { stopped: 'client_gone' }, ['cancel_upstream']],
  [
    'the cancelled upstream of a client that has left is billed',
    { ...waiting, stopped: 'client_gone' },
    cut,
    { phase: 'closed' },
    ['clear_deadline', 'record_unanswered'],
  ],
  [
    'the upstream of a client that has left fails',
    waiting,
    unserved,
    { phase: 'closed' },
    ['clear_deadline', 'record_failure upstream_error'],
  ],
  [
    'the upstream is cancelled by a stop of ours',
    askingAfter('shutdown'),
    cut,
    { phase: 'closed' },
    ['clear_deadline', 'record_failure upstream_error'],
  ],
  ['the client of a whole response leaves', askingWhole, clientLeft, { clientLeft: true }, []],
  ['the deadline passes', asking, deadline, { stopped: 'deadline' }, ['cancel_upstream']],
  ['the proxy stops', asking, shutdown, { stopped: 'shutdown' }, ['cancel_upstream']],
  ['the deadline passes after the client has left', askingAfter('client_gone'), deadline, {}, ['cancel_upstream']],
  ['the client leaves after the deadline', askingAfter('deadline'), clientLeft, { clientLeft: true }, []],
  [
    'the reader ends before an answer',
    asking,
    readerEnded,
    { stopped: 'client_gone', detached: true },
    ['cancel_upstream', 'detach'],
  ],
  ['no candidate answers', asking, unserved, { phase: 'closed' }, ['clear_deadline', 'record_failure upstream_error']],
  ['a fault of ours', asking, fault, { phase: 'closed' }, ['cancel_upstream', 'record_failure upstream_error']],

  // A whole response
  [
    'it has come',
    askingWhole,
    wholeRead,
    { phase: 'closed' },
    ['clear_deadline', 'observe_whole', 'record_usage completed'],
  ],
  [
    'it has come for a client that has left',
    { ...askingWhole, clientLeft: true },
    wholeRead,
    { phase: 'closed' },
    ['clear_deadline', 'observe_whole', 'record_usage client_gone'],
  ],
  [
    'it has come after the deadline',
    { ...askingWhole, stopped: 'deadline' },
    wholeRead,
    { phase: 'closed' },
    ['clear_deadline', 'observe_whole', 'record_usage completed'],
  ],

  // A stream opens
  ['a candidate answers', asking, opened, { phase: 'streaming' }, []],
  ['it opens after the client has left', waiting, opened, { phase: 'draining', stopped: 'client_gone' }, ['drain']],
  [
    'it opens after its drain was given up',
    askingAfter('client_gone'),
    opened,
    { phase: 'closed', brokenBy: 'client_gone' },
    ['record_usage client_gone'],
  ],
  [
    'it opens after the deadline',
    askingAfter('deadline'),
    opened,
    { phase: 'closed', brokenBy: 'deadline' },
    [timeout, 'record_undelivered'],
  ],
  [
    'it opens while the proxy stops',
    askingAfter('shutdown'),
    opened,
    { phase: 'closed', brokenBy: 'shutdown' },
    ['record_undelivered'],
  ],

  // A stream is delivered
  ['the first bytes', streaming, chunk, { released: true }, []],
  ['more bytes', streamingReleased, chunk, {}, []],
  ['nothing to deliver yet', streaming, heldBack, {}, []],
  [
    'the last bytes',
    streaming,
    lastChunk,
    { phase: 'closed', released: true },
    ['clear_deadline', 'discard_rest', 'observe_whole', 'record_usage completed'],
  ],
  [
    'a good end that delivered nothing is billed',
    streaming,
    end,
    { phase: 'closed' },
    ['clear_deadline', 'discard_rest', 'observe_whole', 'record_usage completed'],
  ],
  [
    'it breaks off after a delivery',
    streamingReleased,
    brokenOff,
    { phase: 'closed', brokenBy: 'network' },
    ['clear_deadline', 'cancel_upstream', broken, 'record_usage interrupted'],
  ],
  [
    'it breaks off with its first bytes',
    streaming,
    { ...brokenOff, hasBytes: true },
    { phase: 'closed', brokenBy: 'network', released: true },
    ['clear_deadline', 'cancel_upstream', broken, 'record_usage interrupted'],
  ],
  [
    'it breaks off before a delivery: free, whatever usage was reported',
    streaming,
    brokenOff,
    { phase: 'closed', brokenBy: 'network' },
    ['clear_deadline', 'cancel_upstream', broken, 'record_undelivered'],
  ],
  [
    'the upstream falls silent',
    streamingReleased,
    silent,
    { phase: 'closed', brokenBy: 'timeout' },
    ['clear_deadline', 'cancel_upstream', timeout, 'record_usage interrupted'],
  ],
  [
    'the deadline passes after a delivery',
    streamingReleased,
    deadline,
    { phase: 'closed', stopped: 'deadline', brokenBy: 'deadline' },
    ['cancel_upstream', timeout, 'record_usage interrupted'],
  ],
  [
    'the deadline passes before a delivery',
    streaming,
    deadline,
    { phase: 'closed', stopped: 'deadline', brokenBy: 'deadline' },
    ['cancel_upstream', timeout, 'record_undelivered'],
  ],
  [
    'the proxy stops after a delivery',
    streamingReleased,
    shutdown,
    { phase: 'closed', stopped: 'shutdown', brokenBy: 'shutdown', detached: true },
    ['cancel_upstream', 'record_usage interrupted', 'detach'],
  ],
  [
    'the proxy stops before a delivery',
    streaming,
    shutdown,
    { phase: 'closed', stopped: 'shutdown', brokenBy: 'shutdown', detached: true },
    ['cancel_upstream', 'record_undelivered', 'detach'],
  ],
  [
    'the client leaves',
    streaming,
    clientLeft,
    { phase: 'draining', clientLeft: true, stopped: 'client_gone' },
    ['drain'],
  ],
  ['the reader ends', streaming, readerEnded, { phase: 'draining', stopped: 'client_gone' }, ['drain']],
  [
    'a fault of ours while streaming',
    streaming,
    fault,
    { phase: 'closed' },
    ['cancel_upstream', 'record_failure upstream_error'],
  ],

  // The client has left, and the upstream's own figure is awaited
  ['only the end is awaited', draining, usageToCome, {}, ['bound_drain usage']],
  ['a cancel would hide what is owed', draining, hiddenToCome, {}, ['bound_drain hidden']],
  [
    'too many are read on',
    { ...draining, mayDrain: false },
    hiddenToCome,
    { phase: 'closed', brokenBy: 'client_gone' },
    ['cancel_upstream', 'record_usage client_gone'],
  ],
  [
    'content is still to come',
    drainingReleased,
    contentToCome,
    { phase: 'closed', brokenBy: 'client_gone' },
    ['cancel_upstream', 'record_usage client_gone'],
  ],
  [
    'content is still to come, and nothing was delivered: the input is owed',
    draining,
    contentToCome,
    { phase: 'closed', brokenBy: 'client_gone' },
    ['cancel_upstream', 'record_usage client_gone'],
  ],
  ['bytes without a client are not delivered', draining, chunk, {}, []],
  [
    'the end has come',
    drainingReleased,
    end,
    { phase: 'closed' },
    ['clear_deadline', 'discard_rest', 'observe_whole', 'record_usage client_gone'],
  ],
  [
    'the end has come, and nothing was delivered',
    draining,
    lastChunk,
    { phase: 'closed' },
    ['clear_deadline', 'discard_rest', 'observe_whole', 'record_usage client_gone'],
  ],
  [
    'it breaks off meanwhile',
    drainingReleased,
    brokenOff,
    { phase: 'closed', brokenBy: 'network' },
    ['clear_deadline', 'cancel_upstream', broken, 'record_usage client_gone'],
  ],
  [
    'the end is overdue',
    drainingReleased,
    overdue,
    { phase: 'closed', brokenBy: 'client_gone' },
    ['cancel_upstream', 'record_usage client_gone'],
  ],
  [
    'the deadline of the request passes meanwhile',
    draining,
    deadline,
    { phase: 'closed', brokenBy: 'client_gone' },
    ['cancel_upstream', 'record_usage client_gone'],
  ],
  [
    'the proxy stops meanwhile',
    drainingReleased,
    shutdown,
    { phase: 'closed', brokenBy: 'client_gone', detached: true },
    ['cancel_upstream', 'record_usage client_gone', 'detach'],
  ],
  ['the reader ends meanwhile', draining, readerEnded, {}, []],
  ['the client leaves behind its reader', { ...draining, clientLeft: false }, clientLeft, { clientLeft: true }, []],
  ['a fault of ours reaches the reader', draining, fault, {}, []],

  // The end is on its way to the log
  ['the client leaves before the end is stored', closed, clientLeft, { clientLeft: true, detached: true }, ['detach']],
  ['the reader ends before the end is stored', closed, readerEnded, { detached: true }, ['detach']],
  ['the proxy stops before the end is stored', closed, shutdown, { detached: true }, ['detach']],
  ['the draining ends', closed, drainEnded, { detached: true }, ['detach']],
  ['the draining ends of a run that is detached', over, drainEnded, {}, []],
  ['the reader ends of a run that is detached', over, readerEnded, {}, []],
  ['the proxy stops again', over, shutdown, {}, []],
]

/** Orders that do not occur: nothing is recorded twice, nor of what is not there. */
const ignored: readonly (readonly [RunState, readonly RunEvent[]])[] = [
  [asking, [overdue, chunk, end, brokenOff, usageToCome, contentToCome]],
  [streaming, [overdue, opened, wholeRead, unserved, usageToCome, contentToCome]],
  [draining, [opened, wholeRead, unserved]],
  [
    closed,
    [overdue, deadline, unserved, fault, wholeRead, opened, chunk, end, brokenOff, silent, usageToCome, contentToCome],
  ],
]

const show = (effect: ReturnType<typeof nextRunState>['effects'][number]): string => {
  if ('awaits' in effect) return `${effect.type} ${effect.awaits}`
  if ('outcome' in effect) return `${effect.type} ${effect.outcome}`
  if (!('error' in effect)) return effect.type
  return `${effect.type} ${typeof effect.error === 'string' ? effect.error : effect.error.code}`
}

for (const [when, state, event, then, effects] of table)
  t.test(`${state.phase}: ${when}`, async (t) => {
    const next = nextRunState(state, event)
    t.same(next.state, { ...state, ...then })
    t.same(next.effects.map(show), effects)
  })

for (const [state, events] of ignored)
  for (const event of events)
    t.test(`${state.phase}: ${event.type} is ignored`, async (t) => {
      t.same(nextRunState(state, event), { state, effects: [] })
    })
