import t from 'tap'
import { type CallEvent, type CallPhase, nextCallStep } from '../../../../src/adapters/nats/calls/call-state.ts'
import { GatewayError } from '../../../../src/errors/gateway-error.ts'
import { AnswerUnread, DispatchLost } from '../../../../src/roles/dispatch.ts'

const brokenOff = new GatewayError('upstream_timeout', 'The upstream is late.')

const kindOf = (fault: GatewayError): string => {
  if (fault instanceof DispatchLost) return 'lost: '
  return fault instanceof AnswerUnread ? 'unread: ' : ''
}

/** `<phase>`, then what the proxy is sent, then how the answer ends; a lost call is closed by its edge. */
const outcomeOf = (phase: CallPhase, event: CallEvent): string => {
  const { phase: next, cancel, fault } = nextCallStep(phase, event)
  const ending = fault instanceof GatewayError ? `${kindOf(fault)}${fault.code}` : ''
  return [next, cancel === null ? '' : `cancel ${cancel}`, ending].filter((part) => part !== '').join(', ')
}

type Column = readonly [event: CallEvent, outcomes: Partial<Record<CallPhase, string>>]

const table: readonly Column[] = [
  [{ type: 'opened' }, { new: 'opening' }],
  [{ type: 'too_large' }, { new: 'over, lost: request_too_large' }],
  [{ type: 'refused' }, { new: 'over, lost: no_available_channel', opening: 'over, lost: no_available_channel' }],
  [{ type: 'postponed' }, { opening: 'new', over: 'over' }],
  [{ type: 'accepted', isWhole: true }, { opening: 'answering' }],
  [{ type: 'accepted', isWhole: false }, { opening: 'sending' }],
  [
    { type: 'rest_sent' },
    { sending: 'answering', answering: 'answering', capturing: 'capturing', left: 'left', over: 'over' },
  ],
  [
    { type: 'client_gone', isCaptured: true },
    {
      sending: 'over, cancel client, lost: invalid_request',
      answering: 'capturing, cancel client',
      capturing: 'capturing',
    },
  ],
  [
    { type: 'client_gone', isCaptured: false },
    {
      new: 'over, lost: invalid_request',
      opening: 'opening',
      sending: 'over, cancel client, lost: invalid_request',
      answering: 'left, cancel client',
      left: 'left',
      over: 'over',
    },
  ],
  [
    { type: 'reader_ended' },
    {
      new: 'over, cancel client',
      opening: 'over, cancel client',
      sending: 'over, cancel client',
      answering: 'left, cancel client',
      capturing: 'left, cancel client',
      left: 'left',
      over: 'over',
    },
  ],
  [
    { type: 'shut_down' },
    {
      new: 'over, lost: no_available_channel',
      opening: 'opening',
      sending: 'over, cancel client, lost: no_available_channel',
      answering: 'answering, cancel shutdown',
      capturing: 'capturing, cancel shutdown',
      left: 'left, cancel shutdown',
      over: 'over',
    },
  ],
  [
    { type: 'abandoned' },
    {
      opening: 'over, cancel client, lost: no_available_channel',
      sending: 'over, cancel client, lost: no_available_channel',
      answering: 'over, cancel client, upstream_stream_interrupted',
      left: 'over, cancel client, upstream_stream_interrupted',
    },
  ],
  [
    { type: 'overdue', isComplete: false },
    {
      answering: 'over, cancel client, lost: upstream_timeout',
      left: 'over, cancel client, lost: upstream_timeout',
    },
  ],
  [
    { type: 'overdue', isComplete: true },
    {
      answering: 'over, cancel client, unread: upstream_stream_interrupted',
      left: 'over, cancel client, unread: upstream_stream_interrupted',
    },
  ],
  [
    { type: 'connection_lost' },
    {
      sending: 'over, lost: upstream_stream_interrupted',
      answering: 'over, lost: upstream_stream_interrupted',
      capturing: 'over, lost: invalid_request',
      left: 'over, lost: invalid_request',
    },
  ],
  [
    { type: 'ended', fault: null },
    { answering: 'over', capturing: 'over', left: 'over, invalid_request' },
  ],
  [
    { type: 'ended', fault: brokenOff },
    { answering: 'over, upstream_timeout', left: 'over, invalid_request', over: 'over' },
  ],
  [{ type: 'unreadable' }, { answering: 'over, cancel client, internal_error' }],
]

for (const [event, outcomes] of table)
  t.test(`${JSON.stringify(event)}`, async (t) => {
    for (const [phase, outcome] of Object.entries(outcomes))
      t.equal(outcomeOf(phase as CallPhase, event), outcome, phase)
  })
