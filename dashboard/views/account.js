// @ts-check
import { h } from '../dom.js'
import { money, sumOf } from '../format.js'
import { operationButton } from '../operations.js'
import { acknowledge, facts, heading, load, section, state, time, usd } from '../parts.js'
import { ApiError } from '../session.js'
import { auditTable } from './audit.js'
import { proposals } from './proposals.js'

/** @typedef {import('../types.d.ts').Workspace} Workspace */
/** @typedef {import('../types.d.ts').Wallet} Wallet */
/** @typedef {import('../views.d.ts').ViewContext} ViewContext */

/** What the balance becomes. @param {ViewContext} context @returns {(body: Record<string, unknown>) => Promise<HTMLElement[]>} */
const balanceAfter =
  ({ session, scope }) =>
  async ({ amount }) => {
    /** @type {Workspace} */
    const { balance = '0' } = await session.get(`/admin/v1/workspaces/${encodeURIComponent(scope ?? '')}`)
    return [
      h(
        'p',
        { class: 'notice' },
        h(
          'span',
          {},
          'The balance is ',
          usd(balance),
          ' USD and becomes ',
          h('strong', {}, money(sumOf([balance, String(amount)]))),
          ' USD.',
        ),
      ),
    ]
  }

/** With the balance before and after it. @param {ViewContext} context @param {() => void} done */
export const creditButton = (context, done, isPrimary = true) => {
  const preview = balanceAfter(context)
  return operationButton(context.session, {
    ids: { id: context.scope ?? '' },
    permission: 'move_money',
    operation: 'POST /admin/v1/workspaces/{id}/credits',
    label: 'Add credit',
    required: ['reference'],
    preview: (body) => {
      if (Number(body['amount']) === 0) throw new ApiError(400, 'The amount must be above zero.')
      return preview(body)
    },
    done: (_answer, { amount }) => {
      acknowledge(`${money(String(amount))} USD credited.`)
      done()
    },
    isPrimary,
  })
}

/** Credit and adjustments, with the balance before and after them. @param {ViewContext} context @param {() => void} done */
export const moneyButtons = (context, done) => [
  creditButton(context, done),
  operationButton(context.session, {
    ids: { id: context.scope ?? '' },
    permission: 'move_money',
    operation: 'POST /admin/v1/workspaces/{id}/adjustments',
    label: 'Adjust',
    preview: balanceAfter(context),
    done: ({ status }, { amount }) => {
      const usdText = `${money(String(amount))} USD`
      acknowledge(
        status === 'proposed' ? `${usdText} proposed: it waits for another administrator.` : `${usdText} adjusted.`,
      )
      done()
    },
  }),
]

/** @param {Workspace} workspace @param {ViewContext} context @param {() => void} again */
const changeButton = ({ status, name, account, credit_limit }, { session, scope }, again) => {
  if (status === 'closed') return null
  const [mayConfigure, mayMove] = [session.may('configure'), session.may('move_money')]
  const values = {
    ...(mayConfigure ? { name } : {}),
    ...(mayConfigure && account !== null ? { account } : {}),
    ...(mayMove ? { credit_limit } : {}),
  }
  return operationButton(session, {
    ids: { id: scope ?? '' },
    permission: mayConfigure ? 'configure' : 'move_money',
    done: again,
    operation: 'PATCH /admin/v1/workspaces/{id}',
    label: 'Change',
    values,
    required: Object.keys(values).filter((name) => name !== 'account'),
    fixed: [...(mayConfigure ? [] : ['name', 'account']), ...(mayMove ? [] : ['credit_limit'])],
  })
}

/** @param {Workspace} workspace @param {ViewContext} context @param {() => void} again */
const endingSection = ({ status, name, balance }, { session, scope }, again) => {
  if (status === 'closed' || !session.may('configure')) return null
  const common = { ids: { id: scope ?? '' }, permission: /** @type {const} */ ('configure'), done: again }
  const [verb, label] = status === 'suspended' ? ['resume', 'Resume'] : ['suspend', 'Suspend']
  const named = name || (scope ?? '')
  const balanceText = balance === undefined ? '' : ` Its balance is ${money(balance)} USD, and stays in its statement.`
  const buttons = [
    operationButton(session, {
      ...common,
      operation: `POST /admin/v1/workspaces/{id}/${verb}`,
      label,
      title: `${label} ${named}`,
      confirm: `${label} the workspace`,
      about: verb === 'suspend' ? 'Its keys are refused new requests until it is resumed.' : 'Its keys work again.',
      isDangerous: verb === 'suspend',
    }),
    operationButton(session, {
      ...common,
      operation: 'POST /admin/v1/workspaces/{id}/close',
      label: 'Close',
      title: `Close ${named} for good`,
      confirm: 'Close the workspace',
      about: `It cannot be opened again: its keys are refused and it takes no credit.${balanceText}`,
      isDangerous: true,
    }),
    operationButton(session, {
      ...common,
      operation: 'DELETE /admin/v1/workspaces/{id}/end-users',
      label: 'Forget end users',
      isDangerous: true,
    }),
  ]
  return section(
    h('h2', {}, 'Suspend or close'),
    h(
      'p',
      { class: 'muted' },
      'While it is suspended its keys are refused new requests. A closed workspace stays closed. End users that are forgotten are anonymous in what is read, for ever.',
    ),
    h('span', { class: 'buttons start' }, ...buttons),
  )
}

/** @param {Wallet['plan']} plan @param {ViewContext} context @param {() => void} again */
const planSection = (plan, { session, scope }, again) => {
  const common = { ids: { id: scope ?? '' }, permission: /** @type {const} */ ('move_money'), done: again }
  return section(
    h('h2', {}, 'Plan'),
    plan === null
      ? h('p', { class: 'muted' }, 'It has no plan.')
      : facts([
          ['Plan', plan.name],
          [`Fee of a ${plan.period}, USD`, usd(plan.price)],
          [plan.renews ? 'Renewed' : 'Ends', time(plan.expires_at)],
        ]),
    h(
      'span',
      { class: 'buttons start' },
      operationButton(session, {
        ...common,
        operation: 'PUT /admin/v1/workspaces/{id}/subscription',
        label: plan === null ? 'Give it a plan' : 'Change the plan',
        preview: async ({ plan: id }) => {
          const { data } = /** @type {import('../types.d.ts').Page<import('../types.d.ts').Plan>} */ (
            await session.get('/admin/v1/plans', { limit: 1000 })
          )
          const found = data.find((each) => each.id === id)
          return [
            h(
              'p',
              { class: 'notice' },
              found === undefined
                ? `No plan is named ${id}.`
                : `The fee of ${money(found.price)} USD is charged now, and ${money(found.included_credit)} USD of credit is given.`,
            ),
          ]
        },
      }),
      plan?.renews
        ? operationButton(session, {
            ...common,
            operation: 'DELETE /admin/v1/workspaces/{id}/subscription',
            label: 'Do not renew it',
            isDangerous: true,
          })
        : null,
    ),
  )
}

/** @type {import('../views.d.ts').View} */
export const account = {
  name: 'account',
  title: 'Account',
  permission: 'read',
  show: (context) => {
    const { session, scope, root, signal } = context
    const path = `/admin/v1/workspaces/${encodeURIComponent(scope ?? '')}`
    const body = h('div', { class: 'stack' })
    const read = async () => {
      /** @type {Workspace} */
      const workspace = await session.get(path, {}, signal)
      if (!session.may('read_money')) return { workspace, plan: null }
      /** @type {Wallet} */
      const { plan } = await session.ledger(scope, '/wallet', {}, signal)
      return { workspace, plan }
    }
    const again = () => void load(body, signal, read, show)
    /** @param {Awaited<ReturnType<typeof read>>} answer */
    const show = ({ workspace, plan }) => {
      const { name, id, status, account: customer, balance, held, credit_limit, available } = workspace
      return [
        facts([
          ['Name', name],
          ['Id', h('code', {}, id)],
          ['State', state(status, status === 'open' ? 'good' : 'bad')],
          ['Account', customer ?? 'none'],
        ]),
        balance === undefined
          ? null
          : facts([
              ['Available, USD', usd(available ?? '0')],
              ['Balance, USD', usd(balance)],
              ['Held, USD', usd(held ?? '0')],
              ['Credit limit, USD', usd(credit_limit ?? '0')],
            ]),
        h('span', { class: 'buttons start' }, ...moneyButtons(context, again), changeButton(workspace, context, again)),
        ...(session.may('read_money')
          ? [
              proposals(context, { workspace: id, done: again, load }),
              planSection(plan, context, again),
              section(h('h2', {}, 'Changes'), auditTable(session, { workspace: id }, signal)),
            ]
          : []),
        endingSection(workspace, context, again),
      ]
    }
    root.append(heading('Account'), body)
    again()
  },
}
