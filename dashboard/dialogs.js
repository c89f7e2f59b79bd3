// @ts-check
import { h, replace } from './dom.js'
import { acknowledge, errorPanel } from './parts.js'

/** @typedef {import('./dom.js').Child} Child */

/**
 * A dialog with a form: Escape and "Cancel" leave it, `confirm` does the work and closes it, unless the work
 * answers `stay`. A refusal is shown in it.
 *
 * @param {{
 *   title: string,
 *   body: readonly Child[],
 *   confirm: string,
 *   isDangerous?: boolean,
 *   work: (confirm: HTMLButtonElement) => Promise<void | 'stay'>,
 * }} options
 */
export const ask = ({ title, body, confirm, isDangerous = false, work }) => {
  const before = document.activeElement
  const fault = h('div', { 'aria-live': 'assertive' })
  const button = h('button', { type: 'submit', class: isDangerous ? 'danger' : 'primary' }, confirm)
  const cancel = h('button', { type: 'button', click: () => dialog.close() }, 'Cancel')
  const form = h(
    'form',
    { submit: (/** @type {Event} */ event) => void submit(event) },
    h('h2', { id: 'dialog-title' }, title),
    ...body,
    fault,
    h('div', { class: 'buttons' }, cancel, button),
  )
  const dialog = h('dialog', { 'aria-labelledby': 'dialog-title' }, form)
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault()
    button.disabled = true
    try {
      replace(fault)
      if ((await work(button)) !== 'stay') dialog.close()
    } catch (refused) {
      replace(fault, errorPanel(refused, null))
    }
    button.disabled = false
  }
  dialog.addEventListener('close', () => {
    dialog.remove()
    if (before instanceof HTMLElement) before.focus()
  })
  document.body.append(dialog)
  dialog.showModal()
  if (isDangerous) cancel.focus()
}

/**
 * Shows a secret, this once. It is gone with the dialog, which only "Done" closes, once "I have copied it" is chosen; the browser asks before it leaves the page.
 *
 * @param {string} title
 * @param {string} secret
 */
export const showSecret = (title, secret) => {
  const shown = h('input', {
    type: 'text',
    readonly: true,
    'aria-label': 'Key',
    class: 'secret',
    autocomplete: 'off',
    spellcheck: 'false',
  })
  shown.value = secret
  const notice = h('span', { role: 'status', class: 'muted' })
  const copy = async () => {
    shown.select()
    try {
      await navigator.clipboard.writeText(secret)
      notice.textContent = 'Copied.'
    } catch {
      notice.textContent = 'It is selected: copy it with the keyboard.'
    }
  }
  const done = h('button', { type: 'button', class: 'primary', disabled: true, click: () => dialog.close() }, 'Done')
  const copied = h('input', { type: 'checkbox' })
  copied.addEventListener('change', () => {
    done.disabled = !copied.checked
  })
  /** @param {Event} event */
  const prevent = (event) => event.preventDefault()
  const dialog = h(
    'dialog',
    // Both: Chromium closes on a third Escape whatever a listener does, and not every browser has `closedby`.
    { 'aria-labelledby': 'dialog-title', closedby: 'none', cancel: prevent },
    h('h2', { id: 'dialog-title' }, title),
    h('p', {}, 'The key is shown only once. Store it where you keep secrets.'),
    shown,
    h('label', { class: 'check' }, copied, 'I have copied it'),
    h('div', { class: 'buttons' }, notice, h('button', { type: 'button', click: () => void copy() }, 'Copy'), done),
  )
  dialog.addEventListener('close', () => {
    shown.value = ''
    dialog.remove()
    removeEventListener('beforeunload', prevent)
    acknowledge(`${title}: it is not shown again.`)
    // The form that made it is gone, and with it what had the focus.
    if (document.activeElement === document.body) document.querySelector('h1')?.focus()
  })
  addEventListener('beforeunload', prevent)
  document.body.append(dialog)
  dialog.showModal()
}
