// @ts-check
import { h } from '../dom.js'
import { money } from '../format.js'
import { section, table } from '../parts.js'
import { readAll } from '../session.js'

/** @typedef {import('../types.d.ts').Key} Key */
/** @typedef {import('../types.d.ts').Limits} Limits */
/** @typedef {import('../types.d.ts').StandingLimits} StandingLimits */

const figures = /** @type {const} */ ([
  ['requests_per_minute', 'Requests a minute'],
  ['tokens_per_minute', 'Tokens a minute'],
  ['concurrent_requests', 'Requests at once'],
])
const spans = /** @type {const} */ (['day', 'month', 'total'])

/** @param {Limits} limits @param {StandingLimits['sources']} sources */
export const limitsText = (limits, sources = {}) => {
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
    ...(limits.models === undefined ? [] : [`limits of ${Object.keys(limits.models).join(', ')}${from('models')}`]),
  ]
  return parts.length === 0 ? 'none' : parts.join(' · ')
}

const spanNames = /** @type {const} */ ({ day: 'UTC day', month: 'UTC month', total: 'ever' })

/** Whether they are those of the workspace itself. @param {StandingLimits} inForce */
export const isOfWorkspace = ({ key, tag, end_user }) => (key ?? tag ?? end_user ?? null) === null

/** Who has limits in the workspace. @param {StandingLimits} inForce @param {ReadonlyMap<string, string>} names */
export const holderName = ({ key, tag, end_user }, names) =>
  key === null ? (tag ?? `end user ${end_user}`) : (names.get(key) ?? key)

/** Spend limits of one holder, each with what was spent under it. @param {StandingLimits} inForce @param {ReadonlyMap<string, string>} names */
const spendRows = (inForce, names) => {
  const { limits, spent, held } = inForce
  return spans.flatMap((span) => {
    const limit = limits.spend?.[span]
    if (limit === undefined || spent === undefined || held === undefined) return []
    return [{ of: holderName(inForce, names), span: spanNames[span], spent: spent[span], held: held[span], limit }]
  })
}

/** What keys may use besides money, in words. @param {StandingLimits[]} inForce @param {ReadonlyMap<string, string>} names */
const keyLines = (inForce, names) =>
  inForce.flatMap((each) => {
    const { spend: _spend, ...others } = each.limits
    if (each.key === null || Object.keys(others).length === 0) return []
    return [h('p', {}, `Of the key ${holderName(each, names)}: ${limitsText(others)}.`)]
  })

/** The limits of a workspace, and what is used of them. @param {import('../views.d.ts').ViewContext} context @param {import('../refresh.js').Load} load */
export const limitsUse = ({ session, scope, signal, hrefTo }, load) => {
  const root = h('div')
  const read = async () => {
    const [inForce, keys] = await Promise.all([
      readAll((cursor) => session.ledger(scope, '/limits', { cursor, limit: 1000 }, signal)),
      readAll((cursor) => session.ledger(scope, '/keys', { cursor, limit: 1000 }, signal)),
    ])
    return { inForce: /** @type {StandingLimits[]} */ (inForce), keys: /** @type {Key[]} */ (keys) }
  }
  load(root, signal, read, ({ inForce, keys }) => {
    const names = new Map(keys.map(({ id, name }) => [id, name]))
    const own = inForce.find(isOfWorkspace)
    const rows = inForce.flatMap((each) => spendRows(each, names))
    return [
      section(
        h('h2', {}, 'Limits'),
        h(
          'p',
          {},
          `Of the workspace: ${own === undefined ? 'none' : limitsText(own.in_force ?? own.limits, own.sources)}. `,
          session.isAdmin ? h('a', { href: hrefTo('keys') }, 'Keys and limits') : null,
        ),
        ...keyLines(inForce, names),
        rows.length === 0
          ? null
          : table(
              'Spend limits',
              /** @type {import('../parts.js').Column<(typeof rows)[number]>[]} */ ([
                { name: 'Of', className: 'name', cell: ({ of }) => of },
                { name: 'In', cell: ({ span }) => span },
                { name: 'Spent, USD', cell: () => null, amount: ({ spent }) => spent },
                { name: 'Set aside, USD', cell: () => null, amount: ({ held }) => held },
                { name: 'Limit, USD', cell: () => null, amount: ({ limit }) => limit },
              ]),
              rows,
            ),
      ),
    ]
  })
  return root
}
