// @ts-check
import { h } from '../dom.js'
import { count, words } from '../format.js'
import { facts, heading, load, section, state, table, time, usd } from '../parts.js'
import { ApiError } from '../session.js'

/** @typedef {import('../types.d.ts').AdminEvent} AdminEvent */
/** @typedef {import('../views.d.ts').ViewContext} ViewContext */
/** @typedef {Readonly<Record<string, unknown>>} Detail */

/** `WalletCredited` → `Wallet credited` @param {string} type */
export const typeText = (type) => type.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

/** @param {Pick<AdminEvent, 'sequence' | 'index'>} event */
export const changeHref = ({ sequence, index }) => `#/audit/${sequence}-${index}`

/**
 * What sets members as a whole: which earlier events did so, of which it is the same where members `of` are equal, and which it `set`.
 *
 * @type {Readonly<Record<string, { types: readonly string[], of: readonly string[], set: readonly string[] }>>}
 */
const settings = {
  WorkspaceChanged: {
    types: ['WorkspaceChanged', 'WorkspaceOpened'],
    of: ['workspaceId'],
    set: ['name', 'creditLimit', 'account'],
  },
  KeyExpirySet: { types: ['KeyExpirySet', 'KeyIssued'], of: ['keyId'], set: ['expiresAt'] },
  LimitsSet: { types: ['LimitsSet'], of: ['workspaceId', 'keyId', 'tag', 'endUser'], set: ['limits'] },
  PlanPublished: {
    types: ['PlanPublished'],
    of: ['planId'],
    set: ['name', 'price', 'period', 'includedCredit', 'limits'],
  },
  AliasSet: { types: ['AliasSet'], of: ['alias'], set: ['model'] },
  RouterSet: { types: ['RouterSet'], of: ['router'], set: ['order', 'candidates'] },
  ...Object.fromEntries(
    ['AlertRuleSet', 'AlertRuleRemoved'].map((type) => [
      type,
      {
        types: ['AlertRuleSet', 'AlertRuleRemoved'],
        of: ['workspaceId', 'rule'],
        set: ['measure', 'threshold', 'keyId', 'tag', 'destinations'],
      },
    ]),
  ),
}

/** @param {AdminEvent} event */
const settingOf = ({ type }) => settings[type] ?? { types: [], of: [], set: [] }

const ofWallet = new Set(['WalletCredited', 'AdjustmentPosted', 'CreditExpired'])
const pageRows = 1_000
const earlierMax = 5_000
/** What the configuration sets where no event does, as an event without a value has it. */
const ofConfiguration = new Set(['AliasSet', 'RouterSet'])

/** Each value in it, by its path. @param {unknown} value @param {string} path @returns {(readonly [path: string, text: string])[]} */
const valuesIn = (value, path) => {
  if (value === undefined || value === null) return []
  if (typeof value !== 'object') return [[path, String(value)]]
  if (Array.isArray(value) && value.length === 0) return [[path, 'none']]
  if (Array.isArray(value) && value.every((each) => typeof each !== 'object')) return [[path, value.join(', ')]]
  return Object.entries(value).flatMap(([name, inner]) => {
    const shown = Array.isArray(value) ? String(Number(name) + 1) : name
    return valuesIn(inner, path === '' ? shown : `${path}.${shown}`)
  })
}

/** `limits.requestsPerMinute` → `Limits, requests per minute`; `candidates.1.model` → `Candidates 1, model` @param {string} path */
const pathText = (path) =>
  words(
    path
      .replaceAll(/\.(?=\d)/g, ' ')
      .replaceAll('.', ', ')
      .replaceAll(/[A-Z]/g, ' $&'),
  )

/** @param {Detail} detail @param {readonly string[]} names */
const only = (detail, names) => Object.fromEntries(Object.entries(detail).filter(([name]) => names.includes(name)))

/** @param {AdminEvent} event */
const detailOf = ({ detail }) => /** @type {Detail} */ (detail)

/** The event that set the same before, null where none of as many as are read did; `isFirst`: no event ever did. @param {AdminEvent} event @param {ViewContext} context */
const readEarlier = async (event, { session, signal }) => {
  const { types, of } = settingOf(event)
  if (types.length === 0) return { earlier: null, isFirst: true }
  const query = { type: types.join(','), workspace: event.workspace ?? undefined, before: event.sequence + 1 }
  const isEarlier = (/** @type {AdminEvent} */ { sequence, index }) => sequence < event.sequence || index < event.index
  const isSame = (/** @type {AdminEvent} */ other) =>
    of.every((name) => detailOf(other)[name] === detailOf(event)[name])
  /** @type {string | undefined} */
  let cursor
  for (let rows = 0; rows < earlierMax; rows += pageRows) {
    /** @type {import('../types.d.ts').Page<AdminEvent>} */
    const { data, next_cursor: next } = await session.get(
      '/admin/v1/events',
      { ...query, cursor, limit: pageRows },
      signal,
    )
    const earlier = data.find((each) => isEarlier(each) && isSame(each))
    if (earlier !== undefined || next === null) return { earlier: earlier ?? null, isFirst: earlier === undefined }
    cursor = next
  }
  return { earlier: null, isFirst: false }
}

/** The wallet's balance before and after what moved it. @param {AdminEvent} event @param {ViewContext} context */
const readBalances = async ({ type, workspace, time: from, sequence, index }, { session, signal }) => {
  if (!ofWallet.has(type) || workspace === null) return null
  /** @type {import('../types.d.ts').Statement} */
  const { opening, data } = await session.ledger(workspace, '/statement', { from, limit: pageRows }, signal)
  const isOf = (/** @type {import('../types.d.ts').Movement} */ row) =>
    row.sequence === sequence && row.event_index === index
  const first = data.findIndex(isOf)
  const last = data.findLast(isOf)
  if (last === undefined) return null
  return { before: data[first - 1]?.balance_after ?? opening.balance, after: last.balance_after }
}

/** @typedef {Awaited<ReturnType<typeof read>>} Answer */

/** @param {ViewContext} context */
const read = async (context) => {
  const { session, signal, parameter } = context
  const [, sequence = '', index = ''] = /^(\d{1,15})-(\d{1,6})$/.exec(parameter) ?? []
  const of = Number(sequence)
  /** @type {import('../types.d.ts').Page<AdminEvent>} */
  const { data } =
    sequence === ''
      ? { data: [], next_cursor: null }
      : await session.get('/admin/v1/events', { after: Math.max(0, of - 1), before: of + 1, limit: 1_000 }, signal)
  const event = data.find((each) => each.sequence === of && each.index === Number(index))
  if (event === undefined) throw new ApiError(404, 'The audit trail has no such change.')
  const [{ earlier, isFirst }, balances, health] = await Promise.all([
    readEarlier(event, context),
    readBalances(event, context).catch(() => null),
    /** @type {Promise<import('../types.d.ts').Health>} */ (session.ledger(null, '/health', {}, signal)).catch(
      () => null,
    ),
  ])
  return { event, earlier, isFirst, balances, sealed: health?.sealed?.size ?? null }
}

/** @param {Answer} answer */
const earlierText = ({ event, earlier, isFirst }) => {
  if (earlier !== null)
    return ['Before: as ', h('a', { href: changeHref(earlier) }, 'it was set'), ' ', time(earlier.time), '.']
  if (!isFirst) return [`What set it before is not among the last ${count(earlierMax)} changes of its kind.`]
  return ofConfiguration.has(event.type)
    ? ['No earlier change set it: before, it was as the configuration file has it, if it is there.']
    : ['No earlier change set it.']
}

/** @param {Answer} answer */
const settingTable = ({ event, earlier, isFirst }) => {
  const { set } = settingOf(event)
  const absent = ofConfiguration.has(event.type) ? 'as configured' : 'not set'
  const absentBefore = earlier === null && !isFirst ? 'not known' : absent
  const [before, after] = [earlier, event].map(
    (each) => new Map(each === null ? [] : valuesIn(only(detailOf(each), set), '')),
  )
  const paths = [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])]
  return table(
    'Before and after',
    /** @type {import('../parts.js').Column<string>[]} */ ([
      { name: 'What', className: 'wrap', cell: pathText },
      { name: 'Before', className: 'wrap', cell: (path) => before?.get(path) ?? absentBefore },
      {
        name: 'After',
        className: 'wrap',
        cell: (path) => {
          const text = after?.get(path) ?? absent
          return text === (before?.get(path) ?? absentBefore) ? text : h('strong', {}, text)
        },
      },
    ]),
    paths,
    'Nothing is set, neither before nor after.',
    { isCards: true },
  )
}

/** Where more of it is. @param {AdminEvent} event @returns {(readonly [text: string, href: string])[]} */
const linksOf = ({ type, workspace, time: at, detail, subject }) => {
  const { month, model } = /** @type {Record<string, unknown>} */ (detail)
  const day = at.slice(0, 10)
  if (type === 'PricePublished') return [['All prices of the model', `#/prices/${encodeURIComponent(String(model))}`]]
  if (type.startsWith('Period') || type === 'InvoiceIssued') return [[`Month ${month ?? subject}`, `#/months/${month}`]]
  if (workspace === null) return []
  const of = `#/w/${encodeURIComponent(workspace)}`
  return ofWallet.has(type) ? [['Statement of the day', `${of}/statement?from=${day}&to=${day}`]] : []
}

/** @param {Answer} answer */
const story = (answer) => {
  const { event, balances, sealed } = answer
  const isSealed = sealed !== null && event.sequence <= sealed
  const { id, sequence, index, actor, workspace, subject, time: at } = event
  const { set } = settingOf(event)
  const others = Object.entries(detailOf(event)).filter(([name]) => !set.includes(name) && name !== 'workspaceId')
  const links = linksOf(event)
  return [
    facts([
      ['When', time(at)],
      ['Who', actor ?? 'the gateway'],
      ...(workspace === null
        ? []
        : [
            /** @type {const} */ ([
              'Workspace',
              h('a', { href: `#/w/${encodeURIComponent(workspace)}/account` }, workspace),
            ]),
          ]),
      ...(subject === workspace || subject === null ? [] : [/** @type {const} */ (['Of', subject])]),
      ...(balances === null
        ? []
        : [
            /** @type {const} */ (['Balance before, USD', usd(balances.before)]),
            /** @type {const} */ (['Balance after, USD', usd(balances.after)]),
          ]),
    ]),
    links.length === 0
      ? null
      : h('p', { class: 'buttons start' }, ...links.map(([text, href]) => h('a', { href }, text))),
    set.length === 0
      ? null
      : section(
          h('h2', {}, 'Before and after'),
          h('p', { class: 'muted small' }, ...earlierText(answer)),
          settingTable(answer),
        ),
    others.length === 0
      ? null
      : section(
          h('h2', {}, 'Details'),
          table(
            'Details',
            /** @type {import('../parts.js').Column<readonly [string, string]>[]} */ ([
              { name: 'What', className: 'wrap', cell: ([path]) => pathText(path) },
              { name: 'Value', className: 'wrap', cell: ([, text]) => h('span', { class: 'breaks' }, text) },
            ]),
            others.flatMap(([name, value]) => valuesIn(value, name)),
            'It has no further members.',
          ),
        ),
    section(
      h('h2', {}, 'Proof'),
      facts([
        ['Event', h('code', {}, id ?? 'not known until the tables are filled')],
        ['Frame of the log', count(sequence)],
        ['Place in the frame', count(index)],
        [
          'Sealed',
          isSealed ? state('by a checkpoint', 'good') : state(sealed === null ? 'not known' : 'by no checkpoint'),
        ],
      ]),
      isSealed ? h('p', {}, 'To prove it: ', h('code', {}, `gateway prove ${sequence} --index ${index}`)) : null,
      h(
        'details',
        {},
        h('summary', {}, 'As the API has it'),
        h('pre', { tabindex: '0', role: 'region', 'aria-label': 'As the API has it' }, JSON.stringify(event, null, 2)),
      ),
    ),
  ]
}

/** One row of the audit trail, whole. @param {ViewContext} context */
export const showChange = (context) => {
  const { root, signal, backTo } = context
  const body = h('div', { class: 'stack' })
  const top = heading('One change')
  root.append(h('p', { class: 'small' }, h('a', { href: backTo('audit') }, '← Audit trail')), top, body)
  void load(
    body,
    signal,
    () => read(context),
    (answer) => {
      const title = top.querySelector('h1')
      if (title !== null) title.textContent = typeText(answer.event.type)
      return story(answer)
    },
  )
}
