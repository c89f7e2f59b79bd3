// @ts-check
import { append, h, pause, replace } from './dom.js'
import { clock, load, state } from './parts.js'

/**
 * As `load`; `shown` ends with what was drawn.
 *
 * @typedef {<Answer>(root: HTMLElement, signal: AbortSignal, read: () => Promise<Answer>, show: (answer: Answer, shown: AbortSignal) => readonly import('./dom.js').Child[]) => void} Load
 */

const refreshMs = 30_000
const focusable = 'a[href], button, input, select, summary, [tabindex]'

/** Resolves once the page is in sight, or the view is left. @param {AbortSignal} signal @returns {Promise<void>} */
const inSight = (signal) =>
  new Promise((resolve) => {
    const end = () => {
      document.removeEventListener('visibilitychange', end)
      signal.removeEventListener('abort', end)
      resolve()
    }
    if (!document.hidden || signal.aborted) return resolve()
    document.addEventListener('visibilitychange', end)
    signal.addEventListener('abort', end)
  })

/** Whether a change is seen and disturbs nothing: text that is selected, or a dialog, which goes back to what opened it. */
const isAtRest = () => document.querySelector('dialog[open]') === null && (document.getSelection()?.isCollapsed ?? true)

/** @param {Element} element */
const nameOf = (element) =>
  `${element.tagName} ${element.getAttribute('href') ?? element.getAttribute('aria-label') ?? element.textContent}`

/** What has the focus, or would have it: the same of those with the same name. @param {Element} root @param {string} name */
const named = (root, name) =>
  /** @type {HTMLElement[]} */ ([...root.querySelectorAll(focusable)]).filter((each) => nameOf(each) === name)

/**
 * Puts new content in place of the old, with the same focus and the same scroll of its tables.
 *
 * @param {HTMLElement} root
 * @param {readonly import('./dom.js').Child[]} children
 * @returns {boolean} false: the old is left, since what has the focus would be gone
 */
const exchange = (root, children) => {
  const next = h('div')
  append(next, children)
  const focused = root.contains(document.activeElement) ? document.activeElement : null
  const name = focused === null ? '' : nameOf(focused)
  const successor =
    focused === null ? null : named(next, name)[named(root, name).indexOf(/** @type {HTMLElement} */ (focused))]
  if (successor === undefined) return false
  const scrolled = [...root.querySelectorAll('.table-scroll')].map(({ scrollLeft }) => scrollLeft)
  root.replaceChildren(...next.childNodes)
  for (const [place, table] of root.querySelectorAll('.table-scroll').entries()) table.scrollLeft = scrolled[place] ?? 0
  successor?.focus({ preventScroll: true })
  return true
}

/**
 * Parts of a view that are read again while the view is open and in sight.
 *
 * @param {AbortSignal} signal of the view
 */
export const refreshed = (signal) => {
  /** Each reads again: whether what is shown is what was read. @type {Map<HTMLElement, () => Promise<boolean>>} */
  const parts = new Map()
  /** Parts whose first read has not succeeded. @type {Set<HTMLElement>} */
  const awaited = new Set()
  const note = h('span', { class: 'muted small' })
  let round = 0
  const showTime = () => replace(note, 'As of ', clock(new Date().toISOString()))
  const showFailed = () => note.querySelector('.state') ?? note.append(' ', state('not refreshed', 'bad'))
  /** @type {Load} */
  const loadPart = (root, here, read, show) => {
    let known = ''
    let drawn = new AbortController()
    /** @param {unknown} answer @param {AbortController} next */
    const keep = (answer, next) => {
      drawn.abort()
      drawn = next
      known = JSON.stringify(answer)
    }
    awaited.add(root)
    void load(root, here, read, (answer) => {
      const next = new AbortController()
      keep(answer, next)
      awaited.delete(root)
      if (awaited.size === 0 && note.childNodes.length === 0) showTime()
      return show(answer, AbortSignal.any([here, next.signal]))
    })
    parts.set(root, async () => {
      if (here.aborted) return true
      const answer = await read().catch((fault) => {
        if (!here.aborted) throw fault
      })
      if (answer === undefined || here.aborted || JSON.stringify(answer) === known) return true
      if (!isAtRest()) return false
      const next = new AbortController()
      const isShown = exchange(root, show(answer, AbortSignal.any([here, next.signal])))
      if (isShown) keep(answer, next)
      else next.abort()
      return isShown
    })
  }
  const follow = async () => {
    while (!signal.aborted) {
      await pause(refreshMs, signal)
      await inSight(signal)
      if (signal.aborted || !isAtRest()) continue
      round += 1
      const results = await Promise.allSettled([...parts.values()].map((again) => again()))
      if (signal.aborted) return
      if (results.some(({ status }) => status === 'rejected')) showFailed()
      else if (results.every((each) => each.status === 'fulfilled' && each.value)) showTime()
    }
  }
  void follow()
  return {
    load: loadPart,
    /** When the parts were read last. */
    note,
    /** What several parts show is read once for all of them. @template Answer @param {() => Promise<Answer>} read */
    shared: (read) => {
      let readIn = -1
      /** @type {Promise<Answer>} */
      let answer
      return () => {
        if (readIn !== round) {
          readIn = round
          answer = read()
          answer.catch(() => {
            readIn = -1 // Another try reads again.
          })
        }
        return answer
      }
    },
  }
}
