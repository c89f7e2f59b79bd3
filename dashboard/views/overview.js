// @ts-check
import { dayChart, daysBetween } from '../charts.js'
import { h } from '../dom.js'
import {
  count,
  dayMs,
  dayText,
  duration,
  money,
  msText,
  roughly,
  runwayText,
  shareText,
  sumOf,
  utcDayAt,
  words,
} from '../format.js'
import { day, facts, heading, idLink, section, table, time, usd } from '../parts.js'
import { refreshed } from '../refresh.js'
import { readAll } from '../session.js'
import { moneyButtons } from './account.js'
import { raisedAlerts } from './alerts.js'
import { firstUse } from './first-use.js'
import { limitsUse } from './limits.js'

/** @typedef {import('../types.d.ts').Wallet} Wallet */
/** @typedef {import('../types.d.ts').Hold} Hold */
/** @typedef {import('../types.d.ts').UsageRow} UsageRow */
/** @typedef {import('../types.d.ts').Outcomes} Outcomes */
/** @typedef {import('../types.d.ts').Refusals} Refusals */

const chartDays = 30

/** @param {number} daysBack */
export const utcDay = (daysBack) => utcDayAt(Date.now() - daysBack * dayMs)

/** Every day of a span, also those on which nothing was spent.
 *
 * @param {readonly UsageRow[]} rows
 * @param {string} first
 * @param {string} last
 */
export const everyDay = (rows, first, last) => {
  const totals = new Map(rows.map(({ day, net }) => [day, net]))
  return daysBetween(first, last).map((day) => ({ day, total: totals.get(day) ?? '0' }))
}

/** @param {Wallet} wallet */
const runway = ({ runway: { since, spent, per_day, until }, available }) => {
  const text = runwayText({ spent, until }, Date.now())
  const isEarly = Date.now() - Date.parse(since) < dayMs
  const pace =
    per_day === '0'
      ? null
      : h(
          'span',
          {},
          `at the pace since ${dayText(since.slice(0, 10), Date.now())} (UTC): ${roughly(per_day)} USD a day`,
          isEarly ? ', an early estimate from less than a day' : null,
        )
  return h(
    'p',
    { class: 'runway' },
    h('strong', {}, text),
    until !== null && Date.parse(until) > Date.now() ? h('span', {}, ', until ', day(until)) : null,
    pace === null ? '' : h('span', { class: 'muted' }, ', ', pace),
    available.startsWith('-') ? h('span', { class: 'state bad' }, ' Overdrawn') : null,
  )
}

/** @param {Wallet} wallet */
const figures = (wallet) => [
  h(
    'p',
    { class: 'hero' },
    h('span', { class: 'label' }, 'Available'),
    h('span', { class: 'amount figure' }, money(wallet.available)),
    h('span', { class: 'unit' }, 'USD'),
  ),
  runway(wallet),
  facts([
    ['Balance', usd(wallet.balance)],
    ['Held', usd(wallet.held)],
    ['Credit limit', usd(wallet.credit_limit)],
    ['Paid in', usd(wallet.credits)],
    ['Charged', usd(wallet.charges)],
    ['Fees', usd(wallet.fees)],
    ['Corrections', usd(wallet.adjustments)],
    ['Lapsed', usd(wallet.lapsed)],
    ...(wallet.plan === null
      ? []
      : [
          /** @type {const} */ ([
            `Plan ${wallet.plan.name}, ${wallet.plan.renews ? 'renewed' : 'ends'}`,
            time(wallet.plan.expires_at),
          ]),
        ]),
  ]),
]

/** @param {Outcomes} outcomes @param {readonly Refusals[]} refusals @param {(view: string, parameter?: string) => string} hrefTo */
const outcomeFacts = ({ requests, failed, interrupted, first_token: firstToken }, refusals, hrefTo) =>
  facts([
    ['Requests', count(requests)],
    [
      'Errors',
      h(
        'a',
        { href: `${hrefTo('requests')}?status=failed%2Cinterrupted` },
        `${shareText(failed + interrupted, requests)} (${count(failed)} failed, ${count(interrupted)} interrupted)`,
      ),
    ],
    [
      'Refused before routing',
      h('a', { href: hrefTo('requests') }, count(refusals.reduce((sum, { count: number }) => sum + number, 0))),
    ],
    ['First token, median', msText(firstToken.median_ms)],
    ['First token, 95 % within', msText(firstToken.p95_ms)],
  ])

/** @param {Hold[]} holds @param {(view: string, parameter?: string) => string} hrefTo */
const holdsTable = (holds, hrefTo) =>
  table(
    'Open holds',
    /** @type {import('../parts.js').Column<Hold>[]} */ ([
      {
        name: 'Hold',
        cell: ({ id, purpose }) =>
          purpose === 'task'
            ? idLink(id, hrefTo('videos', id))
            : h('span', { class: 'id', title: id }, id.slice(0, 22)),
      },
      { name: 'For', cell: ({ purpose }) => (purpose === 'task' ? 'A video' : words(purpose)) },
      { name: 'Set aside, USD', cell: () => null, amount: ({ amount }) => amount },
      { name: 'Left, USD', cell: () => null, amount: ({ remaining }) => remaining },
      { name: 'Until', cell: ({ deadline }) => time(deadline) },
    ]),
    holds,
    'Nothing is set aside right now.',
  )

/** @type {import('../views.d.ts').View} */
export const overview = {
  name: 'overview',
  title: 'Overview',
  permission: 'read_money',
  show: (context) => {
    const { session, scope, root, signal, hrefTo } = context
    const wallet = h('div', { class: 'stack' })
    const spend = h('div')
    const outcomes = h('div')
    const holds = h('div')
    const { load, note } = refreshed(signal)
    const readWallet = () => load(wallet, signal, () => session.ledger(scope, '/wallet', {}, signal), figures)
    root.append(
      heading(
        'Overview',
        note,
        session.isAdmin ? h('span', { class: 'buttons' }, ...moneyButtons(context, readWallet)) : null,
      ),
      wallet,
      session.isAdmin ? raisedAlerts(context, load) : '',
      firstUse(context, readWallet),
      limitsUse(context, load),
      section(h('h2', {}, `Spend, last ${chartDays} days (UTC)`), spend),
      section(h('h2', {}, 'Requests, last 24 hours'), outcomes),
      section(h('h2', {}, 'Open holds'), holds),
    )
    const first = () => utcDay(chartDays - 1)
    /** @returns {Promise<Refusals[]>} */
    const readRefusals = () => {
      const from = new Date(Date.now() - dayMs).toISOString()
      return readAll((cursor) => session.ledger(scope, '/refusals', { from, limit: 1000, cursor }, signal))
    }
    readWallet()
    load(
      spend,
      signal,
      () => readAll((cursor) => session.ledger(scope, '/usage', { group_by: 'day', from: first(), cursor }, signal)),
      (/** @type {UsageRow[]} */ rows, shown) => {
        const total = sumOf(rows.map((row) => row.net))
        if (rows.length === 0)
          return [
            h(
              'p',
              { class: 'empty' },
              'Nothing was spent in these days. Requests appear here a moment after they are answered.',
            ),
          ]
        const label = `Spend by day in UTC over ${duration(chartDays * dayMs)}: ${money(total)} USD in total. The view Spend has it as a table.`
        return [
          h('p', { class: 'muted' }, usd(total), ' USD in total'),
          dayChart(everyDay(rows, first(), utcDay(0)), {
            ...{ label, signal: shown },
            hrefOf: (day) => `${hrefTo('charges')}?from=${day}&to=${day}`,
          }),
        ]
      },
    )
    load(
      outcomes,
      signal,
      () => Promise.all([session.ledger(scope, '/outcomes', {}, signal), readRefusals()]),
      (/** @type {[Outcomes, Refusals[]]} */ [found, refused]) => [outcomeFacts(found, refused, hrefTo)],
    )
    load(
      holds,
      signal,
      () => readAll((cursor) => session.ledger(scope, '/holds', { cursor, limit: 1000 }, signal), 1_000),
      (/** @type {Hold[]} */ found) => [holdsTable(found, hrefTo)],
    )
  },
}
