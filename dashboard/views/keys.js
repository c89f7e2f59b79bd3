// @ts-check
import { ask, showSecret } from '../dialogs.js'
import { h } from '../dom.js'
import { money, words } from '../format.js'
import { field, heading, load, section, state, table, time } from '../parts.js'
import { readAll } from '../session.js'
import { utcDay } from './overview.js'

/** @typedef {import('../types.d.ts').Key} Key */
/** @typedef {import('../types.d.ts').Limits} Limits */
/** @typedef {import('../types.d.ts').StandingLimits} StandingLimits */
/** @typedef {import('../types.d.ts').UsageRow} UsageRow */
/** @typedef {import('../views.d.ts').ViewContext} ViewContext */

const figures = /** @type {const} */ ([
  ['requests_per_minute', 'Requests a minute'],
  ['tokens_per_minute', 'Tokens a minute'],
  ['concurrent_requests', 'Requests at once'],
])
const spans = /** @type {const} */ (['day', 'month', 'total'])

/**
 * What is known of the keys beside themselves: USD by key, in the UTC day and its month.
 *
 * @typedef {object} Known
 * @property {ReadonlyMap<string | null, StandingLimits>} limits
 * @property {ReadonlyMap<string, string>} today
 * @property {ReadonlyMap<string, string>} month
 */

/** @param {string} iso of a `datetime-local` field, in the viewer's zone; empty for none */
const instantOf = (iso) => (iso === '' ? undefined : new Date(iso).toISOString())

/** @param {Limits} limits @param {StandingLimits['sources']} sources */
const limitsText = (limits, sources = {}) => {
  /** @param {keyof Limits} name */
  const from = (name) =>
    sources[name] === 'plan' ? ' (from the plan)' : sources[name] === 'configuration' ? ' (the default)' : ''
  const parts = [
    ...figures.flatMap(([name, title]) =>
      limits[name] === undefined ? [] : [`${title.toLowerCase()} ${limits[name]}${from(name)}`],
    ),
    ...spans.flatMap((span) =>
      limits.spend?.[span] === undefined
        ? []
        : [`${money(limits.spend[span] ?? '')} USD ${span === 'total' ? 'ever' : `a UTC ${span}`}`],
    ),
    ...(limits.allowed_models === undefined
      ? []
      : [`models ${limits.allowed_models.join(', ')}${from('allowed_models')}`]),
    ...(limits.models === undefined
      ? []
      : [`${Object.keys(limits.models).length} models of their own${from('models')}`]),
  ]
  return parts.length === 0 ? 'none' : parts.join(' · ')
}

/** @param {string} name @param {ViewContext} context @param {() => void} again */
const issue = (name, { session, scope }, again) => {
  const named = h('input', { type: 'text', required: true, maxlength: 100, autocomplete: 'off' })
  named.value = name
  const expires = h('input', { type: 'datetime-local' })
  ask({
    title: 'Issue a key',
    body: [
      field('Name', named, 'One working key of a name in a workspace.'),
      field('Expires', expires, 'In your time zone; empty for never.'),
    ],
    confirm: 'Issue',
    work: async () => {
      const body = { workspace: scope, name: named.value.trim(), expires_at: instantOf(expires.value) }
      /** @type {Key} */
      const key = await session.change('POST', '/admin/v1/keys', body)
      showSecret(`The key ${key.name}`, key.secret ?? '')
      again()
    },
  })
}

/** @param {Key} key @param {ViewContext} context @param {() => void} again */
const rotate = ({ id, name }, { session }, again) => {
  const grace = h('input', { type: 'number', min: 0, max: 2_592_000, step: 1, required: true })
  grace.value = '86400'
  ask({
    title: `Rotate ${name}`,
    body: [
      h('p', {}, 'A fresh key takes its place, under the same name and the same limits.'),
      field('Both work for, seconds', grace, '0 ends the old key at once; a day is 86400.'),
    ],
    confirm: 'Rotate',
    work: async () => {
      /** @type {Key} */
      const key = await session.change('POST', `/admin/v1/keys/${encodeURIComponent(id)}/rotate`, {
        grace_seconds: Number(grace.value),
      })
      showSecret(`The fresh key ${key.name}`, key.secret ?? '')
      again()
    },
  })
}

/** @param {Key} key @param {ViewContext} context @param {() => void} again */
const revoke = ({ id, name, prefix }, { session }, again) =>
  ask({
    title: `Revoke ${name}?`,
    body: [
      h(
        'p',
        {},
        `${prefix} stops within a second, everywhere, and cannot be brought back. Who still uses it gets 401.`,
      ),
    ],
    confirm: 'Revoke the key',
    isDangerous: true,
    work: async () => {
      await session.change('POST', `/admin/v1/keys/${encodeURIComponent(id)}/revoke`)
      again()
    },
  })

/**
 * @param {string} title
 * @param {StandingLimits} standing
 * @param {ViewContext} context
 * @param {() => void} again
 */
const editLimits = (title, { key, limits }, { session, scope }, again) => {
  const numbers = figures.map(([name, label]) => {
    const input = h('input', { type: 'number', min: 1, max: 1_000_000_000, step: 1 })
    input.value = String(limits[name] ?? '')
    return { name, label, input }
  })
  const amounts = (key === null ? [] : spans).map((span) => {
    const input = h('input', {
      type: 'text',
      inputmode: 'decimal',
      pattern: '(0|[1-9][0-9]{0,14})([.][0-9]{1,12})?',
      autocomplete: 'off',
    })
    input.value = limits.spend?.[span] ?? ''
    return { span, input }
  })
  const allowed = h('textarea', { rows: 3, spellcheck: 'false' })
  allowed.value = (limits.allowed_models ?? []).join('\n')
  const told = () => {
    const models = allowed.value.split(/\s+/).filter((each) => each !== '')
    const spend = Object.fromEntries(
      amounts.flatMap(({ span, input }) => (input.value.trim() === '' ? [] : [[span, input.value.trim()]])),
    )
    return {
      ...Object.fromEntries(
        numbers.flatMap(({ name, input }) => (input.value === '' ? [] : [[name, Number(input.value)]])),
      ),
      ...(limits.models === undefined ? {} : { models: limits.models }),
      ...(Object.keys(spend).length === 0 ? {} : { spend }),
      ...(models.length === 0 ? {} : { allowed_models: models }),
    }
  }
  const place = `/admin/v1/workspaces/${encodeURIComponent(scope ?? '')}${key === null ? '' : `/keys/${encodeURIComponent(key)}`}/limits`
  ask({
    title,
    body: [
      h(
        'p',
        { class: 'muted' },
        key === null
          ? "An empty field leaves it to the workspace's plan, or to the default; without them it does not limit."
          : 'An empty field does not limit.',
      ),
      ...numbers.map(({ label, input }) => field(label, input)),
      ...amounts.map(({ span, input }) => field(span === 'total' ? 'USD ever' : `USD in a UTC ${span}`, input)),
      field('Models', allowed, 'One a line, <provider>/<model> or <provider>/*; empty for every model.'),
    ],
    confirm: 'Set the limits',
    work: async () => {
      await session.change('PUT', place, told())
      again()
    },
  })
}

/** @param {ReadonlyMap<string, string>} spent */
const spentIn =
  (spent) =>
  /** @param {Key} key */
  ({ id }) =>
    spent.get(id) ?? '0'

/**
 * @param {readonly Key[]} keys
 * @param {Known} known
 * @param {ViewContext} context
 * @param {() => void} again
 */
const keysTable = (keys, { limits, today, month }, context, again) =>
  table(
    'Keys',
    /** @type {import('../parts.js').Column<Key>[]} */ ([
      { name: 'Name', className: 'name', cell: ({ id, name }) => h('span', { title: id }, name) },
      { name: 'Begins with', cell: ({ prefix }) => h('code', {}, prefix) },
      { name: 'State', cell: (key) => state(key.state, key.state === 'active' ? 'good' : 'plain') },
      { name: 'Expires', cell: ({ expires_at }) => (expires_at === null ? 'never' : time(expires_at)) },
      ...(context.session.may('read_money')
        ? [
            { name: 'Today (UTC), USD', className: 'days', cell: () => null, amount: spentIn(today) },
            { name: 'Month (UTC), USD', className: 'days', cell: () => null, amount: spentIn(month) },
          ]
        : []),
      { name: 'Limits', className: 'wrap', cell: ({ id }) => limitsText(limits.get(id)?.limits ?? {}) },
      {
        name: 'Change',
        cell: (key) =>
          key.state === 'revoked' || !context.session.may('configure')
            ? ''
            : h(
                'span',
                { class: 'buttons' },
                h(
                  'button',
                  {
                    type: 'button',
                    'aria-label': `Limits of ${key.name}`,
                    click: () =>
                      editLimits(
                        `Limits of ${key.name}`,
                        limits.get(key.id) ?? { key: key.id, limits: {} },
                        context,
                        again,
                      ),
                  },
                  'Limits',
                ),
                h(
                  'button',
                  { type: 'button', 'aria-label': `Rotate ${key.name}`, click: () => rotate(key, context, again) },
                  'Rotate',
                ),
                h(
                  'button',
                  {
                    type: 'button',
                    class: 'danger',
                    'aria-label': `Revoke ${key.name}`,
                    click: () => revoke(key, context, again),
                  },
                  'Revoke',
                ),
              ),
      },
    ]),
    keys,
    'No key yet.',
  )

/** @type {import('../views.d.ts').View} */
export const keys = {
  name: 'keys',
  title: 'Keys and limits',
  permission: 'read',
  show: (context) => {
    const { session, scope, root, signal } = context
    const body = h('div', { class: 'stack' })
    /** @param {string} from @returns {Promise<ReadonlyMap<string, string>>} */
    const spentSince = async (from) => {
      if (!session.may('read_money')) return new Map()
      const rows = /** @type {UsageRow[]} */ (
        await readAll((cursor) => session.ledger(scope, '/usage', { group_by: 'key', from, cursor }, signal))
      )
      return new Map(rows.map(({ key = '', total }) => [key, total]))
    }
    const read = async () => {
      const id = encodeURIComponent(scope ?? '')
      const found = /** @type {Key[]} */ (
        await readAll((cursor) =>
          session.get('/admin/v1/keys', { workspace: scope ?? '', cursor, limit: 1000 }, signal),
        )
      )
      const standing = /** @type {StandingLimits[]} */ (
        await readAll((cursor) => session.get(`/admin/v1/workspaces/${id}/limits`, { cursor, limit: 1000 }, signal))
      )
      const day = utcDay(0)
      const limits = new Map(standing.map((each) => [each.key, each]))
      return {
        found,
        known: { limits, today: await spentSince(day), month: await spentSince(`${day.slice(0, 7)}-01`) },
      }
    }
    const again = () => void load(body, signal, read, show)
    /** @param {Awaited<ReturnType<typeof read>>} answer */
    const show = ({ found, known }) => {
      const own = known.limits.get(null) ?? { key: null, limits: {} }
      const active = found.filter((key) => key.state === 'active')
      const ended = found.filter((key) => key.state === 'revoked')
      return [
        section(
          h('h2', {}, 'The workspace'),
          h('p', {}, `Limits: ${limitsText(own.in_force ?? own.limits, own.sources)} `),
          session.may('configure')
            ? h(
                'button',
                { type: 'button', click: () => editLimits('Limits of the workspace', own, context, again) },
                'Change the limits',
              )
            : null,
        ),
        section(h('h2', {}, 'Working keys'), keysTable(active, known, context, again)),
        ended.length === 0
          ? null
          : h(
              'details',
              {},
              h('summary', {}, `${words('revoked')} keys (${ended.length})`),
              keysTable(ended, known, context, again),
            ),
      ]
    }
    root.append(
      heading(
        'Keys and limits',
        session.may('configure')
          ? h('button', { type: 'button', class: 'primary', click: () => issue('', context, again) }, 'Issue a key')
          : null,
      ),
      body,
    )
    again()
  },
}
