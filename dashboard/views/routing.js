// @ts-check
import { filterForm, h, renewed } from '../dom.js'
import { count, msText, shareText, words } from '../format.js'
import { operationButton } from '../operations.js'
import { field, heading, load, section, state, table, time } from '../parts.js'
import { readList } from '../session.js'
import { filterInput } from './spend.js'

/** @typedef {import('../types.d.ts').Alias} Alias */
/** @typedef {import('../types.d.ts').Router} Router */
/** @typedef {import('../types.d.ts').Route} Route */
/** @typedef {import('../types.d.ts').Deployment} Deployment */
/** @typedef {import('../session.js').Session} Session */

/** @param {Pick<Router, 'candidates' | 'order'>} router */
const candidatesList = ({ candidates, order }) =>
  h(
    'ol',
    { class: 'plain' },
    ...(candidates ?? []).map(({ model, weight }) =>
      h('li', {}, h('code', {}, model), order === 'weighted' ? ` weight ${weight}` : null),
    ),
  )

/**
 * @param {Session} session
 * @param {{ kind: 'aliases' | 'routers', id: string, isOverride: boolean, values: Record<string, unknown> }} of
 * @param {() => void} done
 */
const buttons = (session, { kind, id, isOverride, values }, done) => {
  const common = { ids: { id }, permission: /** @type {const} */ ('configure'), done }
  return h(
    'span',
    { class: 'buttons' },
    operationButton(session, {
      ...common,
      operation: `PUT /admin/v1/${kind}/{id}`,
      label: 'Change',
      title: `Change ${id}`,
      values,
    }),
    isOverride
      ? operationButton(session, {
          ...common,
          operation: `DELETE /admin/v1/${kind}/{id}`,
          label: 'Remove',
          title: `Remove the override of ${id}`,
          isDangerous: true,
        })
      : null,
  )
}

/** @param {Route} route */
const routeTables = ({ candidates, skipped, order }) => [
  table(
    'Tried in this order',
    /** @type {import('../parts.js').Column<Route['candidates'][number]>[]} */ ([
      { name: 'Model', cell: ({ model }) => h('code', {}, model) },
      { name: 'Provider', cell: ({ provider }) => provider },
      { name: 'Price', cell: ({ price_version }) => h('code', {}, price_version) },
      {
        name: order === 'weighted' ? 'Tried first (drawn)' : 'Tried first',
        numeric: true,
        cell: ({ first }) => shareText(first, 1),
      },
      { name: 'Cost, USD', numeric: true, cell: ({ cost }) => cost ?? '' },
    ]),
    candidates,
    'None.',
  ),
  skipped.length === 0
    ? null
    : table(
        'Skipped',
        /** @type {import('../parts.js').Column<Route['skipped'][number]>[]} */ ([
          { name: 'Skipped', cell: ({ model }) => h('code', {}, model) },
          { name: 'Why', className: 'wrap', cell: ({ message }) => message },
        ]),
        skipped,
        '',
      ),
]

/** @param {Session} session @param {AbortSignal} signal */
const routePreview = (session, signal) => {
  const fields = {
    model: filterInput('gateway/auto'),
    prompt_tokens: h('input', { type: 'number', min: '0', value: '1000' }),
    output_tokens: h('input', { type: 'number', min: '0', value: '500' }),
    key: filterInput('any'),
  }
  const result = h('div', { class: 'stack' })
  const nextSignal = renewed(signal)
  const show = () => {
    const here = nextSignal()
    const { model: name, ...query } = Object.fromEntries(
      Object.entries(fields).map(([member, { value }]) => [member, value.trim()]),
    )
    if (!name) return
    const path = `/admin/v1/routes/${name.split('/').map(encodeURIComponent).join('/')}`
    void load(
      result,
      here,
      () => session.get(path, query, here),
      (/** @type {Route} */ route) => routeTables(route),
    )
  }
  for (const input of Object.values(fields)) input.addEventListener('change', show)
  return section(
    h('h2', {}, 'Where a request would go'),
    h('p', { class: 'muted' }, 'Nothing is called. Limits of rates and money are not looked at.'),
    filterForm(
      field('Asked for', fields.model),
      field('Tokens of the prompt', fields.prompt_tokens),
      field('Tokens of output', fields.output_tokens),
      field('Key’s id', fields.key),
    ),
    result,
  )
}

const tones = /** @type {const} */ ({ unused: 'plain', healthy: 'good', failing: 'bad', ejected: 'bad' })

/** @param {NonNullable<Deployment['last_failure']>} failure */
const failureText = ({ status, reason, model }) =>
  h('span', { title: model }, ` ${status === null ? '' : `${status} `}${words(reason ?? 'unknown')}`)

/** @type {import('../parts.js').Column<Deployment>[]} */
const deploymentColumns = [
  { name: 'Provider', className: 'name', cell: ({ provider }) => provider },
  { name: 'Deployment', className: 'name', cell: ({ deployment }) => deployment ?? '' },
  { name: 'State', cell: (row) => state(row.state, tones[row.state]) },
  { name: 'Calls', numeric: true, cell: ({ calls }) => count(calls) },
  { name: 'Failed', numeric: true, cell: ({ failed, calls }) => (calls === 0 ? '' : shareText(failed, calls)) },
  {
    name: 'First token',
    numeric: true,
    cell: ({ first_token: { counted, median_ms: median, p95_ms: p95 } }) =>
      counted === 0 ? '' : h('span', { title: `95 % within ${msText(p95)}` }, msText(median)),
  },
  {
    name: 'Last failure',
    cell: ({ last_failure: last }) => (last === null ? '' : h('span', {}, time(last.at), failureText(last))),
  },
  {
    name: 'Ejected',
    className: 'wrap',
    cell: ({ ejections }) =>
      h(
        'ul',
        { class: 'plain' },
        ...(ejections ?? []).map(({ model, reason, until }) =>
          h('li', {}, h('code', {}, model), ` ${words(reason)}, until `, time(until)),
        ),
      ),
  },
]

/** @param {Session} session @param {AbortSignal} signal */
const deploymentsSection = (session, signal) => {
  const body = h('div')
  const show = (/** @type {Deployment[]} */ all) => [
    table('Providers and deployments', deploymentColumns, all, 'No provider is configured.'),
  ]
  void load(body, signal, () => readList(session, '/admin/v1/deployments', signal), show)
  return section(
    h('h2', {}, 'Providers and deployments'),
    h(
      'p',
      { class: 'muted small' },
      'Without vendors of videos. Calls in the present hour and the one before it, of all processes. Ejected: for so long not called by the process that serves this page.',
    ),
    body,
  )
}

/** As the configuration has one for each model of a single provider. @param {Alias} alias */
const leadsToItsName = ({ alias, model, source }) =>
  source !== 'administration' && model !== null && model.slice(model.indexOf('/') + 1) === alias

/** @param {Session} session @param {() => void} done @returns {import('../parts.js').Column<Alias>[]} */
const aliasColumns = (session, done) => [
  { name: 'Alias', cell: ({ alias }) => h('code', {}, alias) },
  { name: 'Leads to', cell: ({ model }) => (model === null ? 'nothing' : h('code', {}, model)) },
  { name: 'Set by', cell: ({ source }) => words(source) },
  {
    name: 'Change',
    cell: ({ alias: id, model, source }) =>
      buttons(session, { kind: 'aliases', id, isOverride: source === 'administration', values: { model } }, done),
  },
]

/** @type {import('../views.d.ts').View} */
export const routing = {
  name: 'routing',
  title: 'Routing',
  permission: 'read',
  show: ({ session, root, signal }) => {
    const body = h('div', { class: 'stack' })
    const read = async () => ({
      aliases: /** @type {Alias[]} */ (await readList(session, '/admin/v1/aliases', signal)),
      routers: /** @type {Router[]} */ (await readList(session, '/admin/v1/routers', signal)),
    })
    const again = () => void load(body, signal, read, show)
    /** @param {Awaited<ReturnType<typeof read>>} answer */
    const show = ({ aliases, routers }) => {
      const folded = aliases.filter(leadsToItsName)
      const aliasTable = (/** @type {Alias[]} */ rows, /** @type {string} */ empty) =>
        table('Aliases', aliasColumns(session, again), rows, empty, { isCards: true })
      return [
        section(
          h(
            'div',
            { class: 'heading' },
            h('h2', {}, 'Aliases'),
            operationButton(session, {
              operation: 'PUT /admin/v1/aliases/{id}',
              permission: 'configure',
              label: 'Set an alias',
              done: again,
            }),
          ),
          aliasTable(
            aliases.filter((each) => !leadsToItsName(each)),
            'No alias yet: a bare name, such as gpt-5-mini, leads to a model of a provider.',
          ),
          folded.length === 0
            ? null
            : h(
                'details',
                {},
                h('summary', {}, `${count(folded.length)} names of models without their provider`),
                aliasTable(folded, ''),
              ),
        ),
        section(
          h(
            'div',
            { class: 'heading' },
            h('h2', {}, 'Routers'),
            operationButton(session, {
              operation: 'PUT /admin/v1/routers/{id}',
              permission: 'configure',
              label: 'Set a router',
              done: again,
            }),
          ),
          table(
            'Routers',
            /** @type {import('../parts.js').Column<Router>[]} */ ([
              { name: 'Router', cell: ({ router }) => h('code', {}, `gateway/${router}`) },
              { name: 'Candidates', cell: candidatesList },
              { name: 'Order', cell: ({ order }) => (order === null ? '' : words(order)) },
              { name: 'Set by', cell: ({ source }) => words(source) },
              {
                name: 'Change',
                cell: ({ router: id, candidates, order, source }) =>
                  buttons(
                    session,
                    {
                      kind: 'routers',
                      id,
                      isOverride: source === 'administration',
                      values: {
                        candidates: candidates?.map(({ model, weight }) =>
                          order === 'weighted' ? { model, weight } : model,
                        ),
                        order,
                      },
                    },
                    again,
                  ),
              },
            ]),
            routers,
            'No router yet: gateway/<router> tries several models, in their order or by weight.',
          ),
        ),
      ]
    }
    root.append(heading('Routing'), deploymentsSection(session, signal), routePreview(session, signal), body)
    again()
  },
}
