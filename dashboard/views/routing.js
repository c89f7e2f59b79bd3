// @ts-check
import { h } from '../dom.js'
import { words } from '../format.js'
import { operationButton } from '../operations.js'
import { heading, load, section, table } from '../parts.js'
import { readList } from '../session.js'

/** @typedef {import('../types.d.ts').Alias} Alias */
/** @typedef {import('../types.d.ts').Router} Router */
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
    const show = ({ aliases, routers }) => [
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
        table(
          'Aliases',
          /** @type {import('../parts.js').Column<Alias>[]} */ ([
            { name: 'Alias', cell: ({ alias }) => h('code', {}, alias) },
            { name: 'Leads to', cell: ({ model }) => (model === null ? 'nothing' : h('code', {}, model)) },
            { name: 'Set by', cell: ({ source }) => words(source) },
            {
              name: 'Change',
              cell: ({ alias: id, model, source }) =>
                buttons(
                  session,
                  { kind: 'aliases', id, isOverride: source === 'administration', values: { model } },
                  again,
                ),
            },
          ]),
          aliases,
          'No alias yet: a bare name, such as gpt-5-mini, leads to a model of a provider.',
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
    root.append(heading('Routing'), body)
    again()
  },
}
