// @ts-check
import { filterForm, h, keepInAddress, onFilter, readAddress, renewed, replace } from '../dom.js'
import { csvExport } from '../export.js'
import { count, msText, rangeOf, words } from '../format.js'
import { field, heading, idLink, select, state, time, twoLines, workspaceLink } from '../parts.js'
import { isOfAll, keyNames, workspaceNames } from '../session.js'
import { virtualTable } from '../virtual-table.js'
import { showCharge } from './charge.js'
import { refusalsSection } from './refusals.js'
import { dayField, filterInput, surfaceSelect } from './spend.js'

/** @typedef {import('../types.d.ts').Request} Request */
/** @typedef {import('./refusals.js').Names} Names */
/** @typedef {import('../views.d.ts').ViewContext} ViewContext */

const pageRows = 500

/** The last call upstream: who answered, or failed last. @param {Request} request */
const lastCallOf = ({ attempts }) => attempts.findLast(({ outcome }) => outcome !== 'passed_over')

/** @param {Request} request */
const providerText = (request) => {
  const last = lastCallOf(request)
  if (last === undefined) return 'none'
  return last.deployment === null ? last.provider : `${last.provider} · ${last.deployment}`
}

/** @param {Request} request */
const tokensText = ({ tokens }) =>
  Object.entries(tokens ?? {})
    .map(([kind, number]) => `${words(kind)} ${count(number)}`)
    .join(' · ')

/** @param {Request} request */
const tagsText = ({ tags }) =>
  Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')

/** @param {string} text */
const titled = (text) => h('span', { title: text }, text)

const tones = /** @type {const} */ ({ ok: 'good', interrupted: 'busy', failed: 'bad' })

/** @param {Request} request */
const statusCell = (request) => {
  const { outcome, status, reason, output_tokens: tokens } = request
  if (outcome !== 'interrupted')
    return twoLines(
      state(String(status), tones[outcome]),
      h('span', { title: reason ?? '' }, words(reason ?? 'answered')),
    )
  const after = `after ${count(tokens)} ${tokens === 1 ? 'token' : 'tokens'}`
  return twoLines(state(outcome, tones[outcome]), h('span', { title: lastCallOf(request)?.reason ?? '' }, after))
}

/** @param {Request} request */
const modelCell = ({ model, served_model: served, surface }) =>
  twoLines(
    h('span', { title: served ?? model }, served ?? model),
    titled(served === null || served === model ? words(surface) : `${words(surface)}, asked for ${model}`),
  )

/** @param {Request} request */
const tokensCell = (request) => {
  const { prompt_tokens: prompt, output_tokens: output, tokens } = request
  if (tokens === null) return twoLines('', '')
  const cached = tokens['cache_read'] ?? 0
  const second = `${cached === 0 ? '' : `${count(cached)} cached, `}${count(output)} out`
  return twoLines(`${count(prompt)} in`, second, tokensText(request))
}

/** @param {Request} request */
const providerCell = (request) => {
  const calls = request.attempts.length
  const id = lastCallOf(request)?.upstream_request_id ?? ''
  return twoLines(h('span', { title: id }, providerText(request)), `${count(calls)} ${calls === 1 ? 'call' : 'calls'}`)
}

/** @param {Request} request @param {Names} names */
const ownerCell = ({ workspace = '', key }, { keys, workspaces }) =>
  twoLines(workspaceLink(workspace, 'requests', workspaces), titled(keys.get(key) ?? key))

/** @param {Request} request @param {Names} names */
const keyCell = (request, { keys }) => twoLines(titled(keys.get(request.key) ?? request.key), titled(tagsText(request)))

/** @param {Request} request @param {ViewContext} context */
const explanationHref = ({ id, workspace }, { hrefTo }) =>
  workspace === undefined
    ? hrefTo('requests', id)
    : `#/w/${encodeURIComponent(workspace)}/requests/${encodeURIComponent(id)}`

/** @param {ViewContext} context @param {Names} names @param {boolean} isAll @returns {import('../parts.js').Column<Request>[]} */
const columnsOf = (context, names, isAll) => [
  {
    name: 'Time, request',
    className: 'reference',
    narrow: 1,
    cell: (request) => twoLines(time(request.at), idLink(request.id, explanationHref(request, context))),
  },
  { name: 'Status', className: 'status', narrow: 4, cell: statusCell },
  { name: 'Model', narrow: 3, cell: modelCell },
  { name: 'USD', className: 'amount', narrow: 2, cell: () => null, amount: ({ total }) => total },
  { name: 'Tokens', numeric: true, className: 'tokens', cell: tokensCell },
  {
    name: 'Took',
    numeric: true,
    className: 'took',
    cell: ({ duration_ms: ms, first_token_ms: first }) =>
      twoLines(
        msText(ms),
        first === null ? '' : h('span', { title: 'Until the first token' }, `first ${msText(first)}`),
      ),
  },
  { name: 'Provider', className: 'provider', cell: providerCell },
  isAll
    ? { name: 'Workspace, key', className: 'provider', cell: (request) => ownerCell(request, names) }
    : { name: 'Key, tags', className: 'provider', cell: (request) => keyCell(request, names) },
]

const exported = /** @type {const} */ ([
  ...[
    'id',
    'at',
    'duration_ms',
    'first_token_ms',
    'key',
    'surface',
    'model',
    'served_model',
    'outcome',
    'status',
    'reason',
  ],
  ...['prompt_tokens', 'output_tokens', 'total'],
])

/** The controls by the name that each has in the address. */
const filtersOf = () => ({
  from: dayField(),
  to: dayField(),
  status: select([
    ['', 'All'],
    ['ok', 'Answered'],
    ['failed,interrupted', 'Failed or interrupted'],
    ['failed', 'Failed'],
    ['interrupted', 'Interrupted'],
  ]),
  model: filterInput('openai/gpt-5-mini'),
  surface: surfaceSelect(),
  key: select([['', 'All keys']]),
  reason: filterInput('upstream_error'),
  id: filterInput('ours, or the provider’s'),
})

/** @type {import('../views.d.ts').View} */
export const requests = {
  name: 'requests',
  title: 'Requests',
  permission: 'read_money',
  show: (context) => {
    if (context.parameter !== '') {
      showCharge(context, 'requests')
      return
    }
    const { session, scope, root, signal, hrefTo } = context
    const isAll = isOfAll(context)
    const filters = filtersOf()
    const controls = Object.entries(filters)
    const live = h('input', { type: 'checkbox', checked: true })
    const rows = h('div')
    const keyFilter = h('div')
    const nextSignal = renewed(signal)
    let redrawRows = () => {}
    /** @type {Names} */
    const names = { keys: new Map(), workspaces: new Map() }
    const chosen = () => Object.fromEntries(controls.map(([name, { value }]) => [name, value.trim()]))
    /** The option of a key, which is shown by its id until its name is read. @param {string} id @param {string} name */
    const nameKey = (id, name) => {
      const known = [...filters.key.options].find(({ value }) => value === id)
      if (known === undefined) filters.key.append(h('option', { value: id }, name))
      else known.textContent = name
    }
    const fillFromAddress = () => {
      const asked = readAddress()
      const key = asked.get('key') ?? ''
      if (key !== '') nameKey(key, key)
      for (const [name, control] of controls) control.value = asked.get(name) ?? ''
    }
    /** Of all workspaces there are too many keys to choose from: one that the address names can be removed. */
    const showKeyFilter = () => {
      const key = filters.key.value
      const remove = () => {
        filters.key.value = ''
        change()
        filters.from.focus()
      }
      const label = `Key ${names.keys.get(key) ?? key}`
      if (!isAll || key === '') replace(keyFilter)
      else
        replace(
          keyFilter,
          h(
            'button',
            { type: 'button', title: key, 'aria-label': `Remove the filter: ${label}`, click: remove },
            `${label} ×`,
          ),
        )
    }
    /** @param {AbortSignal} here @returns {(cursor: string | undefined) => Promise<import('../types.d.ts').Page<Request>>} */
    const reading = (here) => {
      const { id = '', from = '', to = '', ...others } = chosen()
      const wanted = { ...others, ...rangeOf(from, to) }
      /** @param {Record<string, string>} named @param {string | undefined} cursor @returns {Promise<import('../types.d.ts').Page<Request>>} */
      const read = (named, cursor) =>
        session.ledger(scope, '/requests', { ...wanted, ...named, cursor, limit: pageRows }, here)
      let isOwn = false
      return async (cursor) => {
        if (id === '') return read({}, cursor)
        if (cursor === undefined) {
          const own = await read({ id }, cursor)
          isOwn = own.data.length > 0 || id.includes('…')
          if (isOwn) return own
        }
        return read(isOwn ? { id } : { upstream_request_id: id }, cursor)
      }
    }
    const show = () => {
      const here = nextSignal()
      const { element, redraw } = virtualTable({
        label: 'Requests',
        columns: columnsOf(context, names, isAll),
        read: reading(here),
        signal: here,
        empty:
          filters.id.value.trim() === ''
            ? 'No request here. Each that was routed to a model appears a moment after its end, failed ones included.'
            : 'No request here has this id, nor has a call of a provider. Those that were refused before routing are counted without their ids.',
        live: { idOf: ({ id }) => id, isOn: () => live.checked },
        lines: 2,
      })
      showKeyFilter()
      replace(rows, element)
      redrawRows = redraw
    }
    const change = () => {
      keepInAddress(hrefTo('requests'), chosen())
      show()
    }
    const { button, status } = csvExport({
      columns: [
        ...exported.map((name) => /** @type {const} */ ([name, (/** @type {any} */ row) => row[name]])),
        ...(isAll
          ? [/** @type {const} */ (['workspace', (/** @type {Request} */ { workspace = '' }) => workspace])]
          : []),
        ['tokens', tokensText],
        ['provider', providerText],
        ['upstream_request_id', (request) => lastCallOf(request)?.upstream_request_id ?? null],
        ['tags', tagsText],
      ],
      reading: () => reading(signal),
      fileName: () => `requests-${scope ?? session.workspace?.id ?? 'all'}.csv`,
      signal,
    })
    root.append(
      heading('Requests', h('span', { class: 'buttons' }, h('label', { class: 'check' }, live, 'Live'), button)),
      filterForm(
        field('From (UTC)', filters.from),
        field('To (UTC)', filters.to),
        field('Status', filters.status),
        field('Model', filters.model),
        field('Surface', filters.surface),
        isAll ? null : field('Key', filters.key),
        field('Reason', filters.reason),
        field('Id', filters.id),
      ),
      keyFilter,
      status,
      rows,
    )
    onFilter(Object.values(filters), signal, change)
    const readNames = async () => {
      if (isAll) names.workspaces = await workspaceNames(session, signal)
      names.keys = await keyNames(context)
      if (signal.aborted) return
      if (!isAll) for (const [id, name] of names.keys) nameKey(id, name)
      showKeyFilter()
      redrawRows()
      root.append(refusalsSection(context, names))
    }
    fillFromAddress()
    show()
    void readNames()
  },
}
