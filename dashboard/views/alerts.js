// @ts-check
import { h } from '../dom.js'
import { dayMs, money, words } from '../format.js'
import { operationButton } from '../operations.js'
import { heading, load, section, state, table, time } from '../parts.js'
import { readList } from '../session.js'

/** @typedef {import('../types.d.ts').AlertRule} AlertRule */

/** With its unit. @param {AlertRule['measure']} measure @param {string} figure */
const figureText = (measure, figure) => {
  if (measure === 'error_rate') return `${figure} %`
  return measure === 'runway_days' ? `${figure} days` : `${money(figure)} USD`
}

/** @param {AlertRule['alerts'][number]} alert */
const alertText = ({ measure, period, figure, raised_at, destinations, delivered_to }) => {
  const left = destinations.filter((name) => !delivered_to.includes(name))
  return h(
    'div',
    { title: `of ${period}` },
    `${figureText(measure, figure)}, `,
    time(raised_at),
    ' ',
    left.length === 0 ? state('delivered', 'good') : state(`not delivered to ${left.join(', ')}`, 'bad'),
  )
}

const shownDays = 7

/** Of each rule the last alert, and those that are not delivered; shown where there are any. @param {import('../views.d.ts').ViewContext} context @param {import('../refresh.js').Load} load */
export const raisedAlerts = ({ session, scope, signal, hrefTo }, load) => {
  const root = h('div')
  const since = new Date(Date.now() - shownDays * dayMs).toISOString()
  /** @param {AlertRule[]} rules */
  const show = (rules) => {
    const raised = rules
      .flatMap((rule) => rule.alerts.map((alert) => ({ rule, alert })))
      .filter(({ alert }) => alert.raised_at >= since)
      .toSorted((one, other) => other.alert.raised_at.localeCompare(one.alert.raised_at))
    if (raised.length === 0) return []
    return [
      section(
        h('h2', {}, h('a', { href: hrefTo('alerts') }, `Last alerts, ${shownDays} days`)),
        table(
          'Raised alerts',
          /** @type {import('../parts.js').Column<(typeof raised)[number]>[]} */ ([
            { name: 'Workspace', className: 'name', cell: ({ rule }) => rule.workspace },
            { name: 'Rule', className: 'name', cell: ({ rule }) => rule.rule },
            { name: 'Measure', cell: ({ alert }) => words(alert.measure) },
            { name: 'Threshold', numeric: true, cell: ({ alert }) => figureText(alert.measure, alert.threshold) },
            { name: 'Alert', className: 'wrap', cell: ({ alert }) => alertText(alert) },
          ]),
          raised,
        ),
      ),
    ]
  }
  load(
    root,
    signal,
    () => readList(session, '/admin/v1/alert-rules', signal, scope === null ? {} : { workspace: scope }),
    show,
  )
  return root
}

/** @type {import('../views.d.ts').View} */
export const alerts = {
  name: 'alerts',
  title: 'Alerts',
  permission: 'read_money',
  show: ({ session, scope, root, signal }) => {
    const body = h('div')
    const permission = /** @type {const} */ ('configure')
    const path = '/admin/v1/workspaces/{id}/alert-rules/{key}'
    const again = () =>
      void load(
        body,
        signal,
        () => readList(session, '/admin/v1/alert-rules', signal, scope === null ? {} : { workspace: scope }),
        (/** @type {AlertRule[]} */ found) => [rulesTable(found)],
      )
    /** @param {AlertRule} rule */
    const buttons = ({ workspace: id, rule: key, measure, threshold, destinations, key_id, tag }) =>
      h(
        'span',
        { class: 'buttons' },
        operationButton(session, {
          operation: `PUT ${path}`,
          ids: { id, key },
          permission,
          label: 'Change',
          title: `Change ${key} of ${id}`,
          values: {
            ...{ measure, threshold, destinations },
            ...(key_id === null ? {} : { key_id }),
            ...(tag === null ? {} : { tag }),
          },
          done: again,
        }),
        operationButton(session, {
          operation: `DELETE ${path}`,
          ids: { id, key },
          permission,
          label: 'Remove',
          title: `Remove ${key} of ${id}`,
          isDangerous: true,
          done: again,
        }),
      )
    /** @param {AlertRule[]} found */
    const rulesTable = (found) =>
      table(
        'Alert rules',
        /** @type {import('../parts.js').Column<AlertRule>[]} */ ([
          { name: 'Workspace', className: 'name', cell: ({ workspace }) => workspace },
          { name: 'Rule', className: 'name', cell: ({ rule }) => rule },
          { name: 'Measure', cell: ({ measure }) => words(measure) },
          {
            name: 'Of',
            cell: ({ key_id, tag }) => h('span', { class: 'id', title: key_id ?? tag ?? '' }, key_id ?? tag ?? ''),
          },
          {
            name: 'Now',
            numeric: true,
            cell: ({ measure, figure }) => (figure === null ? '–' : figureText(measure, figure)),
          },
          { name: 'Threshold', numeric: true, cell: ({ measure, threshold }) => figureText(measure, threshold) },
          { name: 'Sent to', cell: ({ destinations }) => destinations.join(', ') },
          {
            name: 'Last alerts',
            className: 'wrap',
            cell: ({ alerts }) => h('div', {}, ...alerts.map(alertText)),
          },
          ...(session.may(permission) ? [{ name: 'Change', cell: buttons }] : []),
        ]),
        found,
        'No alert rule yet: a threshold on spend, balance, runway, error rate or unreconciled invoices, and where it is sent.',
      )
    root.append(
      heading(
        'Alerts',
        operationButton(session, {
          operation: `PUT ${path}`,
          ids: scope === null ? {} : { id: scope },
          asked: { id: 'workspace', key: 'name' },
          permission,
          label: 'Set a rule',
          isPrimary: true,
          done: again,
        }),
      ),
      body,
    )
    again()
  },
}
