// @ts-check

/** @typedef {Node | string | number | null | false | undefined} Child */

/**
 * @param {HTMLElement} element
 * @param {string} name
 * @param {unknown} value
 */
const setProperty = (element, name, value) => {
  if (value === null || value === undefined || value === false) return
  if (typeof value === 'function') element.addEventListener(name, /** @type {EventListener} */ (value))
  else element.setAttribute(name, value === true ? '' : String(value))
}

/**
 * An element with attributes, listeners (where the value is a function) and children. Text is only ever text: nothing is parsed.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Readonly<Record<string, unknown>>} [properties]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export const h = (tag, properties = {}, ...children) => {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) setProperty(element, name, value)
  append(element, children)
  return element
}

/**
 * @param {Element} parent
 * @param {readonly Child[]} children
 */
export const append = (parent, children) => {
  for (const child of children)
    if (child !== null && child !== undefined && child !== false)
      parent.append(typeof child === 'number' ? String(child) : child)
}

/**
 * @param {Element} parent
 * @param {...Child} children
 */
export const replace = (parent, ...children) => {
  parent.replaceChildren()
  append(parent, children)
}

/** Resolves after so long, or at once when the view is left.
 *
 * @param {number} ms
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export const pause = (ms, signal) =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })

/** What the address asks of its view: the query of its hash. */
export const readAddress = () => new URLSearchParams(location.hash.split('?')[1] ?? '')

/** Puts filters into the address, without those that are empty. @param {string} href of the view @param {Readonly<Record<string, string>>} filters */
export const keepInAddress = (href, filters) => {
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== '')).toString()
  history.replaceState(null, '', `${href}${query === '' ? '' : `?${query}`}`)
}

/** Signals one after the other: each ends the one before, and all end with the view.
 *
 * @param {AbortSignal} signal
 * @returns {() => AbortSignal}
 */
export const renewed = (signal) => {
  let current = new AbortController()
  return () => {
    current.abort()
    current = new AbortController()
    return AbortSignal.any([signal, current.signal])
  }
}

const filterMs = 400

/** Applies filters while they are typed, once per pause, and at once when they are left.
 *
 * @param {readonly HTMLElement[]} controls
 * @param {AbortSignal} signal
 * @param {() => void} apply
 */
export const onFilter = (controls, signal, apply) => {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  const flush = () => {
    if (timer === undefined) return
    clearTimeout(timer)
    timer = undefined
    if (!signal.aborted) apply()
  }
  const schedule = () => {
    clearTimeout(timer)
    timer = setTimeout(flush, filterMs)
  }
  for (const control of controls) {
    control.addEventListener('input', schedule)
    control.addEventListener('change', flush)
  }
  signal.addEventListener('abort', () => clearTimeout(timer))
}

/** A form of filters: nothing is sent anywhere.
 *
 * @param {...Child} fields
 */
export const filterForm = (...fields) =>
  h('form', { class: 'filters', submit: (/** @type {Event} */ event) => event.preventDefault() }, ...fields)
