// @ts-check
import { h } from './dom.js'
import { isEntry, listMember, mapMember } from './form-rows.js'
import { words } from './format.js'
import { field, select } from './parts.js'

/**
 * A JSON Schema, as far as requests use it.
 *
 * @typedef {object} Schema
 * @property {string} [$ref]
 * @property {string | string[]} [type]
 * @property {readonly string[]} [enum]
 * @property {unknown} [const]
 * @property {string | undefined} [description]
 * @property {string} [pattern]
 * @property {string} [format]
 * @property {number} [minLength]
 * @property {number} [maxLength]
 * @property {number} [minimum]
 * @property {number} [maximum]
 * @property {Schema} [items]
 * @property {readonly Schema[]} [anyOf]
 * @property {readonly string[]} [required]
 * @property {Readonly<Record<string, Schema>>} [properties]
 * @property {boolean | Schema} [additionalProperties]
 * @property {Schema} [propertyNames]
 * @property {readonly unknown[]} [examples]
 */

/**
 * One member of a body: `read` returns undefined where nothing is entered, `find` the control of a name such as `spend.day`.
 *
 * @typedef {{ element: HTMLElement, read: () => unknown, find: (path: readonly string[]) => HTMLElement | null }} Member
 */

/** @typedef {(schema: Schema) => Schema} Resolve */
/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Control */

const lineCharacters = 200

/** What is wrong with a text, in the words of its schema; empty where nothing is. @param {Schema} schema @param {string} text */
const faultOf = ({ pattern, description = 'It has another form.' }, text) =>
  text !== '' && pattern !== undefined && !new RegExp(pattern, 'u').test(text) ? description : ''

/** What a name is called in a form: amounts with their unit, instants with whose time they are. @param {string} name @param {Schema} schema */
const labelOf = (name, { description = '', pattern = '', format }) => {
  if (format === 'date-time') return `${words(name)} (your time)`
  const unit = pattern.includes('[0-9]{1,12}') ? /^USD, days or percent|USD/.exec(description)?.[0] : undefined
  return unit === undefined ? words(name) : `${words(name)} (${unit})`
}

/** @param {HTMLInputElement | HTMLTextAreaElement} control @param {unknown} example */
const showExample = (control, example) => {
  const texts = (Array.isArray(example) ? example : [example]).filter((each) =>
    ['string', 'number'].includes(typeof each),
  )
  if (texts.length > 0) control.placeholder = texts.join('\n')
}

/**
 * @param {string} name
 * @param {Schema} schema
 * @param {Control} control
 * @param {(text: string) => unknown} toValue
 * @param {string} [emptied] what is read where nothing is entered
 * @returns {Member}
 */
const member = (name, schema, control, toValue, emptied) => ({
  element: field(labelOf(name, schema), control, schema.description),
  read: () => (control.value.trim() === '' ? emptied : toValue(control.value.trim())),
  find: () => control,
})

/** Adds the check of the schema's pattern to a control. @template {Control} C @param {Schema} schema @param {C} control */
const checked = (schema, control) => {
  control.addEventListener('input', () => control.setCustomValidity(faultOf(schema, control.value.trim())))
  return control
}

/** A list of texts, one a line. @param {string} text */
const linesOf = (text) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** @param {string} name @param {Schema} schema @param {unknown} value @param {boolean} required */
const jsonMember = (name, schema, value, required) => {
  const control = h('textarea', { rows: 4, spellcheck: 'false', required })
  control.value = value === undefined ? '' : JSON.stringify(value, null, 2)
  const check = () => {
    try {
      if (control.value.trim() !== '') JSON.parse(control.value)
      control.setCustomValidity('')
    } catch {
      control.setCustomValidity('It is not JSON.')
    }
  }
  control.addEventListener('input', check)
  const file = h('input', { type: 'file', accept: '.json,application/json', 'aria-label': `${words(name)}: a file` })
  file.addEventListener('change', async () => {
    const chosen = file.files?.[0]
    if (chosen === undefined) return
    control.value = await chosen.text()
    check()
    file.dispatchEvent(new CustomEvent('file-read', { bubbles: true, detail: { name, file: chosen.name } }))
  })
  const shown = member(
    name,
    { ...schema, description: `${schema.description ?? ''} JSON.`.trim() },
    control,
    JSON.parse,
  )
  return { ...shown, element: h('div', { class: 'field' }, shown.element, file) }
}

/** @param {string} iso */
const localInput = (iso) => {
  const at = new Date(iso)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/**
 * @param {string} name
 * @param {Schema} given
 * @param {unknown} value
 * @param {boolean} required
 * @param {Resolve} resolve
 * @returns {Member}
 */
const memberOf = (name, given, value, required, resolve) => {
  const { description } = given
  const whole = resolve(given)
  const schema = { ...(whole.anyOf?.map(resolve).find(({ type }) => type !== 'null') ?? whole), description }
  const { type } = schema
  /** @type {import('./form-rows.js').GroupOf} */
  const groupOf = (of, values) => membersOf(of, values, resolve)
  const text = value === undefined || value === null ? '' : String(value)
  if (schema.enum !== undefined) {
    /** @type {(readonly [string, string])[]} */
    const options = schema.enum.map((word) => [word, words(word)])
    const control = select(
      required && text !== '' ? options : [['', required ? 'Choose' : 'Default'], ...options],
      text,
    )
    control.required = required
    return member(name, schema, control, String)
  }
  if (type === 'boolean') {
    const control = select(
      [
        ['', 'Default'],
        ['true', 'Yes'],
        ['false', 'No'],
      ],
      text,
    )
    return member(name, schema, control, (chosen) => chosen === 'true')
  }
  if (type === 'integer' || type === 'number') {
    const { minimum: min, maximum: max } = schema
    const control = h('input', { type: 'number', min, max, step: type === 'integer' ? 1 : 'any', required })
    control.value = text
    return member(name, schema, control, Number)
  }
  if (type === 'array') {
    const list = Array.isArray(value) ? value : []
    const item = schema.items?.anyOf?.map(resolve).find((each) => each.type === 'object')
    if (item !== undefined) return listMember(name, { schema, item, list, required, groupOf })
    const control = h('textarea', { rows: 3, spellcheck: 'false', required })
    control.value = list.join('\n')
    return member(name, { ...schema, description: `${description ?? ''} One a line.`.trim() }, control, linesOf)
  }
  if (type === 'object') {
    const { additionalProperties: others } = schema
    if (typeof others === 'object' && others.properties !== undefined)
      return mapMember(name, { schema, item: others, entries: Object.entries(value ?? {}), groupOf })
    if (schema.properties === undefined) return jsonMember(name, schema, value, required)
    const group = membersOf(schema, /** @type {Readonly<Record<string, unknown>>} */ (value ?? {}), resolve)
    const note = description === undefined ? null : h('p', { class: 'muted small' }, description)
    const element = h('fieldset', {}, h('legend', {}, words(name)), note, ...group.elements)
    return { element, read: group.read, find: group.find }
  }
  if (schema.format === 'date-time') {
    const control = h('input', { type: 'datetime-local', required })
    control.value = text === '' ? '' : localInput(text)
    return member(name, schema, control, (local) => new Date(local).toISOString())
  }
  const { minLength: minlength, maxLength: maxlength = 0 } = schema
  const bounds = {
    minlength,
    maxlength: maxlength === 0 ? null : maxlength,
    required,
    autocomplete: 'off',
    spellcheck: 'false',
  }
  const control =
    maxlength > lineCharacters ? h('textarea', { rows: 2, ...bounds }) : h('input', { type: 'text', ...bounds })
  control.value = text
  const isRemovable = text !== '' && schema.pattern !== undefined && new RegExp(schema.pattern, 'u').test('')
  return member(name, schema, checked(schema, control), String, isRemovable ? '' : undefined)
}

/** @param {unknown} value */
const isPresent = (value) => value !== undefined

/**
 * The controls of an object's members.
 *
 * @param {Schema} schema
 * @param {Readonly<Record<string, unknown>>} values
 * @param {Resolve} resolve
 * @param {readonly string[]} [fixed] members that are not asked for: their values are sent as they are
 */
export const membersOf = ({ properties = {}, required = [], examples = [] }, values, resolve, fixed = []) => {
  const members = Object.entries(properties)
    .filter(([name, { const: only }]) => only === undefined && !fixed.includes(name))
    .map(([name, each]) => {
      const made = memberOf(name, each, values[name], required.includes(name), resolve)
      const control = made.find([])
      const example = examples.map((one) => /** @type {Record<string, unknown>} */ (one)[name]).find(isPresent)
      if (isEntry(control)) showExample(control, example)
      return /** @type {const} */ ([name, made])
    })
  const byName = new Map(members)
  return {
    elements: members.map(([, { element }]) => element),
    /** @returns {Record<string, unknown> | undefined} */
    read: () => {
      const kept = fixed.map((name) => /** @type {const} */ ([name, values[name]]))
      const entries = [...kept, ...members.map(([name, { read }]) => /** @type {const} */ ([name, read()]))]
      const given = entries.filter(([, value]) => value !== undefined)
      return given.length === 0 ? undefined : Object.fromEntries(given)
    },
    /** @param {readonly string[]} path @returns {HTMLElement | null} */
    find: ([first = '', ...rest]) => byName.get(first)?.find(rest) ?? null,
  }
}
