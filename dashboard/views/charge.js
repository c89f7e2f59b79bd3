// @ts-check
import { h } from '../dom.js'
import { count, money, words } from '../format.js'
import { expandable, facts, heading, load, section, state, table, time, usd } from '../parts.js'
import { proof } from './proof.js'

/** @typedef {import('../types.d.ts').Explanation} Explanation */
/**
 * @template Row
 * @typedef {import('../parts.js').Column<Row>} Column
 */

const tones = /** @type {Readonly<Record<string, 'plain' | 'good' | 'bad' | 'busy'>>} */ ({
  charged: 'good',
  failed: 'bad',
  open: 'busy',
})

/** Where the quantities of a bill are from, unless the provider reported them. @param {Explanation} explanation */
const basis = ({ usage, adjustments }) => {
  if (!usage) return []
  const { source, plausible, negative = {}, estimate } = usage
  const below = Object.entries(negative).map(([name, value]) => `${name} ${value}`)
  return [
    ...(source === 'estimated' ? ['Counted with a tokenizer: the provider reported no usage, or not all.'] : []),
    ...(estimate === undefined
      ? []
      : [
          `${count(estimate.hidden_tokens)} tokens of it are estimated thinking that was not shown: ${count(estimate.thinking_ms)} ms at ${count(estimate.tokens_per_minute)} tokens a minute, ${estimate.basis === 'observed' ? 'as in the last streams of the model' : 'the default of a model that was not observed yet'}.`,
        ]),
    ...(below.length === 0 ? [] : [`Reported below zero, and counted as 0: ${below.join(', ')}.`]),
    ...(plausible === false
      ? [
          adjustments.length === 0
            ? 'The reported usage cannot be: the reservation is charged until an operator confirms it.'
            : 'The reported usage cannot be: the reservation was charged, and has been corrected since.',
        ]
      : []),
  ].map((text) => h('p', { class: 'notice' }, text))
}

/** @param {Explanation} explanation */
export const bill = (explanation) => {
  const { charge, net } = explanation
  if (charge === null) return [h('p', { class: 'empty' }, 'Nothing was charged.')]
  /** @type {Column<(typeof charge.lines)[number]>[]} */
  const columns = [
    { name: 'Item', cell: ({ item }) => words(item) },
    {
      name: 'Quantity',
      numeric: true,
      cell: ({ quantity }) => (typeof quantity === 'number' ? count(quantity) : quantity),
    },
    { name: '× price, USD', cell: () => null, amount: ({ unit_price }) => unit_price },
    { name: '= amount, USD', cell: () => null, amount: ({ amount }) => amount },
  ]
  const { equal = null } = /** @type {{ equal?: boolean | null }} */ (charge.recomputed ?? {})
  return [
    table('The bill, line by line', columns, charge.lines),
    h(
      'p',
      { class: 'total' },
      'Total ',
      h('strong', { class: 'figure' }, money(charge.total)),
      ' USD',
      net === charge.total ? null : h('span', {}, ', after corrections ', usd(net), ' USD'),
    ),
    ...basis(explanation),
    h(
      'p',
      { class: 'muted' },
      equal === true
        ? 'Computed again from the usage and the published price: the same, to the last digit.'
        : equal === false
          ? 'Computed again from the usage and the published price it comes out otherwise.'
          : 'The price sheet is not there to compute it again.',
    ),
  ]
}

/** @param {Explanation} explanation */
const price = ({ price: sheet }) =>
  sheet === null
    ? null
    : section(
        h('h2', {}, 'Price'),
        facts([
          ['Model', sheet.model],
          ['In force from', time(sheet.effective_from)],
          ['Version', h('span', { class: 'id', title: sheet.version }, sheet.version.slice(0, 16))],
          ...(sheet.sequence === undefined
            ? []
            : [/** @type {const} */ (['Published in frame', count(sheet.sequence)])]),
          ['Source', expandable(sheet.source)],
          ...Object.entries(sheet.per_million_tokens ?? {}).map(
            ([name, amount]) => /** @type {const} */ ([`${words(name)}, per million`, usd(String(amount))]),
          ),
          ...(sheet.unit_price === null ? [] : [/** @type {const} */ (['Per unit', usd(sheet.unit_price)])]),
        ]),
      )

/** Whether its stream broke off, without its client having left. @param {Explanation} explanation */
const isInterrupted = ({ kind, ended }) => kind === 'request' && ended?.['outcome'] === 'interrupted'

/** @param {Explanation} explanation */
const states = (explanation) => {
  const { state: reached, usage } = explanation
  const own = state(reached, tones[reached] ?? 'plain')
  if (!isInterrupted(explanation)) return [own]
  const tokens = usage?.output_total ?? 0
  return [state(`interrupted after ${count(tokens)} ${tokens === 1 ? 'token' : 'tokens'}`, 'busy'), ' ', own]
}

/** @param {NonNullable<Explanation['attempts']>[number]} attempt @param {boolean} isInterrupted */
const outcomeState = ({ outcome, reason }, isInterrupted) => {
  const isServed = outcome === 'served'
  const word = isServed && isInterrupted ? 'interrupted' : outcome
  const tone = outcome === 'failed' ? 'bad' : !isServed ? 'plain' : isInterrupted ? 'busy' : 'good'
  return state(reason === null ? word : `${word}: ${reason}`, tone)
}

/** @param {Explanation} explanation */
const route = (explanation) => {
  const { attempts, progress, state: reached } = explanation
  if (attempts !== undefined && attempts.length > 0)
    return section(
      h('h2', {}, 'Attempts'),
      table(
        'Attempts, in order',
        /** @type {Column<(typeof attempts)[number]>[]} */ ([
          { name: 'Model', cell: ({ model }) => model },
          { name: 'Provider', cell: ({ provider, deployment }) => [provider, deployment].filter(Boolean).join('/') },
          { name: 'Outcome', cell: (attempt) => outcomeState(attempt, isInterrupted(explanation)) },
          { name: 'Status', numeric: true, cell: ({ status }) => status },
          { name: 'Milliseconds', numeric: true, cell: ({ duration_ms }) => count(duration_ms) },
          { name: 'Provider’s request id', cell: ({ upstream_request_id = null }) => upstream_request_id },
        ]),
        attempts,
      ),
    )
  if (progress === undefined) return null
  return section(
    h('h2', {}, 'Progress'),
    table(
      'Progress of the video',
      /** @type {Column<(typeof progress)[number]>[]} */ ([
        { name: 'Time', cell: ({ at }) => time(at) },
        { name: 'State', cell: ({ status }) => words(status) },
        { name: 'Percent', numeric: true, cell: ({ percent }) => percent },
      ]),
      progress,
      reached === 'open'
        ? 'The vendor has not reported anything yet.'
        : 'The vendor reported no progress before the end.',
    ),
  )
}

/** @param {Explanation} explanation */
const wallet = ({ kind, wallet: movements, adjustments }) => [
  table(
    'What it did to the wallet',
    /** @type {Column<Explanation['wallet'][number]>[]} */ ([
      { name: 'Time', cell: ({ at }) => time(at) },
      { name: 'Kind', cell: ({ kind }) => words(kind) },
      { name: 'Amount, USD', cell: () => null, amount: ({ amount }) => amount },
      { name: 'Held, USD', cell: () => null, amount: ({ held }) => held },
      { name: 'Balance before', cell: () => null, amount: ({ balance_before }) => balance_before },
      { name: 'Balance after', cell: () => null, amount: ({ balance_after }) => balance_after },
    ]),
    movements,
    'It has not moved the wallet.',
  ),
  kind === 'task'
    ? null
    : h(
        'p',
        { class: 'muted small' },
        'What a request reserves is part of a hold for many requests: the wallet moves by the charge alone, which leaves that hold.',
      ),
  ...adjustments.map(({ at, amount, reason, note }) =>
    h('p', {}, 'Corrected by ', usd(amount), ` USD (${words(reason)}) at `, time(at), note === '' ? '' : `: ${note}`),
  ),
]

/** @type {Column<Explanation['events'][number]>[]} */
const positionColumns = [
  { name: 'Frame', numeric: true, cell: ({ sequence }) => count(sequence) },
  {
    name: 'Sealed by checkpoint',
    numeric: true,
    cell: ({ sealed_by }) => (sealed_by === null ? 'not yet' : count(sealed_by)),
  },
]

/** @param {Explanation} explanation @param {boolean} hasPositions */
const events = ({ events: recorded }, hasPositions) =>
  table(
    'Events of the log',
    /** @type {Column<Explanation['events'][number]>[]} */ ([
      { name: 'Time', cell: ({ at }) => time(at) },
      { name: 'Event', cell: ({ type, counts }) => (counts ? type : `${type} (came too late to count)`) },
      ...(hasPositions ? positionColumns : []),
    ]),
    recorded,
  )

/** How a request failed; null for what did not. @param {Explanation} explanation */
const failureOf = ({ state: reached, kind, ended }) =>
  reached === 'failed' && kind === 'request' && ended !== null && ended['status'] !== null
    ? { status: Number(ended['status']), code: String(ended['outcome']) }
    : null

/** @param {Explanation} explanation @param {import('../views.d.ts').ViewContext} context */
const story = (explanation, context) => {
  const { kind, key, asked, ended, workspace, reservation, hold, complete } = explanation
  const failure = failureOf(explanation)
  return [
    complete ? null : h('p', { class: 'notice' }, 'Some tables are of an earlier release: the log may have more.'),
    facts([
      ['What', kind === 'task' ? 'A video' : 'A request'],
      ['State', ...states(explanation)],
      ...(failure === null
        ? []
        : [
            /** @type {const} */ (['Status', String(failure.status)]),
            /** @type {const} */ (['Error code', h('code', {}, failure.code)]),
          ]),
      ...(kind === 'task' && ended?.['reason'] ? [/** @type {const} */ (['Reason', String(ended['reason'])])] : []),
      ['Workspace', workspace],
      ['Key', h('span', { title: key.id }, key.name ?? key.id)],
      ['Asked', asked === null ? '–' : time(String(asked['at']))],
      ['Requested model', String(asked?.['model'] ?? '–')],
      ['Surface', words(String(asked?.['surface'] ?? '–'))],
      ...(reservation ? [/** @type {const} */ (['Reserved until its end', usd(reservation.reserved)])] : []),
      ...(hold ? [/** @type {const} */ (['Held until its end', usd(hold.amount)])] : []),
    ]),
    failure === null
      ? null
      : h('p', { class: 'muted small' }, 'The client got the message with the response; the log keeps the code alone.'),
    section(h('h2', {}, 'Bill'), ...bill(explanation)),
    route(explanation),
    price(explanation),
    section(h('h2', {}, 'Wallet'), ...wallet(explanation)),
    section(h('h2', {}, 'Events'), events(explanation, context.session.isAdmin)),
    section(h('h2', {}, 'Proof'), ...proof(explanation, context)),
  ]
}

const lists = /** @type {const} */ ({
  charges: ['← All charges', 'One charge, explained'],
  requests: ['← All requests', 'One request'],
  videos: ['← All videos', 'One video'],
})

/**
 * One charge, request or video explained line by line, under the list that it is in.
 *
 * @param {import('../views.d.ts').ViewContext} context
 * @param {keyof typeof lists} list
 */
export const showCharge = (context, list) => {
  const { session, scope, root, signal, parameter, backTo } = context
  const body = h('div', { class: 'stack' })
  const [all, title] = lists[list]
  const back = h('a', { href: backTo(list) }, all)
  const top = heading(title)
  root.append(h('p', { class: 'small' }, back), top, h('p', { class: 'id breaks' }, parameter), body)
  void load(
    body,
    signal,
    () => session.ledger(scope, `/charges/${encodeURIComponent(parameter)}`, {}, signal),
    (/** @type {Explanation} */ explanation) => {
      if (failureOf(explanation) !== null && list === 'charges') {
        const [allRequests, oneRequest] = lists.requests
        back.textContent = allRequests
        back.href = backTo('requests')
        const title = top.querySelector('h1')
        if (title !== null) title.textContent = oneRequest
      }
      return story(explanation, context)
    },
  )
}
