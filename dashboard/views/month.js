// @ts-check
import { daysBetween } from '../charts.js'
import { h } from '../dom.js'
import { count, monthAfter, sumOf, utcDayAt, words } from '../format.js'
import { chargeHref, facts, heading, idLink, load, section, state, table, time, usd } from '../parts.js'
import { readList } from '../session.js'
import { virtualTable } from '../virtual-table.js'
import { changeHref, typeText } from './change.js'
import { invoicesTable } from './invoices.js'

/** @typedef {import('../types.d.ts').AdminEvent} AdminEvent */
/** @typedef {import('../types.d.ts').Invoice} Invoice */
/** @typedef {import('../types.d.ts').Period} Period */
/** @typedef {import('../types.d.ts').Report} Report */
/** @typedef {import('../views.d.ts').ViewContext} ViewContext */

/** The days of a month, such as 2026-11, both included. @param {string} month */
const daysOf = (month) => ({
  from: `${month}-01`,
  to: utcDayAt(Date.parse(`${monthAfter(month, 1)}-01`) - 1),
})

/** @param {AdminEvent} event */
const detailOf = ({ detail }) => /** @type {Readonly<Record<string, string>>} */ (detail)

/**
 * What several sections show is read once; after a failure, another try reads again.
 *
 * @template Answer
 * @param {() => Promise<Answer>} read
 */
const once = (read) => {
  /** @type {Promise<Answer> | null} */
  let answer = null
  return () => {
    answer ??= read().catch((fault) => {
      answer = null
      throw fault
    })
    return answer
  }
}

/** In which month what is posted at an event is: not in one that was closed before it. @param {AdminEvent} event @param {readonly AdminEvent[]} changes of months, newest first */
const monthOf = ({ time: at, sequence }, changes) => {
  const last = changes.find((each) => each.sequence < sequence)
  const own = at.slice(0, 7)
  if (last === undefined) return own
  const { month = '' } = detailOf(last)
  const first = last.type === 'PeriodReopened' ? month : monthAfter(month, 1)
  return own < first ? first : own
}

/** The adjustments that were posted in the month, newest first. @param {Period} period @param {readonly AdminEvent[]} changes of months, newest first @param {ViewContext} context */
const adjustmentsTable = (period, changes, { session, signal, parameter: month }) =>
  virtualTable({
    label: 'Adjustments',
    columns: /** @type {import('../parts.js').Column<AdminEvent>[]} */ ([
      {
        name: 'Time',
        className: 'wide-time',
        narrow: 1,
        cell: (event) => h('a', { href: changeHref(event) }, time(event.time)),
      },
      {
        name: 'To the wallet, USD',
        className: 'amount',
        narrow: 2,
        cell: () => null,
        amount: (event) => detailOf(event)['amount'] ?? '0',
      },
      { name: 'Workspace', className: 'reference', narrow: 3, cell: ({ workspace }) => workspace ?? '' },
      { name: 'Reason', className: 'kind', narrow: 4, cell: (event) => words(detailOf(event)['reason'] ?? '') },
      {
        name: 'Corrects',
        className: 'reference',
        narrow: 5,
        cell: (event) => {
          const { corrects = '' } = detailOf(event)
          return corrects === '' || corrects.includes(':')
            ? h('span', { class: 'id', title: corrects }, corrects)
            : idLink(corrects, chargeHref(event.workspace ?? '', corrects))
        },
      },
      { name: 'Who', className: 'reference', cell: ({ actor }) => actor ?? 'the gateway' },
      {
        name: 'Note',
        cell: (event) => h('span', { title: detailOf(event)['note'] ?? '' }, detailOf(event)['note'] ?? ''),
      },
    ]),
    read: async (cursor) => {
      const query = { type: 'AdjustmentPosted', before: period.sequence ?? undefined, cursor, limit: 200 }
      /** @type {import('../types.d.ts').Page<AdminEvent>} */
      const { data, next_cursor: next } = await session.get('/admin/v1/events', query, signal)
      const last = data.at(-1)
      const isPast = last !== undefined && monthOf(last, changes) < month
      return { data: data.filter((each) => monthOf(each, changes) === month), next_cursor: isPast ? null : next }
    },
    signal,
    empty: 'Nothing was adjusted in this month.',
  }).element

/**
 * What was recorded of a provider's invoices of the month: what was recorded later takes the place of what is of days among its own.
 *
 * @param {readonly AdminEvent[]} reconciled newest first
 * @param {string} provider
 */
const recordsOf = (reconciled, provider) => {
  /** @type {AdminEvent[]} */
  const kept = []
  for (const event of reconciled) {
    const { from = '', to = '' } = detailOf(event)
    const isReplaced = kept.some((later) => {
      const { from: first = '', to: last = '' } = detailOf(later)
      return first <= from && to <= last
    })
    if (detailOf(event)['provider'] === provider && !isReplaced) kept.push(event)
  }
  return kept
}

/** Each provider that was charged for or reconciled, with how far. @param {readonly AdminEvent[]} reconciled newest first @param {Report} byModel @param {string} month */
const providersOf = (reconciled, byModel, month) => {
  const { from, to } = daysOf(month)
  const days = daysBetween(from, to)
  const ofMonth = reconciled.filter(
    (event) => (detailOf(event)['from'] ?? '') <= to && (detailOf(event)['to'] ?? '') >= from,
  )
  const charged = byModel.rows.map(({ group }) => group['model'] ?? '').filter((model) => model.includes('/'))
  const names = [
    ...charged.map((model) => model.slice(0, model.indexOf('/'))),
    ...ofMonth.map((event) => detailOf(event)['provider'] ?? ''),
  ]
  return [...new Set(names)].toSorted().map((provider) => {
    const records = recordsOf(ofMonth, provider)
    const covered = days.filter((day) =>
      records.some((event) => (detailOf(event)['from'] ?? '') <= day && day <= (detailOf(event)['to'] ?? '')),
    ).length
    const unreconciled = sumOf(records.map((event) => detailOf(event)['unreconciled'] ?? '0'))
    return { provider, records, covered, days: days.length, unreconciled }
  })
}

/** @param {ReturnType<typeof providersOf>[number]} provider */
const reconciledState = ({ covered, days, unreconciled }) => {
  if (covered === 0) return state('not reconciled')
  if (unreconciled !== '0') return state('unreconciled', 'bad')
  return covered === days ? state('reconciled', 'good') : state('in part', 'busy')
}

/** @param {ReturnType<typeof providersOf>} providers */
const providersTable = (providers) =>
  table(
    'Reconciliation',
    /** @type {import('../parts.js').Column<(typeof providers)[number]>[]} */ ([
      { name: 'Provider', className: 'name', cell: ({ provider }) => provider },
      { name: 'State', cell: reconciledState },
      { name: 'Days', numeric: true, cell: ({ covered, days }) => `${covered} of ${days}` },
      { name: 'Unreconciled, USD', cell: () => null, amount: ({ unreconciled }) => unreconciled },
      {
        name: 'Recorded',
        className: 'wrap',
        cell: ({ records }) =>
          h(
            'span',
            { class: 'buttons start' },
            ...records.map((event) => h('a', { href: changeHref(event) }, time(event.time))),
          ),
      },
    ]),
    providers,
    'No provider was charged for.',
  )

/** What workspaces come to in a month. @param {string} label @param {Report['rows']} rows @param {Omit<import('../parts.js').Column<Report['rows'][number]>, 'name'>} workspaces how each is shown */
export const sumsTable = (label, rows, workspaces) =>
  table(
    label,
    /** @type {import('../parts.js').Column<Report['rows'][number]>[]} */ ([
      { name: 'Workspace', ...workspaces },
      { name: 'Charges, USD', cell: () => null, amount: ({ charges }) => charges },
      { name: 'Corrections, USD', cell: () => null, amount: ({ corrections }) => corrections },
      { name: 'Fees, USD', cell: () => null, amount: ({ fees }) => fees },
      { name: 'Total, USD', cell: () => null, amount: ({ net }) => net },
    ]),
    rows,
    'No workspace has a movement in it.',
  )

/** @param {Report} report @param {string} month */
const workspacesTable = ({ rows }, month) => {
  const { from, to } = daysOf(month)
  return sumsTable('Workspaces', rows, {
    className: 'name',
    cell: ({ group: { workspace = '' } }) =>
      h(
        'a',
        {
          href: `#/w/${encodeURIComponent(workspace)}/statement?from=${from}&to=${to}`,
          title: `The statement of ${workspace}`,
        },
        workspace,
      ),
  })
}

/** @param {readonly AdminEvent[]} changes of the month, newest first */
const historyTable = (changes) =>
  table(
    'Changes of the month',
    /** @type {import('../parts.js').Column<AdminEvent>[]} */ ([
      { name: 'Time', cell: (event) => time(event.time) },
      { name: 'Change', cell: (event) => h('a', { href: changeHref(event) }, typeText(event.type)) },
      { name: 'Who', cell: ({ actor }) => actor ?? 'the gateway' },
      ...(changes.some((event) => detailOf(event)['reason'] !== undefined)
        ? [
            {
              name: 'Reason',
              className: 'wrap',
              cell: (/** @type {AdminEvent} */ event) => detailOf(event)['reason'] ?? '',
            },
          ]
        : []),
    ]),
    changes,
    'It was not closed.',
  )

/** @param {NonNullable<Period['totals']>} totals */
const totalsFacts = ({ workspaces, requests, ...amounts }) =>
  facts([
    ['Workspaces', count(workspaces)],
    ['Requests and tasks', count(requests)],
    ['Opening balances, USD', usd(amounts.opening)],
    ['Credits, USD', usd(amounts.credits)],
    ['Charges, USD', usd(amounts.charges)],
    ['Corrections, USD', usd(amounts.corrections)],
    ['Fees, USD', usd(amounts.fees)],
    ['Lapsed, USD', usd(amounts.lapsed)],
    ['Closing balances, USD', usd(amounts.closing)],
  ])

/** @param {string} month */
const exportCommands = (month) =>
  [
    `gateway export journal --month ${month} --format hledger --out ${month}.journal`,
    `gateway export journal --month ${month} --format beancount --out ${month}.beancount`,
    `gateway export focus --month ${month} --out ${month}.csv`,
  ].join('\n')

/** @param {Period} period @param {readonly AdminEvent[]} own its changes, newest first */
const closing = ({ state: periodState, totals, digest, sequence, exceptions }, own) => {
  const closed = periodState === 'closed' ? own.find(({ type }) => type === 'PeriodClosed') : undefined
  return [
    facts([
      ['State', state(periodState, periodState === 'closed' ? 'good' : 'busy')],
      ...(closed === undefined
        ? []
        : [
            /** @type {const} */ (['Closed', time(closed.time)]),
            /** @type {const} */ (['By', closed.actor ?? 'the gateway']),
          ]),
      ...(exceptions === null ? [] : [/** @type {const} */ (['Open when closed', count(exceptions)])]),
      ...(sequence === null ? [] : [/** @type {const} */ (['Cut off at frame', count(sequence)])]),
    ]),
    digest === null ? null : h('p', { class: 'small' }, 'Digest of its statements: ', h('code', {}, digest)),
    totals === null ? null : section(h('h2', {}, 'Totals, as it was closed'), totalsFacts(totals)),
  ]
}

/** One month, as it was closed. @param {ViewContext} context */
export const showMonth = (context) => {
  const { session, root, signal, parameter: month, backTo } = context
  /** @param {string} type @returns {Promise<AdminEvent[]>} */
  const events = (type) => readList(session, '/admin/v1/events', signal, { type })
  /** @param {string} groups @returns {Promise<Report>} */
  const report = (groups) => session.get('/admin/v1/reports', { month, group_by: groups }, signal)
  const readPeriod = once(
    () => /** @type {Promise<Period>} */ (session.get(`/admin/v1/periods/${encodeURIComponent(month)}`, {}, signal)),
  )
  const readChanges = once(() => events('PeriodCutOff,PeriodClosed,PeriodReopened'))
  /** @param {readonly AdminEvent[]} changes */
  const ownOf = (changes) => changes.filter((each) => detailOf(each)['month'] === month)
  const readInvoices = async () => {
    /** @type {Invoice[][]} */
    const [own = [], all = []] = await Promise.all([
      readList(session, '/admin/v1/invoices', signal, { month }),
      readList(session, '/admin/v1/invoices', signal),
    ])
    return [...own, ...all.filter((each) => each.month !== month && each.covers.includes(month))]
  }
  /**
   * @template Answer
   * @param {() => Promise<Answer>} read
   * @param {(answer: Answer) => readonly import('../dom.js').Child[]} show
   */
  const part = (read, show) => {
    const place = h('div', { class: 'stack' })
    void load(place, signal, read, show)
    return place
  }
  root.append(
    h('p', { class: 'small' }, h('a', { href: backTo('months') }, '← All months')),
    heading(`Month ${month} (UTC)`),
    h(
      'div',
      { class: 'stack' },
      part(
        () => Promise.all([readPeriod(), readChanges().catch(() => [])]),
        ([period, changes]) => closing(period, ownOf(changes)),
      ),
      section(
        h('h2', {}, 'Workspaces, with their statements'),
        part(
          () => report('workspace'),
          (byWorkspace) => [workspacesTable(byWorkspace, month)],
        ),
      ),
      section(
        h('h2', {}, 'Invoices'),
        part(readInvoices, (invoices) => [invoicesTable(invoices, context)]),
      ),
      section(
        h('h2', {}, 'Adjustments'),
        part(
          () => Promise.all([readPeriod(), readChanges()]),
          ([period, changes]) => [adjustmentsTable(period, changes, context)],
        ),
      ),
      section(
        h('h2', {}, 'Reconciliation with the providers’ invoices'),
        part(
          () => Promise.all([events('InvoiceReconciled'), report('model')]),
          ([reconciled, byModel]) => [providersTable(providersOf(reconciled, byModel, month))],
        ),
      ),
      section(
        h('h2', {}, 'Exports'),
        h('p', { class: 'muted small' }, 'Commands write them:'),
        h('pre', { tabindex: '0', role: 'region', 'aria-label': 'Commands that export it' }, exportCommands(month)),
      ),
      section(
        h('h2', {}, 'Who changed it'),
        part(readChanges, (changes) => [historyTable(ownOf(changes))]),
      ),
    ),
  )
}
