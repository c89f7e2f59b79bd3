// @ts-check
import { h } from './dom.js'
import { words } from './format.js'

/** @typedef {import('./form.js').Schema} Schema */
/** @typedef {import('./form.js').Member} Member */
/** The controls of an object's members. @typedef {(schema: Schema, values: Readonly<Record<string, unknown>>) => ReturnType<typeof import('./form.js').membersOf>} GroupOf */

/**
 * Objects of one schema below each other, which are added and removed.
 *
 * @param {string} name
 * @param {{ schema: Schema, item: Schema, rows: readonly Readonly<Record<string, unknown>>[], groupOf: GroupOf }} options
 */
const rowsMember = (name, { schema, item, rows, groupOf }) => {
  const one = words(name.replace(/s$/, '')).toLowerCase()
  /** @type {{ group: ReturnType<GroupOf>, element: HTMLElement }[]} */
  const shown = []
  const place = h('div', { class: 'stack' })
  /** @param {Readonly<Record<string, unknown>>} values */
  const add = (values) => {
    const group = groupOf(item, values)
    const remove = () => {
      shown.splice(shown.indexOf(row), 1)
      row.element.remove()
      place.dispatchEvent(new Event('input', { bubbles: true }))
      more.focus()
    }
    const button = h('button', { type: 'button', click: remove }, `Remove the ${one}`)
    const row = { group, element: h('div', { class: 'row' }, ...group.elements, button) }
    shown.push(row)
    place.append(row.element)
    return group
  }
  const first = Object.keys(item.properties ?? {})[0] ?? ''
  const more = h('button', { type: 'button', click: () => add({}).find([first])?.focus() }, `Add a ${one}`)
  for (const row of rows) add(row)
  const note = schema.description === undefined ? null : h('p', { class: 'muted small' }, schema.description)
  return {
    element: h('fieldset', {}, h('legend', {}, words(name)), note, place, h('span', { class: 'buttons start' }, more)),
    /** @returns {Record<string, unknown>[]} */
    read: () => shown.map(({ group }) => group.read()).filter((each) => each !== undefined),
    /** The first controls of the rows. */
    firsts: () => shown.map(({ group }) => group.find([first])),
    /** By the place among what is read: rows without a value are not sent. @param {readonly string[]} path @returns {HTMLElement | null} */
    find: ([place = '', ...rest]) =>
      shown
        .filter(({ group }) => group.read() !== undefined)
        [Number(place)]?.group.find(rest.length === 0 ? [first] : rest) ?? more,
  }
}

/** @param {string} name @param {{ schema: Schema, item: Schema, list: readonly unknown[], required: boolean, groupOf: GroupOf }} options @returns {Member} */
export const listMember = (name, { schema, item, list, required, groupOf }) => {
  const [only = ''] = item.required ?? []
  /** A text is an object with the one member that is required. */
  const rows = list.map((each) =>
    typeof each === 'string' ? { [only]: each } : /** @type {Record<string, unknown>} */ (each),
  )
  const shown = rowsMember(name, { schema, item, groupOf, rows: rows.length === 0 && required ? [{}] : rows })
  return {
    ...shown,
    read: () => {
      const given = shown.read().map((each) => (Object.keys(each).length === 1 ? (each[only] ?? each) : each))
      return given.length === 0 ? undefined : given
    },
  }
}

/** @param {HTMLElement | null} element @returns {element is HTMLInputElement | HTMLTextAreaElement} */
export const isEntry = (element) => element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement

const unnamed = 'Enter a name.'
const repeated = 'Another row has this name.'

/** Rows without a name, and of rows with one name the later ones, could not be sent. @param {readonly (HTMLElement | null)[]} controls */
const checkNames = (controls) => {
  const names = new Set()
  for (const control of controls) {
    if (!isEntry(control)) continue
    const name = control.value.trim()
    if ([unnamed, repeated].includes(control.validationMessage)) control.setCustomValidity('')
    if (control.validity.valid) control.setCustomValidity(name === '' ? unnamed : names.has(name) ? repeated : '')
    names.add(name)
  }
}

/** An object whose names are entered too. @param {string} name @param {{ schema: Schema, item: Schema, entries: readonly (readonly [string, unknown])[], groupOf: GroupOf }} options @returns {Member} */
export const mapMember = (name, { schema, item, entries, groupOf }) => {
  const key = name.replace(/s$/, '')
  const whole = {
    ...item,
    properties: {
      [key]: { type: 'string', description: schema.description, ...schema.propertyNames },
      ...item.properties,
    },
    required: [key],
  }
  const rows = entries.map(([of, values]) => ({ [key]: of, .../** @type {object} */ (values) }))
  const shown = rowsMember(name, { schema: {}, item: whole, rows, groupOf })
  shown.element.addEventListener('input', () => checkNames(shown.firsts()))
  return {
    ...shown,
    read: () => {
      const given = shown.read()
      return given.length === 0 ? undefined : Object.fromEntries(given.map(({ [key]: of, ...values }) => [of, values]))
    },
    find: ([of = '', ...rest]) => shown.find([String(shown.read().findIndex((each) => each[key] === of)), ...rest]),
  }
}
