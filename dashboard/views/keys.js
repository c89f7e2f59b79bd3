// @ts-check
import { showSecret } from '../dialogs.js'
import { h } from '../dom.js'
import { words } from '../format.js'
import { operationButton } from '../operations.js'
import { heading, load, section, state, table, time } from '../parts.js'
import { readAll, readList } from '../session.js'
import { holderName, isOfWorkspace, limitsText } from './limits.js'
import { utcDay } from './overview.js'

/** @typedef {import('../types.d.ts').Key} Key */
/** @typedef {import('../types.d.ts').Limits} Limits */
/** @typedef {import('../types.d.ts').StandingLimits} StandingLimits */
/** @typedef {import('../types.d.ts').UsageRow} UsageRow */
/** @typedef {import('../views.d.ts').ViewContext} ViewContext */

/**
 * What is known of the keys beside themselves: USD by key, in the UTC day and its month.
 *
 * @typedef {object} Known
 * @property {ReadonlyMap<string, StandingLimits>} limits
 * @property {ReadonlyMap<string, string>} today
 * @property {ReadonlyMap<string, string>} month
 */

/** Limits as a button: of the workspace, or of a key. @param {StandingLimits} inForce @param {string} label @param {string} title @param {ViewContext} context @param {() => void} done */
const limitsButton = ({ key, limits }, label, title, { session, scope }, done) =>
  operationButton(session, {
    operation: `PUT /admin/v1/workspaces/{id}${key === null ? '' : '/keys/{key}'}/limits`,
    ids: { id: scope ?? '', key: key ?? '' },
    permission: 'configure',
    label,
    title,
    about:
      key === null
        ? 'An empty field leaves it to the plan of the workspace, or to the default; without them it does not limit.'
        : 'An empty field does not limit.',
    values: { ...limits },
    fixed: key === null ? ['spend'] : [],
    done,
  })

const notOfLabels = ['requests_per_minute', 'tokens_per_minute', 'concurrent_requests', 'models', 'allowed_models']

/** @param {StandingLimits} inForce @param {ViewContext} context @param {() => void} again */
const labelButtons = ({ tag, end_user, limits: { spend } }, { session, scope }, again) => {
  const of = tag ?? end_user ?? ''
  const common = { permission: /** @type {const} */ ('configure'), ids: { id: scope ?? '', of }, done: again }
  const address = /** @type {`/${string}`} */ (
    `/admin/v1/workspaces/{id}/limits?${tag === undefined ? 'end_user' : 'tag'}={of}`
  )
  return h(
    'span',
    { class: 'buttons' },
    operationButton(session, {
      ...common,
      operation: `PUT ${address}`,
      label: 'Change',
      title: `Change the limits of ${of}`,
      about: 'An empty field does not limit.',
      values: { spend },
      fixed: notOfLabels,
    }),
    operationButton(session, {
      ...common,
      operation: `DELETE ${address}`,
      label: 'Remove',
      title: `Remove the limits of ${of}`,
      about: `${of} may spend what the wallet has then.`,
      isDangerous: true,
    }),
  )
}

/** @param {readonly StandingLimits[]} labels of tags and end users @param {ViewContext} context @param {() => void} again */
const labelsSection = (labels, context, again) => {
  const { session, scope } = context
  /** @param {'tag' | 'user'} of @param {string} label @param {string} about */
  const addButton = (of, label, about) =>
    operationButton(session, {
      operation: `PUT /admin/v1/workspaces/{id}/limits?${of}={${of}}`,
      ids: { id: scope ?? '' },
      permission: 'configure',
      label,
      about,
      fixed: notOfLabels,
      done: again,
    })
  return section(
    h('h2', {}, 'Tags and end users'),
    table(
      'Limits of tags and end users',
      /** @type {import('../parts.js').Column<StandingLimits>[]} */ ([
        { name: 'Of', className: 'name', cell: (each) => holderName(each, new Map()) },
        { name: 'Limits', className: 'wrap', cell: ({ limits }) => limitsText(limits) },
        ...(session.may('configure')
          ? [{ name: 'Change', cell: (/** @type {StandingLimits} */ each) => labelButtons(each, context, again) }]
          : []),
      ]),
      labels,
      'No tag and no end user has a limit.',
    ),
    h(
      'span',
      { class: 'buttons start' },
      addButton('tag', 'Limit a tag', 'What requests with the tag may spend together; one such as team=search.'),
      addButton('user', 'Limit an end user', 'What an end user may spend, by the name that requests have.'),
    ),
  )
}

/** @param {string} what @param {() => void} again */
const showKey =
  (what, again) =>
  (/** @type {Record<string, unknown>} */ { name, secret }) => {
    showSecret(`${what} ${name}`, String(secret))
    again()
  }

/** @param {Key} key @param {StandingLimits} inForce @param {ViewContext} context @param {() => void} again */
const keyButtons = ({ id, name, prefix, expires_at }, inForce, context, again) => {
  const common = { ids: { id }, permission: /** @type {const} */ ('configure') }
  return h(
    'span',
    { class: 'buttons' },
    limitsButton(inForce, 'Limits', `Limits of ${name}`, context, again),
    operationButton(context.session, {
      ...common,
      operation: 'POST /admin/v1/keys/{id}/rotate',
      label: 'Rotate',
      title: `Rotate ${name}`,
      about: 'A fresh key takes its place, under the same name and the same limits; both work for the grace.',
      values: { grace_seconds: 86_400 },
      done: showKey('The fresh key', again),
    }),
    operationButton(context.session, {
      ...common,
      operation: 'PATCH /admin/v1/keys/{id}',
      label: 'Expiry',
      title: `Expiry of ${name}`,
      values: expires_at === null ? {} : { expires_at },
      done: again,
    }),
    operationButton(context.session, {
      ...common,
      operation: 'POST /admin/v1/keys/{id}/revoke',
      label: 'Revoke',
      title: `Revoke ${name}`,
      about: `${prefix} stops within a second, everywhere, and cannot be brought back. Who still uses it gets 401.`,
      isDangerous: true,
      done: again,
    }),
  )
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
            : keyButtons(key, limits.get(key.id) ?? { key: key.id, limits: {} }, context, again),
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
      const found = /** @type {Key[]} */ (await readList(session, '/admin/v1/keys', signal, { workspace: scope ?? '' }))
      const inForce = /** @type {StandingLimits[]} */ (
        await readList(session, `/admin/v1/workspaces/${id}/limits`, signal)
      )
      const day = utcDay(0)
      const limits = new Map(
        inForce.flatMap((each) => (each.key === null ? [] : [/** @type {const} */ ([each.key, each])])),
      )
      return {
        found,
        own: inForce.find(isOfWorkspace) ?? { key: null, limits: {} },
        labels: inForce.filter((each) => each.key === null && !isOfWorkspace(each)),
        known: { limits, today: await spentSince(day), month: await spentSince(`${day.slice(0, 7)}-01`) },
      }
    }
    const again = () => void load(body, signal, read, show)
    /** @param {Awaited<ReturnType<typeof read>>} answer */
    const show = ({ found, own, labels, known }) => {
      const active = found.filter((key) => key.state === 'active')
      const ended = found.filter((key) => key.state === 'revoked')
      return [
        section(
          h('h2', {}, 'The workspace'),
          h('p', {}, `Limits: ${limitsText(own.in_force ?? own.limits, own.sources)} `),
          limitsButton(own, 'Change the limits', 'Change the limits of the workspace', context, again),
        ),
        section(h('h2', {}, 'Working keys'), keysTable(active, known, context, again)),
        labelsSection(labels, context, again),
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
        operationButton(session, {
          operation: 'POST /admin/v1/keys',
          permission: 'configure',
          label: 'Issue a key',
          isPrimary: true,
          values: { workspace: scope },
          fixed: ['workspace'],
          done: showKey('The key', () => again()),
        }),
      ),
      body,
    )
    again()
  },
}
