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
    if (!document.hidden) resolve()
    document.addEventListener('visibilitychange', () => resolve(), { once: true, signal })
    signal.addEventListener('abort', () => resolve())
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
  /** @type {Map<HTMLElement, () => Promise<void>>} */
  const parts = new Map()
  const note = h('span', { class: 'muted small' })
  let round = 0
  /** @param {boolean} isWhole */
  const showNote = (isWhole) =>
    isWhole
      ? replace(note, 'As of ', clock(new Date().toISOString()))
      : (note.querySelector('.state') ?? note.append(' ', state('not refreshed', 'bad')))
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
    void load(root, here, read, (answer) => {
      const next = new AbortController()
      keep(answer, next)
      return show(answer, AbortSignal.any([here, next.signal]))
    })
    parts.set(root, async () => {
      if (here.aborted) return
      const answer = await read().catch((fault) => {
        if (!here.aborted) throw fault
      })
      if (answer === undefined || here.aborted || JSON.stringify(answer) === known || !isAtRest()) return
      const next = new AbortController()
      if (exchange(root, show(answer, AbortSignal.any([here, next.signal])))) keep(answer, next)
      else next.abort()
    })
  }
  const follow = async () => {
    showNote(true)
    while (!signal.aborted) {
      await pause(refreshMs, signal)
      await inSight(signal)
      if (signal.aborted || !isAtRest()) continue
      round += 1
      const results = await Promise.allSettled([...parts.values()].map((again) => again()))
      if (!signal.aborted) showNote(results.every(({ status }) => status === 'fulfilled'))
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
