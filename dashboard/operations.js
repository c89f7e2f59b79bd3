// @ts-check
import { ask } from './dialogs.js'
import { h, replace } from './dom.js'
import { membersOf } from './form.js'
import { acknowledge } from './parts.js'
import { ApiError } from './session.js'

/** @typedef {import('./form.js').Schema} Schema */
/** @typedef {import('./dom.js').Child} Child */
/** @typedef {Record<string, unknown>} Body */

/**
 * @typedef {object} Document
 * @property {Readonly<Record<string, Readonly<Record<string, {
 *   summary: string,
 *   'x-permission'?: import('./types.d.ts').Permission,
 *   requestBody?: { content: { 'application/json': { schema: Schema } } },
 * }>>>>} paths
 * @property {{ schemas: Readonly<Record<string, Schema>> }} components
 */

/** @type {Promise<Document> | null} */
let described = null

/** The gateway's own description of its operations. @param {import('./session.js').Session} session @returns {Promise<Document>} */
const describe = (session) => {
  described ??= session.get('/openapi.json').catch((fault) => {
    described = null
    throw fault
  })
  return /** @type {Promise<Document>} */ (described)
}

/** Shows a refusal at the control that it names. @param {ReturnType<typeof membersOf>['find']} find @param {unknown} fault */
const showAt = (find, fault) => {
  const param = fault instanceof ApiError ? (fault.param ?? '') : ''
  const path = param.split(/[.[\]]+/).filter((name) => name !== '')
  const control = find(path)
  if (!(fault instanceof ApiError) || control === null) return
  control.setAttribute('aria-invalid', 'true')
  const note = h('small', { class: 'fault' }, fault.message)
  control.after(note)
  control.focus()
  const clear = () => {
    note.remove()
    control.removeAttribute('aria-invalid')
  }
  control.addEventListener('input', clear, { once: true })
}

/**
 * An operation of the gateway as a button: it asks for the members of the request that its schema has, and shows refusals at their
 * fields. Null where the role may not do it.
 *
 * @param {import('./session.js').Session} session
 * @param {{
 *   operation: `${'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`,
 *   ids?: Readonly<Record<string, string>>,
 *   asked?: Readonly<Record<string, string>>,
 *   permission: import('./types.d.ts').Permission,
 *   label: string,
 *   title?: string,
 *   about?: string,
 *   values?: Body,
 *   fixed?: readonly string[],
 *   required?: readonly string[],
 *   sourceOf?: Readonly<Record<string, string>>,
 *   confirm?: string,
 *   isPrimary?: boolean,
 *   isDangerous?: boolean,
 *   preview?: (body: Body) => Child[] | Promise<Child[]>,
 *   keep?: (body: Body) => void,
 *   done: (answer: Body, body: Body) => void,
 * }} options `ids` of the address, whose query may have some too, and how others are `asked` for; members that are `fixed` are sent with their `values`, and others are `required` beside those of the schema; `sourceOf` names the member that the name of a member's file is for; a `preview` is confirmed before anything is sent; `keep` gets what is sent, also where it is refused
 */
export const operationButton = (session, options) => {
  const { label, title = label, operation, permission, isPrimary, isDangerous } = options
  if (!session.may(permission)) return null
  return h(
    'button',
    {
      type: 'button',
      class: isPrimary ? 'primary' : isDangerous ? 'danger' : null,
      'aria-label': title === label ? null : title,
      'data-operation': operation.split('?')[0],
      click: () => void openOperation(session, options).catch(reportFault),
    },
    label,
  )
}

/** @param {unknown} fault */
const reportFault = (fault) =>
  acknowledge(fault instanceof ApiError ? fault.message : 'The page failed to show this operation.')

/** What was asked for by another name. @param {Record<string, string>} given @param {Readonly<Record<string, string>>} asked */
const mapped = (given, asked) => Object.fromEntries(Object.entries(asked).map(([name, as]) => [name, given[as] ?? '']))

/** @param {string} template @param {Readonly<Record<string, string>>} ids */
const addressOf = (template, ids) =>
  template.replaceAll(/\{(\w+)\}/g, (_whole, name) => encodeURIComponent(ids[name] ?? ''))

/** @param {import('./session.js').Session} session @param {Parameters<typeof operationButton>[1]} options */
const openOperation = async (session, { operation, ids = {}, asked = {}, label, title = label, about, ...options }) => {
  const {
    values = {},
    fixed = [],
    isDangerous = false,
    preview,
    confirm = label,
    required = [],
    sourceOf = {},
    keep,
    done,
  } = options
  const [method, template] = /** @type {['POST' | 'PUT' | 'PATCH' | 'DELETE', string]} */ (operation.split(' '))
  const { paths, components } = await describe(session)
  const known = paths[template.split('?')[0] ?? '']?.[method.toLowerCase()]
  /** @param {Schema} schema @returns {Schema} */
  const resolve = (schema) =>
    schema.$ref === undefined ? schema : { ...components.schemas[schema.$ref.split('/').at(-1) ?? ''], ...schema }
  const schema = known?.requestBody?.content['application/json'].schema
  /** Names in the address that are not given are asked for. @type {[string, Schema][]} */
  const unnamed = [...template.matchAll(/\{(\w+)\}/g)].flatMap(([, name = '']) =>
    ids[name] === undefined ? [[asked[name] ?? name, { type: 'string', maxLength: 200 }]] : [],
  )
  const named = membersOf(
    { properties: Object.fromEntries(unnamed), required: unnamed.map(([name]) => name) },
    {},
    resolve,
  )
  const whole = schema === undefined ? {} : resolve(schema)
  const form = membersOf({ ...whole, required: [...(whole.required ?? []), ...required] }, values, resolve, fixed)
  const fields = h('div', { class: 'form' }, ...named.elements, ...form.elements)
  for (const [member, source] of Object.entries(sourceOf))
    fields.addEventListener('file-read', (event) => {
      const { name, file } = /** @type {CustomEvent<{ name: string, file: string }>} */ (event).detail
      const control = form.find([source])
      if (name === member && control !== null && 'value' in control) control.value = file
    })
  const shown = h('div', { class: 'stack' })
  let isPreviewed = preview === undefined
  ask({
    title,
    body: [h('p', { class: 'muted' }, about ?? `${known?.summary ?? ''}.`), fields, shown],
    confirm: isPreviewed ? confirm : 'Preview',
    isDangerous,
    work: async (button) => {
      const body = form.read() ?? {}
      if (!isPreviewed && preview !== undefined) {
        replace(shown, ...(await preview(body)))
        isPreviewed = true
        button.textContent = label
        fields.addEventListener(
          'input',
          () => {
            isPreviewed = false
            button.textContent = 'Preview'
            replace(shown)
          },
          { once: true },
        )
        return 'stay'
      }
      keep?.(body)
      try {
        const given = /** @type {Record<string, string>} */ (named.read() ?? {})
        const address = addressOf(template, { ...given, ...mapped(given, asked), ...ids })
        /** @type {Body & { warnings?: readonly string[] }} */
        const answer = await session.change(method, address, schema === undefined ? undefined : body)
        done(answer, body)
        if (answer.warnings !== undefined) acknowledge(answer.warnings.join(' '))
      } catch (fault) {
        showAt(([name = '', ...path]) => form.find([name, ...path]) ?? named.find([asked[name] ?? name]), fault)
        throw fault
      }
      return undefined
    },
  })
}
