// @ts-check
import { h, pause, replace } from '../dom.js'
import { clock, heading, idLink, state, time } from '../parts.js'
import { virtualTable } from '../virtual-table.js'

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
const stateOf = ({ status, progress, fail_reason }) =>
  h(
    'span',
    { title: fail_reason },
    state(status, tones[status]),
    status === 'IN_PROGRESS' || status === 'SUBMITTED' ? ` ${progress}%` : '',
    fail_reason === null ? '' : h('span', { class: 'muted' }, ` ${fail_reason}`),
  )

/** @param {(view: string, parameter?: string) => string} hrefTo @returns {import('../parts.js').Column<Task>[]} */
const columnsOf = (hrefTo) => [
  { name: 'Queued', className: 'wide-time', narrow: 1, cell: ({ queued_at }) => time(queued_at) },
  { name: 'Video', className: 'reference', narrow: 5, cell: ({ id }) => idLink(id, hrefTo('charges', id)) },
  { name: 'State', className: 'status', narrow: 4, cell: stateOf },
  { name: 'Model', className: 'kind', narrow: 3, cell: ({ model }) => model },
  { name: 'Ended', className: 'tokens', cell: ({ finished_at }) => (finished_at === null ? '' : clock(finished_at)) },
  { name: 'Held, USD', className: 'kind', cell: () => null, amount: ({ held }) => held },
  { name: 'Charged, USD', className: 'kind', narrow: 2, cell: () => null, amount: ({ total }) => total },
]

/** @type {import('../views.d.ts').View} */
export const videos = {
  name: 'videos',
  title: 'Videos',
  permission: 'read_money',
  show: ({ session, scope, root, signal, hrefTo }) => {
    const rows = h('div')
    let isSomeOpen = false
    /** What is replaced, so that it reads no further. */
    let shown = new AbortController()
    const show = async () => {
      const next = new AbortController()
      isSomeOpen = false
      const { element, ready } = virtualTable({
        label: 'Videos',
        columns: columnsOf(hrefTo),
        read: async (cursor) => {
          /** @type {import('../types.d.ts').Page<Task>} */
          const page = await session.ledger(scope, '/tasks', { cursor, limit: 200 }, signal)
          isSomeOpen ||= page.data.some(({ finished_at }) => finished_at === null)
          return page
        },
        signal: AbortSignal.any([signal, next.signal]),
        empty: 'No video yet. What is submitted appears here with its state.',
      })
      await ready
      shown.abort()
      shown = next
      if (!signal.aborted) replace(rows, element)
    }
    const isAtRest = () => rows.querySelector('.virtual')?.scrollTop === 0 && !rows.contains(document.activeElement)
    const follow = async () => {
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
