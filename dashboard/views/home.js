// @ts-check
import { filterForm, h, onFilter, renewed, replace } from '../dom.js'
import { compareAmounts, count, dayMs, money, monthAfter, msText, shareText, sumOf, utcDayAt } from '../format.js'
import { field, heading, section, select, state, table, workspaceLink } from '../parts.js'
import { refreshed } from '../refresh.js'
import { ApiError, workspaceNames } from '../session.js'
import { raisedAlerts } from './alerts.js'
import { proposals } from './proposals.js'
import { filterInput } from './spend.js'
import { intervals, lastMonths, monthsOf, netOf, parts, stacked, sumsBy } from './stacked.js'

/** @typedef {import('./stacked.js').Interval} Interval */

/** @typedef {import('../types.d.ts').Report} Report */
/** @typedef {Report['rows'][number]} Row */
/** @typedef {import('../types.d.ts').Health} Health */
/** @typedef {import('../types.d.ts').Finding} Finding */
/** @typedef {import('../types.d.ts').Outcomes} Outcomes */
/** @typedef {import('../views.d.ts').ViewContext} ViewContext */

/** @param {string} name @param {string} amount @param {string} note @param {string} href */
const tile = (name, amount, note, href) =>
  h(
    'a',
    { class: 'tile', href },
    h('span', { class: 'muted small' }, name),
    h('span', { class: 'amount figure' }, amount),
    h('span', { class: 'muted small' }, note),
  )

/** @param {readonly Row[]} rows */
const requestsText = (rows) => {
  const requests = rows.reduce((sum, row) => sum + row.requests, 0)
  return `USD, ${count(requests)} ${requests === 1 ? 'request' : 'requests'} charged`
}

/** @param {ViewContext} context @returns {Promise<Outcomes>} */
const readOutcomes = ({ session, signal }) =>
  /** @type {Promise<Outcomes>} */ (session.ledger(null, '/outcomes', {}, signal))

/** @param {Outcomes} outcomes */
const outcomeTiles = ({ requests, failed, interrupted, first_token: firstToken }) => [
  tile(
    'Errors, 24 hours',
    shareText(failed + interrupted, requests),
    `${count(failed + interrupted)} of ${count(requests)} requests ended so, ${count(interrupted)} interrupted`,
    `#/requests?status=failed%2Cinterrupted&from=${utcDayAt(Date.now() - dayMs)}`,
  ),
  tile(
    'First token, 24 hours',
    msText(firstToken.median_ms),
    `median of ${count(firstToken.counted)} streams; 95 % within ${msText(firstToken.p95_ms)}`,
    '#/routing',
  ),
]

/** Where spend of the last seven whole days differs most from the seven before. @param {readonly Row[]} rows @param {ReadonlyMap<string, string>} names */
const changesTable = (rows, names) => {
  const since = (/** @type {number} */ days) => utcDayAt(Date.now() - days * dayMs)
  const isIn = (/** @type {Row} */ { group }, /** @type {string} */ from, /** @type {string} */ to) =>
    (group['day'] ?? '') >= from && (group['day'] ?? '') < to
  const placeOf = (/** @type {Row} */ { group }) => `${group['workspace']}\n${group['model']}`
  const netsBetween = (/** @type {string} */ from, /** @type {string} */ to) =>
    new Map(
      sumsBy(
        rows.filter((row) => isIn(row, from, to)),
        placeOf,
      ).map(({ name, net }) => [name, net]),
    )
  const [before, now] = [netsBetween(since(14), since(7)), netsBetween(since(7), since(0))]
  const size = (/** @type {string} */ amount) => amount.replace(/^-/, '')
  const changes = [...new Set([...now.keys(), ...before.keys()])]
    .map((name) => {
      const [workspace = '', model = ''] = name.split('\n')
      const [from, to] = [before.get(name) ?? '0', now.get(name) ?? '0']
      return { workspace, model, from, to, change: sumOf([to, from.startsWith('-') ? from.slice(1) : `-${from}`]) }
    })
    .filter(({ change }) => change !== '0')
    .toSorted((one, other) => compareAmounts(size(other.change), size(one.change)))
    .slice(0, 8)
  return table(
    'Largest changes',
    /** @type {import('../parts.js').Column<(typeof changes)[number]>[]} */ ([
      {
        name: 'Workspace',
        className: 'name',
        cell: ({ workspace }) => workspaceLink(workspace, 'spend', names),
      },
      { name: 'Model', className: 'name', cell: ({ model }) => h('span', { title: model }, model) },
      { name: '7 days before, USD', cell: () => null, amount: ({ from }) => from },
      { name: 'Last 7 days, USD', cell: () => null, amount: ({ to }) => to },
      { name: 'Change, USD', cell: () => null, amount: ({ change }) => change },
    ]),
    changes,
    'Nothing changed from one week to the next.',
  )
}

/** @param {ViewContext} context @param {HTMLElement} root @param {import('../refresh.js').Load} load */
const showOperation = ({ session, signal }, root, load) =>
  load(
    root,
    signal,
    async () => ({
      health: /** @type {Health} */ (await session.ledger(null, '/health', {}, signal)),
      found: /** @type {{ data: Finding[], complete: boolean }} */ (
        await session.ledger(null, '/findings', {}, signal)
      ),
    }),
    ({ health: { ready, tables, sealed }, found: { data, complete } }) => [
      h(
        'ul',
        { class: 'chips' },
        h(
          'li',
          {},
          h(
            'a',
            { href: '#/health' },
            state(ready ? 'requests are served' : 'requests cannot be served', ready ? 'good' : 'bad'),
          ),
        ),
        h('li', {}, h('a', { href: '#/findings' }, `Exceptions: ${complete ? '' : 'more than '}${count(data.length)}`)),
        h(
          'li',
          {},
          h(
            'a',
            { href: '#/health' },
            `Tables lag ${tables.behind_seconds === null ? 'unknown' : `${tables.behind_seconds.toFixed(1)} s`}`,
          ),
        ),
        sealed === undefined
          ? null
          : h('li', {}, h('a', { href: '#/health' }, `Not sealed yet: ${count(sealed.unsealed_frames)}`)),
      ),
    ],
  )

/**
 * A tag that is not configured any more is refused for the months that have none of it.
 *
 * @param {string} groups
 */
const asMonthWithoutTag = (groups) => (/** @type {unknown} */ fault) => {
  if (groups.includes('tag:') && fault instanceof ApiError && fault.param === 'group_by') return fault
  throw fault
}

/** @type {import('../views.d.ts').View} */
export const home = {
  name: 'home',
  title: 'Home',
  permission: 'read_money',
  show: (context) => {
    const { session, root, signal } = context
    const { load, note, shared } = refreshed(signal)
    const operation = h('div')
    const tiles = h('div')
    const changes = h('div')
    const chart = h('div', { class: 'stack' })
    const interval = select(intervals, 'day')
    const part = select(parts)
    const tag = filterInput('team')
    const tagField = field('Tag’s name', tag)
    const nextSignal = renewed(signal)
    const named = workspaceNames(session, signal)
    /** Reports of months that are over: what is posted later is in a later month. @type {Map<string, Report>} */
    const kept = new Map()
    /** @param {string} month @param {string} groups @param {AbortSignal} here @returns {Promise<Report | ApiError>} */
    const readMonth = async (month, groups, here) => {
      const key = `${month} ${groups}`
      const known = kept.get(key)
      if (known !== undefined) return known
      try {
        /** @type {Report} */
        const report = await session.get('/admin/v1/reports', { month, group_by: groups }, here)
        if (Date.now() > Date.parse(`${monthAfter(month, 1)}-01`) + dayMs) kept.set(key, report)
        return report
      } catch (fault) {
        return asMonthWithoutTag(groups)(fault)
      }
    }
    /** @param {number} months @param {string} groups @param {AbortSignal} here @returns {Promise<Row[]>} */
    const read = async (months, groups, here) => {
      const reports = await Promise.all(lastMonths(months).map((month) => readMonth(month, groups, here)))
      const found = reports.flatMap((report) => (report instanceof ApiError ? [] : [report]))
      if (found.length === 0) throw reports[0]
      return found.flatMap(({ rows }) => rows)
    }
    const show = () => {
      const here = nextSignal()
      const each = /** @type {Interval} */ (interval.value)
      const name = tag.value.trim()
      tagField.hidden = part.value !== 'tag'
      if (part.value === 'tag' && name === '') {
        replace(chart, h('p', { class: 'empty' }, 'Enter the name of a tag.'))
        return
      }
      const group = part.value === 'tag' ? `tag:${name}` : part.value
      load(
        chart,
        here,
        () => Promise.all([read(monthsOf[each], `${each},${group === 'provider' ? 'model' : group}`, here), named]),
        ([rows, names], shown) => stacked(rows, { interval: each, part: group, names, signal: shown }),
      )
    }
    root.append(
      heading('Home', note),
      operation,
      tiles,
      raisedAlerts(context, load),
      proposals(context, { load }),
      section(
        h('h2', {}, 'Spend of all workspaces (UTC)'),
        filterForm(field('Interval', interval), field('Stacked by', part), tagField),
        chart,
      ),
      section(h('h2', {}, 'Largest changes, whole UTC days'), changes),
    )
    showOperation(context, operation, load)
    const daily = shared(() => read(2, 'day,workspace,model', signal))
    load(
      tiles,
      signal,
      () => Promise.all([daily(), readOutcomes(context)]),
      ([rows, outcomes]) => {
        const today = utcDayAt(Date.now())
        const [before = '', month = ''] = lastMonths(2)
        const of = (/** @type {string} */ start) => rows.filter(({ group }) => (group['day'] ?? '').startsWith(start))
        return [
          h(
            'div',
            { class: 'tiles' },
            ...[
              /** @type {const} */ (['Today', today, `#/requests?from=${today}&to=${today}`]),
              /** @type {const} */ (['This month', month, '#/months']),
              /** @type {const} */ (['Last month', before, '#/months']),
            ].map(([name, start, href]) => tile(name, money(netOf(of(start))), requestsText(of(start)), href)),
            ...outcomeTiles(outcomes),
          ),
        ]
      },
    )
    load(
      changes,
      signal,
      () => Promise.all([daily(), named]),
      ([rows, names]) => [changesTable(rows, names)],
    )
    onFilter([interval, part, tag], signal, show)
    show()
  },
}
