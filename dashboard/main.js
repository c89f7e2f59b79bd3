// @ts-check
import { h, replace } from './dom.js'
import { ownTimeZone } from './format.js'
import { hrefFrom, placeIn, refusedView, viewsOf } from './navigation.js'
import { acknowledge } from './parts.js'
import { resumeSession, signIn } from './session.js'
import { showSignInForm, takeRefusal } from './sign-in.js'
import { themeSwitch } from './theme.js'
import { workspaceChooser } from './workspace-chooser.js'

/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('./views.d.ts').View} View */

const app = /** @type {HTMLElement} */ (document.getElementById('app'))

/** @type {string | null} */
let identityProvider = null

/** Ends what the view before still does. */
let leaving = new AbortController()
/** @type {((event: HashChangeEvent) => void) | null} */
let onHash = null
const leave = () => {
  leaving.abort()
  leaving = new AbortController()
  if (onHash !== null) removeEventListener('hashchange', onHash)
  onHash = null
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
    h('p', { id: 'status', class: 'acknowledgement', role: 'status' }),
    h(
      'div',
      { class: 'frame' },
      h(
        'div',
        { class: 'side' },
        nav,
        h(
          'footer',
          { class: 'muted small zones' },
          `Times are in ${ownTimeZone()}, in UTC on hover. Days are those of UTC.`,
        ),
      ),
      main,
    ),
  )

  /** @param {string} cameFrom the address before this one, from its `#` on */
  const show = (cameFrom) => {
    leaving.abort()
    leaving = new AbortController()
    const { scope: asked, view: name, parameter } = placeIn()
    const scope = session.isAdmin ? asked : null
    const all = viewsOf(session, scope)
    const views = all.filter(({ permission }) => session.may(permission))
    const view = all.find((each) => each.name === name) ?? /** @type {View} */ (views[0])
    const hrefTo = hrefFrom(session, scope)
    /** @param {string} list */
    const backTo = (list) => {
      const before = placeIn(cameFrom)
      return before.view === list && before.parameter === '' ? cameFrom : hrefTo(list)
    }
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
    if (name !== '' && view.name !== name) acknowledge(`There is no view “${name}” here. This is ${view.title}.`)
    document.title = `${view.title} · Model Gateway`
    const root = h('div', { class: `view ${view.name}` })
    replace(main, root)
    scrollTo(0, 0)
    const { signal } = leaving
    if (views.includes(view)) view.show({ session, scope, root, parameter, signal, hrefTo, backTo })
    else replace(root, ...refusedView(view))
  }
  /** @param {HashChangeEvent} event */
  const follow = ({ oldURL }) => {
    acknowledge('')
    show(new URL(oldURL).hash)
    main.querySelector('h1')?.focus()
  }
  onHash = follow
  addEventListener('hashchange', follow)
  show('')
  main.querySelector('h1')?.focus()
}

/** @param {unknown} [reason] why a new sign-in is required */
const showSignIn = (reason) => {
  leave()
  const send = async (/** @type {string} */ secret) => openApp(await signIn(secret, showSignIn))
  showSignInForm(app, { identityProvider, reason, send })
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

/** The link to the content must not change which view is shown. */
document.querySelector('.skip')?.addEventListener('click', (event) => {
  event.preventDefault()
  document.getElementById('main')?.focus()
})

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
