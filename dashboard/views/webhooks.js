// @ts-check
import { h } from '../dom.js'
import { count, words } from '../format.js'
import { chargeHref, heading, idLink, load, section, state, table, time } from '../parts.js'
import { readList } from '../session.js'
import { virtualTable } from '../virtual-table.js'

/** @typedef {import('../types.d.ts').AlertDestination} AlertDestination */
/** @typedef {import('../types.d.ts').AlertRule} AlertRule */
/** @typedef {import('../types.d.ts').AdminEvent} AdminEvent */

/** @param {AlertDestination} destination */
const deliveryText = ({ type, waiting, waiting_since, given_up }) => {
  const parts = [
    ...(type === null ? [state('not configured', 'bad'), ' '] : []),
    ...(waiting === 0 ? [] : [state(`${count(waiting)} waiting`, 'busy'), ' since ', time(waiting_since), ' ']),
    ...(given_up === 0 ? [] : [state(`${count(given_up)} given up`, 'bad')]),
  ]
  return h('div', {}, ...(parts.length === 0 ? [state('nothing waits', 'good')] : parts))
}

/** @param {AlertDestination[]} found */
const destinationsTable = (found) =>
  table(
    'Destinations of alerts',
    /** @type {import('../parts.js').Column<AlertDestination>[]} */ ([
      { name: 'Destination', className: 'name', cell: ({ name }) => name },
      { name: 'Type', cell: ({ type }) => (type === null ? '–' : words(type)) },
      { name: 'Rules', numeric: true, cell: ({ rules }) => count(rules) },
      { name: 'Deliveries', className: 'wrap', cell: deliveryText },
    ]),
    found,
    'No destination yet: alerts.destinations of gateway.yaml names webhooks, Slack channels and addresses of mail.',
  )

/** Each alert with a destination that has not accepted it. @param {AlertRule[]} rules */
const undelivered = (rules) =>
  rules
    .flatMap(({ workspace, rule, alerts }) =>
      alerts.flatMap((alert) =>
        alert.destinations
          .filter((name) => !alert.delivered_to.includes(name))
          .map((destination) => ({ workspace, rule, alert, destination })),
      ),
    )
    .toSorted((one, other) => other.alert.raised_at.localeCompare(one.alert.raised_at))

/** @param {ReturnType<typeof undelivered>} rows @param {string} empty */
const undeliveredTable = (rows, empty) =>
  table(
    'Not delivered',
    /** @type {import('../parts.js').Column<(typeof rows)[number]>[]} */ ([
      { name: 'Destination', className: 'name', cell: ({ destination }) => destination },
      {
        name: 'State',
        cell: ({ alert }) =>
          Date.now() > Date.parse(alert.sent_until) ? state('given up', 'bad') : state('sent again', 'busy'),
      },
      {
        name: 'Why',
        className: 'wrap',
        cell: ({ alert, destination }) => {
          const failure = alert.failures.find((each) => each.destination === destination)
          return failure === undefined
            ? 'not tried yet'
            : h('span', {}, words(failure.reason), ', since ', time(failure.at))
        },
      },
      { name: 'Raised', cell: ({ alert }) => time(alert.raised_at) },
      { name: 'Workspace', className: 'name', cell: ({ workspace }) => workspace },
      { name: 'Rule', className: 'name', cell: ({ rule }) => rule },
    ]),
    rows,
    empty,
  )

/** @param {AdminEvent} event @param {string} member */
const detailOf = ({ detail }, member) => String(/** @type {Record<string, unknown>} */ (detail)[member] ?? '')

/** @type {import('../parts.js').Column<AdminEvent>[]} */
const deliveryColumns = [
  { name: 'Time', className: 'wide-time', narrow: 1, cell: (event) => time(event.time) },
  { name: 'Workspace', className: 'kind', narrow: 4, cell: ({ workspace }) => workspace ?? '' },
  { name: 'Rule', className: 'reference', narrow: 3, cell: (event) => detailOf(event, 'rule') },
  { name: 'Destination', className: 'reference', narrow: 2, cell: (event) => detailOf(event, 'destination') },
  {
    name: 'Alert',
    cell: (event) => h('span', { title: detailOf(event, 'alertId') }, detailOf(event, 'alertId')),
  },
]

/** @type {import('../parts.js').Column<AdminEvent>[]} */
const callbackColumns = [
  { name: 'Time', className: 'wide-time', narrow: 1, cell: (event) => time(event.time) },
  { name: 'Workspace', className: 'kind', narrow: 4, cell: ({ workspace }) => workspace ?? '' },
  {
    name: 'Video',
    className: 'reference',
    narrow: 3,
    cell: (event) => idLink(detailOf(event, 'taskId'), chargeHref(event.workspace ?? '', detailOf(event, 'taskId'))),
  },
  {
    name: 'State',
    className: 'status',
    narrow: 2,
    cell: (event) => (detailOf(event, 'givenUp') === 'true' ? state('given up', 'bad') : state('sent again', 'busy')),
  },
  { name: 'Why', narrow: 5, cell: (event) => `${words(detailOf(event, 'reason'))}, try ${detailOf(event, 'tries')}` },
]

/** @type {import('../views.d.ts').View} */
export const webhooks = {
  name: 'webhooks',
  title: 'Webhooks',
  permission: 'read_money',
  show: ({ session, root, signal, hrefTo }) => {
    const destinations = h('div')
    const waiting = h('div')
    root.append(
      heading('Webhooks'),
      section(
        h('h2', {}, 'Destinations of alerts'),
        destinations,
        h('p', { class: 'muted' }, 'Rules name destinations: ', h('a', { href: hrefTo('alerts') }, 'Alerts'), '.'),
      ),
      section(h('h2', {}, 'Not delivered'), waiting),
      section(
        h('h2', {}, 'Last deliveries'),
        virtualTable({
          label: 'Deliveries',
          columns: deliveryColumns,
          read: (cursor) => session.get('/admin/v1/events', { type: 'AlertDelivered', cursor, limit: 200 }, signal),
          signal,
          empty: 'Nothing was delivered yet.',
        }).element,
      ),
      section(
        h('h2', {}, 'Callbacks of videos that failed'),
        h(
          'p',
          { class: 'muted small' },
          'They go to the address that each request has: a failure is listed at the first try, and where no further one follows.',
        ),
        virtualTable({
          label: 'Failed callbacks',
          columns: callbackColumns,
          read: (cursor) => session.get('/admin/v1/events', { type: 'CallbackFailed', cursor, limit: 200 }, signal),
          signal,
          empty: 'No callback has failed.',
        }).element,
      ),
    )
    void load(
      destinations,
      signal,
      () => readList(session, '/admin/v1/alert-destinations', signal),
      (/** @type {AlertDestination[]} */ found) => [destinationsTable(found)],
    )
    void load(
      waiting,
      signal,
      async () => ({
        rules: /** @type {AlertRule[]} */ (await readList(session, '/admin/v1/alert-rules', signal)),
        /** @type {import('../types.d.ts').Page<AdminEvent>} */
        delivered: await session.get('/admin/v1/events', { type: 'AlertDelivered', limit: 1 }, signal),
      }),
      ({ rules, delivered }) => [
        undeliveredTable(
          undelivered(rules),
          delivered.data.length > 0 ? 'Every alert was delivered.' : 'No alert has been sent yet.',
        ),
      ],
    )
  },
}
