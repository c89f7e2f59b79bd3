// @ts-check
import { h, pause, replace } from '../dom.js'
import { count, money, shortId, words } from '../format.js'
import { clock, errorPanel, heading, idLink } from '../parts.js'
import { ApiError, isOfAll } from '../session.js'
import { eventReader } from '../sse.js'

/** @typedef {import('../types.d.ts').LoggedEvent} LoggedEvent */

const linesMax = 500
const announceMs = 5_000
const againMs = 3_000
const amounts = new Set(['amount', 'total', 'reserved', 'cost', 'held', 'price', 'creditLimit', 'includedCredit'])
const charged = ['requestId', 'taskId', 'holdId']
/** Of use to programs: the charge's own page has them. */
const leftOut = new Set(['owner', 'allowanceId', 'priceVersion', 'deadline', 'vendorTaskId', 'level'])

/** @param {readonly [string, string | number | boolean]} member */
const member = ([name, value]) =>
  h(
    'span',
    { class: 'member', title: String(value) },
    h('span', { class: 'muted' }, words(name.replaceAll(/[A-Z]/g, ' $&')).toLowerCase()),
    ' ',
    amounts.has(name) ? money(String(value)) : shortId(String(value)),
  )

/** @param {LoggedEvent} event @param {import('../views.d.ts').ViewContext} context */
const line = ({ sequence, type, time: at, workspace, actor, detail }, context) => {
  const isAll = isOfAll(context)
  const id = charged.map((name) => detail[name]).find((value) => value !== undefined)
  const isExplained = id !== undefined && (detail['holdId'] === undefined || String(id).startsWith('task_'))
  const link = !isExplained || isAll ? null : idLink(String(id), context.hrefTo('charges', String(id)))
  const others = Object.entries(detail).filter(
    ([name]) => !leftOut.has(name) && !(link !== null && charged.includes(name)),
  )
  return h(
    'li',
    {},
    clock(at),
    h('strong', {}, type),
    h(
      'span',
      { class: 'members' },
      link,
      ...(isAll && workspace !== null ? [member(['workspace', workspace])] : []),
      ...others.map(member),
      ...(actor === null ? [] : [member(['by', actor])]),
      sequence === undefined ? null : h('span', { class: 'member muted' }, `frame ${count(sequence)}`),
    ),
  )
}

/** The lines of a tail: as many as are kept, drawn once a frame, and announced every few seconds. */
class LiveList {
  #context
  #isPaused = false
  #isDue = false
  #sinceAnnounced = 0
  #missed = 0
  /** @type {LoggedEvent[]} */
  #waiting = []
  list = h('ol', { class: 'tail', 'aria-label': 'Events, newest first' })
  status = h('p', { role: 'status', 'aria-live': 'polite', class: 'muted' }, 'Connecting…')
  toggle = h('button', { type: 'button', 'aria-pressed': 'false' }, 'Pause')

  /** @param {import('../views.d.ts').ViewContext} context */
  constructor(context) {
    this.#context = context
    const timer = setInterval(() => this.#announce(), announceMs)
    context.signal.addEventListener('abort', () => clearInterval(timer))
    this.toggle.addEventListener('click', () => this.#pauseOrGoOn())
  }

  /** @param {string} name @param {string} data */
  receive(name, data) {
    const received = JSON.parse(data)
    if (name === 'position') this.status.textContent = 'Live. Waiting for the next event.'
    if (name === 'missed') this.#missed += received.events
    if (name !== 'event') return
    this.#sinceAnnounced += 1
    this.#waiting.push(received)
    if (this.#waiting.length > 2 * linesMax) this.#waiting = this.#waiting.slice(-linesMax)
    this.#drawSoon()
  }

  #drawSoon() {
    if (this.#isDue || this.#isPaused) return
    this.#isDue = true
    requestAnimationFrame(() => {
      this.#isDue = false
      if (!this.#isPaused) this.#draw()
    })
  }

  #draw() {
    const fresh = this.#waiting.splice(0).slice(-linesMax).toReversed()
    this.list.prepend(...fresh.map((event) => line(event, this.#context)))
    while (this.list.children.length > linesMax) this.list.lastElementChild?.remove()
  }

  #announce() {
    if (this.#isPaused || (this.#sinceAnnounced === 0 && this.#missed === 0)) return
    const events = `${count(this.#sinceAnnounced)} ${this.#sinceAnnounced === 1 ? 'event' : 'events'}`
    const more = this.#missed === 0 ? '' : ` ${count(this.#missed)} came too fast to be shown.`
    this.status.textContent = `Live. ${events} in the last ${announceMs / 1_000} s.${more}`
    this.#sinceAnnounced = 0
    this.#missed = 0
  }

  #pauseOrGoOn() {
    this.#isPaused = !this.#isPaused
    this.toggle.setAttribute('aria-pressed', String(this.#isPaused))
    this.toggle.textContent = this.#isPaused ? 'Resume' : 'Pause'
    this.status.textContent = this.#isPaused ? 'Paused. Events are kept until you resume.' : 'Live.'
    this.#drawSoon()
  }
}

/** Reads the tail until its connection ends.
 *
 * @param {import('../views.d.ts').ViewContext} context
 * @param {LiveList} lines
 * @param {() => void} onOpen
 */
const read = async ({ session, scope, signal }, lines, onOpen) => {
  const response = await session.stream(scope, '/tail', signal)
  onOpen()
  const take = eventReader((name, data) => lines.receive(name, data))
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let piece = await reader?.read(); piece !== undefined && !piece.done; piece = await reader?.read())
    take(piece.value)
}

/** @type {import('../views.d.ts').View} */
export const tail = {
  name: 'tail',
  title: 'Live tail',
  permission: 'read_money',
  show: (context) => {
    const { root, signal } = context
    const lines = new LiveList(context)
    const faultPanel = h('div')
    root.append(
      heading('Live tail', lines.toggle),
      h(
        'p',
        { class: 'muted small' },
        `What is written to the log from now on; the last ${linesMax} lines are kept here.`,
      ),
      lines.status,
      faultPanel,
      lines.list,
    )
    const follow = async () => {
      while (!signal.aborted) {
        try {
          await read(context, lines, () => replace(faultPanel))
          lines.status.textContent = 'The connection ended; connecting again.'
        } catch (fault) {
          if (signal.aborted) return
          lines.status.textContent = 'Not connected; trying again.'
          const received = fault instanceof ApiError ? fault : new ApiError(0, 'The connection broke.')
          replace(faultPanel, errorPanel(received, null))
        }
        await pause(againMs, signal)
      }
    }
    void follow()
  },
}
