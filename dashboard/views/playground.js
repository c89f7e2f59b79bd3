// @ts-check
import { h, pause, renewed, replace } from '../dom.js'
import { count, money, words } from '../format.js'
import { errorPanel, field, heading, load, section, select, table } from '../parts.js'
import { ApiError } from '../session.js'
import { snippetList, snippetsOf, surfaces } from '../snippets.js'
import { eventReader } from '../sse.js'
import { bill } from './charge.js'

/** @typedef {import('../snippets.js').Surface} Surface */
/** @typedef {import('../types.d.ts').Page<import('../types.d.ts').Request>} Requests */
/** @typedef {import('../views.d.ts').ViewContext} ViewContext */

/** Endpoint types by the names that surfaces have in filters. @type {Readonly<Record<string, string>>} */
const surfaceNames = { openai: 'Chat', anthropic: 'Messages', 'openai-response': 'Responses' }

/** @typedef {{ id: string, supported_endpoint_types: string[], context_length: number | null, pricing?: { per_million_tokens?: Record<string, string> } }} Model */

const againMs = 500
/** The tables follow within seconds: a request that is not there is of another workspace. */
const againsMax = 20
const detailedMax = 100 // Models in the list: each is read by itself, for its price.

/** Why a stream ends early, in each surface's form. @param {any} event @returns {string | undefined} */
const faultIn = ({ error, response }) => error?.message ?? response?.error?.message

/** @param {AbortSignal} signal */
const unreachable = (signal) => (/** @type {unknown} */ fault) => {
  throw signal.aborted ? fault : new ApiError(0, 'The gateway cannot be reached.')
}

/**
 * Calls a model with a key and gives the text as it comes. Resolves with the id of the request.
 *
 * @param {{ key: string, surface: Surface, model: string, prompt: string, signal: AbortSignal, onText: (text: string) => void, onFault: (message: string) => void }} call
 */
const callModel = async ({ key, surface, model, prompt, signal, onText, onFault }) => {
  const { path, body, text } = surfaces[surface]
  const response = await fetch(path(model, true), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(body(model, prompt, true)),
    credentials: 'omit',
    signal,
  }).catch(unreachable(signal))
  if (!response.ok || response.body === null) {
    const { error } = await response.json().catch(() => ({ error: null }))
    throw new ApiError(response.status, error?.message ?? `The gateway answered ${response.status}.`)
  }
  const read = eventReader((_name, data) => {
    if (data === '[DONE]') return
    const event = JSON.parse(data)
    const fault = faultIn(event)
    if (fault === undefined) onText(text(event) ?? '')
    else onFault(fault)
  })
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) read(piece)
  return response.headers.get('x-gateway-request-id') ?? ''
}

/** The bill of a request, once its end is in the tables. @param {ViewContext} context @param {string} id @returns {Promise<import('../dom.js').Child[]>} */
const readBill = async ({ session, scope, signal, hrefTo }, id) => {
  for (let read = 0; ; read += 1) {
    /** @type {Requests} */
    const { data } = await session.ledger(scope, '/requests', { id }, signal)
    if (data.length > 0) break
    if (read === againsMax)
      throw new ApiError(404, `This workspace has no request ${id}. The key may be one of another workspace.`)
    await pause(againMs, signal)
    if (signal.aborted) return []
  }
  const explained = /** @type {import('../types.d.ts').Explanation} */ (
    await session.ledger(scope, `/charges/${encodeURIComponent(id)}`, {}, signal)
  )
  return [...bill(explained), h('p', {}, h('a', { href: hrefTo('charges', id) }, 'The charge, explained'))]
}

/** @param {readonly Model[]} models */
const modelTable = (models) =>
  table(
    'Models',
    /** @type {import('../parts.js').Column<Model>[]} */ ([
      { name: 'Model', className: 'name', cell: ({ id }) => h('span', { title: id }, id) },
      {
        name: 'Input, USD a million',
        numeric: true,
        cell: ({ pricing }) => money(pricing?.per_million_tokens?.['input'] ?? ''),
      },
      {
        name: 'Output, USD a million',
        numeric: true,
        cell: ({ pricing }) => money(pricing?.per_million_tokens?.['output'] ?? ''),
      },
      { name: 'Context', numeric: true, cell: ({ context_length }) => count(context_length) },
      {
        name: 'Surfaces',
        className: 'wrap',
        cell: ({ supported_endpoint_types: types }) =>
          types.map((type) => surfaceNames[type] ?? words(type)).join(', '),
      },
    ]),
    models,
    'No model can be called: none of a configured provider has a price.',
  )

/** @type {import('../views.d.ts').View} */
export const playground = {
  name: 'playground',
  title: 'Playground',
  permission: 'read_money',
  show: (context) => {
    const { session, root, signal } = context
    const key = h('input', { type: 'password', required: true, autocomplete: 'off', spellcheck: 'false' })
    const surface = select(Object.entries(surfaces).map(([name, { title }]) => /** @type {const} */ ([name, title])))
    const model = h('input', { type: 'text', required: true, list: 'models', autocomplete: 'off', spellcheck: 'false' })
    const names = h('datalist', { id: 'models' })
    const prompt = h('textarea', { rows: 4, required: true })
    const send = h('button', { type: 'submit', class: 'primary' }, 'Send')
    const answer = h('p', { class: 'answer', 'aria-live': 'polite' })
    const broken = h('div')
    const charged = h('div', { class: 'stack' })
    const code = h('div')
    const models = h('div')
    const nextSignal = renewed(signal)
    const showCode = () =>
      replace(
        code,
        snippetList(
          snippetsOf(
            /** @type {Surface} */ (surface.value),
            model.value || 'openai/gpt-5-mini',
            prompt.value || 'Write a greeting.',
          ),
        ),
      )
    /** @param {Event} event */
    const submit = async (event) => {
      event.preventDefault()
      const here = nextSignal()
      send.disabled = true
      for (const part of [answer, broken, charged]) replace(part)
      try {
        const id = await callModel({
          key: key.value.trim(),
          surface: /** @type {Surface} */ (surface.value),
          model: model.value.trim(),
          prompt: prompt.value,
          signal: here,
          onText: (text) => answer.append(text),
          onFault: (message) => replace(broken, errorPanel(new ApiError(502, message), null)),
        })
        await load(
          charged,
          here,
          () => readBill({ ...context, signal: here }, id),
          (shown) => shown,
        )
      } catch (fault) {
        const shown = fault instanceof TypeError ? new ApiError(0, 'The connection broke.') : fault
        if (!here.aborted) replace(charged, errorPanel(shown, null))
      }
      send.disabled = false
    }
    root.append(
      heading('Playground'),
      h(
        'form',
        { class: 'form', submit: (/** @type {Event} */ event) => void submit(event), input: showCode },
        h(
          'div',
          { class: 'filters' },
          field('Key of this workspace', key),
          field('Surface', surface),
          field('Model', model),
        ),
        names,
        field(
          'Prompt',
          prompt,
          'It is sent and charged as any other request. The key stays in the memory of this page.',
        ),
        h('span', { class: 'buttons start' }, send),
      ),
      answer,
      broken,
      charged,
      section(h('h2', {}, 'The same call'), code),
      section(h('h2', {}, 'Models'), models),
    )
    showCode()
    const read = async () => {
      const { data } = /** @type {{ data: Model[] }} */ (await session.get('/v1/models', {}, signal))
      replace(names, ...data.map(({ id }) => h('option', { value: id })))
      /** @param {Model} model @returns {Promise<Model>} */
      const detailed = ({ id }) =>
        session.get(`/v1/models/${id.split('/').map(encodeURIComponent).join('/')}`, {}, signal)
      return Promise.all(data.slice(0, detailedMax).map(detailed))
    }
    void load(models, signal, read, (found) => [modelTable(found)])
  },
}
