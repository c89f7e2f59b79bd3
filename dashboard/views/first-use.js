// @ts-check
import { h, pause, replace } from '../dom.js'
import { compareAmounts } from '../format.js'
import { section, state, usd } from '../parts.js'
import { agentSnippetsOf, snippetList, snippetsOf } from '../snippets.js'
import { creditButton } from './account.js'

/** @typedef {import('../types.d.ts').Page<import('../types.d.ts').Request>} Requests */
/** @typedef {import('../types.d.ts').Page<import('../types.d.ts').Key>} Keys */
/** @typedef {import('../types.d.ts').Wallet} Wallet */
/** @typedef {import('../views.d.ts').ViewContext} ViewContext */

const waitMs = 2_000
const keysRead = 1_000
const usualModel = 'openai/gpt-5-mini'

/** @param {Keys['data'][number]} key */
const isUsable = ({ state: is, expires_at: at }) => is === 'active' && (at === null || Date.parse(at) > Date.now())

/** @param {ViewContext} context */
const readFirst = async ({ session, scope, signal }) => {
  /** @type {Requests} */
  const { data } = await session.ledger(scope, '/requests', { limit: 1 }, signal)
  return data[0]
}

/** @param {ViewContext} context @param {Requests['data'][number] | undefined} first */
const readState = async ({ session, scope, signal }, first) => {
  const [{ data: keys }, wallet] = await Promise.all([
    /** @type {Promise<Keys>} */ (session.ledger(scope, '/keys', { limit: keysRead }, signal)),
    /** @type {Promise<Wallet>} */ (session.ledger(scope, '/wallet', {}, signal)),
  ])
  return { first, hasKey: keys.some(isUsable), available: wallet.available }
}

/** @typedef {{ title: string, isDone: boolean, text: import('../dom.js').Child, action: import('../dom.js').Child }} Step */

/** @param {Awaited<ReturnType<typeof readState>>} known @param {ViewContext} context @param {() => void} again @returns {Step[]} */
const stepsOf = ({ first, hasKey, available }, context, again) => {
  const { session, hrefTo } = context
  return [
    {
      title: 'Credit',
      isDone: compareAmounts(available, '0') > 0,
      text: h('span', {}, usd(available), ' USD are available.'),
      // The heading has the primary one.
      action: session.isAdmin ? creditButton(context, again, false) : null,
    },
    {
      title: 'Key',
      isDone: hasKey,
      text: hasKey ? 'It has a key.' : 'Requests are sent with a key of the workspace.',
      action: session.may('configure') ? h('a', { href: hrefTo('keys') }, 'Issue a key') : null,
    },
    {
      title: 'First request',
      isDone: first !== undefined,
      text: '',
      action: h('a', { href: hrefTo('playground') }, 'Playground'),
    },
  ]
}

/** @param {readonly Step[]} steps */
const checklist = (steps) => {
  const next = steps.findIndex(({ isDone }) => !isDone)
  return h(
    'ol',
    { class: 'steps' },
    ...steps.map(({ title, isDone, text, action }, place) =>
      h(
        'li',
        { 'aria-current': place === next ? 'step' : null },
        isDone ? state('done', 'good') : state(place === next ? 'next' : 'later', place === next ? 'busy' : 'plain'),
        h('strong', {}, title),
        h('span', {}, text),
        isDone ? null : action,
      ),
    ),
  )
}

/** One that can be called here by chat. @param {ViewContext} context */
const findModel = async ({ session, signal }) => {
  /** @type {{ data: { id: string, supported_endpoint_types: string[] }[] }} */
  const { data } = await session.get('/v1/models', {}, signal)
  const ids = data.filter(({ supported_endpoint_types: types }) => types.includes('openai')).map(({ id }) => id)
  return ids.includes(usualModel) ? usualModel : (ids[0] ?? usualModel)
}

/** The steps of a workspace that has no request yet, until it has one. @param {ViewContext} context @param {() => void} done called after money came in */
export const firstUse = (context, done) => {
  const { signal, hrefTo } = context
  const root = h('div')
  const steps = h('div')
  const arrival = h('p', { role: 'status' }, 'Waiting for the first request…')
  const calls = h('div')
  /** @param {string} model */
  const showCalls = (model) =>
    replace(calls, snippetList([...snippetsOf('chat', model, 'Write a greeting.'), ...agentSnippetsOf(model)]))
  let shown = ''
  /** @returns {Promise<boolean>} whether there is a first request */
  const show = async () => {
    const first = await readFirst(context)
    if (first !== undefined && root.firstChild === null) return true
    const known = await readState(context, first)
    const now = JSON.stringify(known)
    // What has the focus stays while nothing changes.
    if (now !== shown) replace(steps, checklist(stepsOf(known, context, again)))
    shown = now
    if (first === undefined) return false
    const { id } = first
    replace(arrival, 'The first request is here: ', h('a', { href: hrefTo('charges', id) }, id))
    return true
  }
  const again = () => {
    done()
    void show().catch(() => undefined)
  }
  const whole = section(h('h2', {}, 'First use'), steps, arrival, calls)
  const follow = async () => {
    while (!signal.aborted) {
      // One that fails is made up for by the next.
      const isDone = await show().catch(() => null)
      if (isDone === true) return
      if (isDone === false && root.firstChild === null) {
        replace(root, whole)
        // One that is not read is as it usually is.
        void findModel(context)
          .catch(() => usualModel)
          .then(showCalls)
      }
      await pause(waitMs, signal)
    }
  }
  void follow()
  return root
}
