// @ts-check
import { h, pause, replace } from '../dom.js'
import { clock, heading, idLink, state, time, twoLines } from '../parts.js'
import { keyNames } from '../session.js'
import { virtualTable } from '../virtual-table.js'
import { showCharge } from './charge.js'

/** @typedef {import('../types.d.ts').Task} Task */

const tones = /** @type {Readonly<Record<Task['status'], 'plain' | 'good' | 'bad' | 'busy'>>} */ ({
  QUEUED: 'busy',
  SUBMITTED: 'busy',
  IN_PROGRESS: 'busy',
  SUCCESS: 'good',
  FAILURE: 'bad',
})
const againMs = 5_000

/** @param {Task} task */
const stateCell = ({ status, progress, fail_reason: reason }) => {
  const percent = status === 'IN_PROGRESS' || status === 'SUBMITTED' ? ` ${progress}%` : ''
  return twoLines(h('span', {}, state(status, tones[status]), percent), reason, reason ?? '')
}

/** @param {(view: string, parameter?: string) => string} hrefTo @param {ReadonlyMap<string, string>} keys @returns {import('../parts.js').Column<Task>[]} */
const columnsOf = (hrefTo, keys) => [
  {
    name: 'Queued, video',
    className: 'reference',
    narrow: 1,
    cell: ({ id, queued_at }) => twoLines(time(queued_at), idLink(id, hrefTo('videos', id))),
  },
  { name: 'State', narrow: 4, cell: stateCell },
  {
    name: 'Model, key',
    className: 'provider',
    narrow: 3,
    cell: ({ model, key }) => twoLines(model, h('span', { title: key }, keys.get(key) ?? key)),
  },
  { name: 'Ended', className: 'took', cell: ({ finished_at }) => (finished_at === null ? '' : clock(finished_at)) },
  {
    name: 'Held, USD',
    className: 'amount',
    cell: () => null,
    amount: ({ held, finished_at }) => (finished_at === null ? held : '0'),
  },
  { name: 'Charged, USD', className: 'amount', narrow: 2, cell: () => null, amount: ({ total }) => total },
]

/** @type {import('../views.d.ts').View} */
export const videos = {
  name: 'videos',
  title: 'Videos',
  permission: 'read_money',
  show: (context) => {
    if (context.parameter !== '') {
      showCharge(context, 'videos')
      return
    }
    const { session, scope, root, signal, hrefTo } = context
    const rows = h('div')
    /** @type {ReadonlyMap<string, string>} */
    let keys = new Map()
    let isSomeOpen = false
    /** What is replaced, so that it reads no further. */
    let shown = new AbortController()
    const show = async () => {
      const next = new AbortController()
      isSomeOpen = false
      const { element, ready } = virtualTable({
        label: 'Videos',
        columns: columnsOf(hrefTo, keys),
        read: async (cursor) => {
          /** @type {import('../types.d.ts').Page<Task>} */
          const page = await session.ledger(scope, '/tasks', { cursor, limit: 200 }, signal)
          isSomeOpen ||= page.data.some(({ finished_at }) => finished_at === null)
          return page
        },
        signal: AbortSignal.any([signal, next.signal]),
        empty: 'No video yet. What is submitted appears here with its state.',
        lines: 2,
      })
      await ready
      shown.abort()
      shown = next
      if (!signal.aborted) replace(rows, element)
    }
    const isAtRest = () =>
      (rows.querySelector('.virtual')?.scrollTop ?? 0) === 0 && !rows.contains(document.activeElement)
    const follow = async () => {
      keys = await keyNames(context)
      for (await show(); !signal.aborted; ) {
        await pause(againMs, signal)
        if (isSomeOpen && isAtRest() && !document.hidden && !signal.aborted) await show()
      }
    }
    root.append(
      heading('Videos', h('button', { type: 'button', click: () => void show() }, 'Refresh')),
      h('p', { class: 'muted small' }, 'While some are open the list is refreshed every few seconds.'),
      rows,
    )
    void follow()
  },
}
