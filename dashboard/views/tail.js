// @ts-check
import { h, pause, replace } from '../dom.js'
import { count, money, shortId, words } from '../format.js'
import { clock, errorPanel, heading, idLink } from '../parts.js'
import { ApiError } from '../session.js'
import { eventReader } from '../sse.js'

/** @typedef {import('../types.d.ts').ToldEvent} ToldEvent */

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

/** @param {ToldEvent} event @param {import('../views.d.ts').ViewContext} context */
const line = ({ sequence, type, time: at, workspace, actor, detail }, { scope, session, hrefTo }) => {
  const isOfAll = scope === null && session.isAdmin
  const id = charged.map((name) => detail[name]).find((value) => value !== undefined)
  const isExplained = id !== undefined && (detail['holdId'] === undefined || String(id).startsWith('task_'))
  const link = !isExplained || isOfAll ? null : idLink(String(id), hrefTo('charges', String(id)))
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
      ...(isOfAll && workspace !== null ? [member(['workspace', workspace])] : []),
      ...others.map(member),
      ...(actor === null ? [] : [member(['by', actor])]),
      h('span', { class: 'member muted' }, `frame ${count(sequence)}`),
    ),
  )
}

/** @type {import('../views.d.ts').View} */
export const tail = {
  name: 'tail',
  title: 'Live tail',
  show: (context) => {
    const { session, scope, root, signal } = context
    const list = h('ol', { class: 'tail', 'aria-label': 'Events, newest first' })
    const status = h('p', { role: 'status', 'aria-live': 'polite', class: 'muted' }, 'Connecting…')
    const trouble = h('div')
    const toggle = h('button', { type: 'button', 'aria-pressed': 'false' }, 'Pause')
    root.append(
      heading('Live tail', toggle),
      h(
        'p',
        { class: 'muted small' },
        `What is written to the log from now on; the last ${linesMax} lines are kept here.`,
      ),
      status,
      trouble,
      list,
    )

    let isPaused = false
    let sinceTold = 0
    let missed = 0
    /** @type {ToldEvent[]} */
    let waiting = []
    let isDue = false

    const draw = () => {
      isDue = false
      if (isPaused) return
      const fresh = waiting.splice(0).slice(-linesMax).toReversed()
      list.prepend(...fresh.map((event) => line(event, context)))
      while (list.children.length > linesMax) list.lastElementChild?.remove()
    }
    const drawSoon = () => {
      if (isDue) return
      isDue = true
      requestAnimationFrame(draw)
    }
    /** @param {string} name @param {string} data */
    const hear = (name, data) => {
      const told = JSON.parse(data)
      if (name === 'position') status.textContent = 'Live. Waiting for the next event.'
      if (name === 'missed') missed += told.events
      if (name === 'end' && told.reason === 'key') throw new ApiError(401, 'The key does not work any more.')
      if (name !== 'event') return
      sinceTold += 1
      waiting.push(told)
      if (waiting.length > 2 * linesMax) waiting = waiting.slice(-linesMax)
      if (!isPaused) drawSoon()
    }
    const announce = () => {
      if (isPaused || (sinceTold === 0 && missed === 0)) return
      const more = missed === 0 ? '' : ` ${count(missed)} came too fast to be shown.`
      status.textContent = `Live. ${count(sinceTold)} ${sinceTold === 1 ? 'event' : 'events'} in the last ${announceMs / 1_000} s.${more}`
      sinceTold = 0
      missed = 0
    }
    const timer = setInterval(announce, announceMs)
    signal.addEventListener('abort', () => clearInterval(timer))

    toggle.addEventListener('click', () => {
      isPaused = !isPaused
      toggle.setAttribute('aria-pressed', String(isPaused))
      toggle.textContent = isPaused ? 'Go on' : 'Pause'
      status.textContent = isPaused ? 'Paused. Events are kept until you go on.' : 'Live.'
      if (!isPaused) drawSoon()
    })

    const read = async () => {
      const response = await session.stream(scope, '/tail', signal)
      replace(trouble)
      const take = eventReader(hear)
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
      for (let piece = await reader?.read(); piece !== undefined && !piece.done; piece = await reader?.read())
        take(piece.value)
    }
    const follow = async () => {
      while (!signal.aborted) {
        try {
          await read()
          status.textContent = 'The connection ended; connecting again.'
        } catch (fault) {
          if (signal.aborted) return
          status.textContent = 'Not connected; trying again.'
          replace(
            trouble,
            errorPanel(fault instanceof ApiError ? fault : new ApiError(0, 'The connection broke.'), null),
          )
          if (fault instanceof ApiError && (fault.status === 401 || fault.status === 403)) return
        }
        await pause(againMs, signal)
      }
    }
    void follow()
  },
}
