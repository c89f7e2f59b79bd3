// @ts-check
import { append, h, pause, replace } from '../dom.js'
import { count, words } from '../format.js'
import { errorPanel, facts, heading, section, state, table, time } from '../parts.js'
import { isOfAll, keyNames, workspaceNames } from '../session.js'
import { refusalsSection } from './refusals.js'

/** @typedef {import('../types.d.ts').Health} Health */

const againMs = 2_000

/** @param {number | null} value @param {string} [behind] */
const frames = (value, behind = '') =>
  value === null ? 'not known' : `${count(value)} ${value === 1 ? 'frame' : 'frames'}${behind}`

/**
 * What administrators see alone.
 *
 * @param {Health} health
 * @returns {readonly (readonly [string, string | Node])[]}
 */
const positions = ({ log, ledger, tables, sealed }) =>
  log === undefined || ledger === undefined || sealed === undefined
    ? []
    : [
        ['Log ends at frame', log.sequence === null ? 'not known' : count(log.sequence)],
        [
          'Ledger in memory',
          frames(log.sequence === null ? null : Math.max(0, log.sequence - ledger.sequence), ' behind'),
        ],
        [
          'Tables',
          tables.sequence === null ? state('cannot be read', 'bad') : frames(tables.behind_frames ?? null, ' behind'),
        ],
        ['Sealed up to frame', count(sealed.size)],
        ['Not sealed yet', frames(sealed.unsealed_frames)],
      ]

/** @param {{ ok: boolean, reason?: string }} check */
const stateOf = ({ ok, reason }) => {
  if (!ok) return state('unhealthy', 'bad')
  return reason === undefined ? state('healthy', 'good') : state('rejected', 'busy')
}

/** @type {import('../parts.js').Column<readonly [string, { ok: boolean, reason?: string }]>} */
const why = { name: 'Why', className: 'wrap', cell: ([, { reason = '' }]) => reason }

/** @param {Health} health */
const shown = (health) => {
  const { at, ready, checks, tables } = health
  return [
    h(
      'p',
      { class: 'runway' },
      state(ready ? 'requests are served and recorded' : 'requests cannot be served', ready ? 'good' : 'bad'),
      h('span', { class: 'muted' }, ' as of ', time(at)),
    ),
    facts([
      ['Tables lag', tables.behind_seconds === null ? 'not known' : `${tables.behind_seconds.toFixed(1)} s`],
      ...positions(health),
    ]),
    section(
      h('h2', {}, 'Checks'),
      table(
        'Checks',
        /** @type {import('../parts.js').Column<readonly [string, { ok: boolean, reason?: string }]>[]} */ ([
          { name: 'What', cell: ([name]) => words(name) },
          { name: 'State', cell: ([, check]) => stateOf(check) },
          ...(Object.values(checks).some(({ reason }) => reason !== undefined) ? [why] : []),
        ]),
        Object.entries(checks),
      ),
    ),
  ]
}

/** @type {import('../views.d.ts').View} */
export const health = {
  name: 'health',
  title: 'Health',
  permission: 'read',
  show: (context) => {
    const { session, scope, root, signal } = context
    const body = h('div', { class: 'stack' })
    append(root, [
      heading('Health and lag'),
      h('p', { class: 'muted small' }, 'Of the edge that serves this page; refreshed every two seconds.'),
      body,
    ])
    const showRefusals = async () => {
      const [keys, workspaces] = await Promise.all([keyNames(context), workspaceNames(session, signal)])
      if (!signal.aborted) root.append(refusalsSection(context, { keys, workspaces }))
    }
    if (isOfAll(context)) void showRefusals()
    const follow = async () => {
      while (!signal.aborted) {
        try {
          /** @type {Health} */
          const now = await session.ledger(scope, '/health', {}, signal)
          if (!signal.aborted) replace(body, ...shown(now))
        } catch (fault) {
          if (!signal.aborted) replace(body, errorPanel(fault, null))
        }
        await pause(againMs, signal)
      }
    }
    void follow()
  },
}
