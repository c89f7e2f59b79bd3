// @ts-check
import { h, replace } from './dom.js'
import { words } from './format.js'
import { errorPanel, field, heading, select } from './parts.js'
import { ApiError, readAll, resumeSession, signIn } from './session.js'
import { account } from './views/account.js'
import { alerts } from './views/alerts.js'
import { audit } from './views/audit.js'
import { charges } from './views/charges.js'
import { findings } from './views/findings.js'
import { health } from './views/health.js'
import { home } from './views/home.js'
import { keys } from './views/keys.js'
import { months } from './views/months.js'
import { overview } from './views/overview.js'
import { plans } from './views/plans.js'
import { playground } from './views/playground.js'
import { prices } from './views/prices.js'
import { requests } from './views/requests.js'
import { routing } from './views/routing.js'
import { spend } from './views/spend.js'
import { statement } from './views/statement.js'
import { tail } from './views/tail.js'
import { videos } from './views/videos.js'
import { workspaces } from './views/workspaces.js'

/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('./views.d.ts').View} View */

const ofWorkspace = [overview, spend, statement, requests, charges, videos, playground, tail, findings, health]
const ofAll = [home, workspaces, prices, routing, plans, months, alerts, audit, tail, findings, health]

const app = /** @type {HTMLElement} */ (document.getElementById('app'))

/** What the address has after its `#`: never anything that is secret. */
const placeIn = () => {
  const [path = ''] = location.hash.replace(/^#\/?/, '').split('?')
  const parts = path.split('/').map(decodePart)
  const [first = '', second = '', third = '', fourth = ''] = parts
  return first === 'w'
    ? { scope: second, view: third, parameter: fourth }
    : { scope: null, view: first, parameter: second }
}

/** @param {string} part */
const decodePart = (part) => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const nextTheme = () => {
  const { theme } = document.documentElement.dataset
  const isDark = theme === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark'
  return isDark ? 'light' : 'dark'
}

const themeSwitch = () => {
  const button = h('button', { type: 'button', class: 'quiet' })
  const showNext = () => {
    button.textContent = nextTheme() === 'dark' ? 'Dark' : 'Light'
    button.setAttribute('aria-label', `Show in ${nextTheme()} colours`)
  }
  button.addEventListener('click', () => {
    document.documentElement.dataset['theme'] = nextTheme()
    showNext()
    document.dispatchEvent(new Event('themechange'))
  })
  showNext()
  return button
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () =>
  document.dispatchEvent(new Event('themechange')),
)

/** @type {string | null} */
let identityProvider = null

/** @param {unknown} [reason] why a new sign-in is required */
const showSignIn = (reason) => {
  document.title = 'Sign in · Model Gateway'
  const secret = h('input', {
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    autocapitalize: 'off',
    required: true,
  })
  const fault = h('div', { 'aria-live': 'assertive' })
  const button = h('button', { type: 'submit', class: 'primary' }, 'Sign in')
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault()
    const given = secret.value.trim()
    button.disabled = true
    try {
      const session = await signIn(given, showSignIn)
      secret.value = ''
      openApp(session)
    } catch (refused) {
      replace(fault, refusedPanel(refused, 'This key does not work'))
      secret.focus()
      secret.select()
    }
    button.disabled = false
  }
  leave()
  replace(
    app,
    h(
      'header',
      { class: 'top' },
      h('span', { class: 'brand' }, 'Model Gateway'),
      h('span', { class: 'grow' }),
      themeSwitch(),
    ),
    h(
      'main',
      { id: 'main', class: 'sign-in', tabindex: '-1' },
      h('h1', {}, 'Sign in'),
      identityProvider === null
        ? null
        : h(
            'p',
            {},
            h(
              'button',
              { type: 'button', click: () => location.assign('/dashboard/session/oidc') },
              `Sign in with ${identityProvider}`,
            ),
          ),
      h('p', { class: 'muted' }, 'With a key of your workspace, or with an administrator’s token for all of them.'),
      h(
        'form',
        { submit: (/** @type {Event} */ event) => void submit(event) },
        field('Key or admin token', secret),
        fault,
        button,
      ),
      h(
        'p',
        { class: 'muted small' },
        'It is sent once and kept nowhere. The session lasts eight hours, or until you sign out; it ends with the key or token.',
      ),
    ),
  )
  if (reason !== undefined) replace(fault, refusedPanel(reason, 'The session has ended'))
  secret.focus()
}

/**
 * @param {unknown} refused
 * @param {string} title
 */
const refusedPanel = (refused, title) =>
  refused instanceof ApiError && refused.status === 401
    ? h(
        'div',
        { class: 'notice bad', role: 'alert', 'data-status': 401 },
        h('h2', {}, title),
        h('p', {}, refused.message),
        h(
          'p',
          { class: 'muted' },
          'It may be mistyped, expired or revoked. An administrator of the gateway can issue another.',
        ),
      )
    : errorPanel(refused, null)

/** Ends what the view before still does. */
let leaving = new AbortController()
/** @type {(() => void) | null} */
let onHash = null
const leave = () => {
  leaving.abort()
  leaving = new AbortController()
  if (onHash !== null) removeEventListener('hashchange', onHash)
  onHash = null
}

/**
 * @param {Session} session
 * @param {string | null} scope
 */
const viewsOf = ({ isAdmin }, scope) => {
  if (!isAdmin) return ofWorkspace
  return scope === null ? ofAll : [...ofWorkspace, keys, alerts, account]
}

/** @param {View} view */
const refusedView = ({ title, permission }) => [
  heading(title),
  errorPanel(new ApiError(403, `It takes the permission ${words(permission)}, which your role has not.`), null),
]

/**
 * @param {Session} session
 * @param {string | null} scope
 * @returns {import('./views.d.ts').ViewContext['hrefTo']}
 */
const hrefFrom = (session, scope) => {
  const prefix = session.isAdmin && scope !== null ? `#/w/${encodeURIComponent(scope)}` : '#'
  return (view, parameter) => `${prefix}/${view}${parameter === undefined ? '' : `/${encodeURIComponent(parameter)}`}`
}

/** @param {Session} session */
const openApp = (session) => {
  leave()
  const nav = h('nav', { id: 'nav', 'aria-label': 'Views' })
  const main = h('main', { id: 'main', tabindex: '-1' })
  const chooser = session.isAdmin ? workspaceChooser(session) : null
  const menu = h(
    'button',
    { type: 'button', class: 'quiet menu', 'aria-expanded': 'false', 'aria-controls': 'nav' },
    'Menu',
  )
  const openMenu = (/** @type {boolean} */ isOpen) => {
    menu.setAttribute('aria-expanded', String(isOpen))
    nav.classList.toggle('open', isOpen)
  }
  menu.addEventListener('click', () => openMenu(menu.getAttribute('aria-expanded') !== 'true'))
  replace(
    app,
    h(
      'header',
      { class: 'top' },
      menu,
      h('span', { class: 'brand' }, 'Model Gateway'),
      session.workspace === null ? null : h('span', { class: 'where' }, session.workspace.name),
      chooser?.element ?? null,
      h('span', { class: 'grow' }),
      themeSwitch(),
      h('button', { type: 'button', class: 'quiet', click: () => void signOut(session) }, 'Sign out'),
    ),
    h('div', { class: 'frame' }, nav, main),
  )

  const show = () => {
    leaving.abort()
    leaving = new AbortController()
    const { scope: asked, view: name, parameter } = placeIn()
    const scope = session.isAdmin ? asked : null
    const all = viewsOf(session, scope)
    const views = all.filter(({ permission }) => session.may(permission))
    const view = all.find((each) => each.name === name) ?? /** @type {View} */ (views[0])
    const hrefTo = hrefFrom(session, scope)
    chooser?.choose(scope)
    replace(
      nav,
      h(
        'ul',
        {},
        ...views.map((each) =>
          h('li', {}, h('a', { href: hrefTo(each.name), 'aria-current': each === view ? 'page' : null }, each.title)),
        ),
      ),
    )
    openMenu(false)
    document.title = `${view.title} · Model Gateway`
    const root = h('div', { class: `view ${view.name}` })
    replace(main, root)
    scrollTo(0, 0)
    if (views.includes(view)) view.show({ session, scope, root, parameter, signal: leaving.signal, hrefTo })
    else replace(root, ...refusedView(view))
  }
  const follow = () => {
    show()
    main.querySelector('h1')?.focus()
  }
  onHash = follow
  addEventListener('hashchange', follow)
  show()
  main.querySelector('h1')?.focus()
}

/** @param {Session} session */
const signOut = async (session) => {
  try {
    await session.signOut()
    showSignIn()
  } catch (fault) {
    showSignIn(fault)
  }
}

/** @param {Session} session */
const workspaceChooser = (session) => {
  const control = select([['', 'All workspaces']])
  control.setAttribute('aria-label', 'Workspace')
  control.addEventListener('change', () => {
    location.hash = control.value === '' ? '#/workspaces' : `#/w/${encodeURIComponent(control.value)}`
  })
  let chosen = ''
  const fill = async () => {
    const all = /** @type {import('./types.d.ts').Workspace[]} */ (
      await readAll((cursor) => session.get('/admin/v1/workspaces', { cursor, limit: 1000 }))
    )
    for (const { id, name } of all)
      if (![...control.options].some(({ value }) => value === id)) control.append(h('option', { value: id }, name))
    control.value = chosen
  }
  // The view of the workspaces shows what is wrong.
  void fill().catch(() => undefined)
  return {
    element: h('div', { class: 'chooser' }, control),
    /** @param {string | null} scope */
    choose: (scope) => {
      chosen = scope ?? ''
      if (chosen !== '' && ![...control.options].some(({ value }) => value === chosen))
        control.append(h('option', { value: chosen }, chosen))
      control.value = chosen
    },
  }
}

/** The link to the content must not change which view is shown. */
document.querySelector('.skip')?.addEventListener('click', (event) => {
  event.preventDefault()
  document.getElementById('main')?.focus()
})

/** Why the identity provider's answer was refused, which the gateway has put into the address. */
const takeRefusal = () => {
  const reason = new URLSearchParams(location.search).get('sign_in')
  if (reason === null) return undefined
  history.replaceState(null, '', location.pathname + location.hash)
  return reason === 'no_role'
    ? new ApiError(403, 'Your account has no role here. An administrator of the gateway can give it one.')
    : new ApiError(500, 'The sign-in was not completed. Try again; the gateway’s log has the reason.')
}

const begin = async () => {
  const refusal = takeRefusal()
  try {
    const resumed = await resumeSession(showSignIn)
    identityProvider = resumed.identityProvider
    if (resumed.session === null) showSignIn(refusal)
    else openApp(resumed.session)
  } catch (fault) {
    showSignIn(fault)
  }
}
void begin()
