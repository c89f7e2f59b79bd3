// @ts-check
import { h, replace } from './dom.js'
import { errorPanel, field } from './parts.js'
import { ApiError } from './session.js'
import { themeSwitch } from './theme.js'

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

/**
 * @param {HTMLElement} root
 * @param {{ identityProvider: string | null, reason: unknown, send: (secret: string) => Promise<void> }} options why a new sign-in is required, undefined at the first; `send` rejects where the secret is refused
 */
export const showSignInForm = (root, { identityProvider, reason, send }) => {
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
      await send(given)
      secret.value = ''
    } catch (refused) {
      replace(fault, refusedPanel(refused, 'This key does not work'))
      secret.focus()
      secret.select()
    }
    button.disabled = false
  }
  replace(
    root,
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

/** Why the identity provider's answer was refused, which the gateway has put into the address. */
export const takeRefusal = () => {
  const reason = new URLSearchParams(location.search).get('sign_in')
  if (reason === null) return undefined
  history.replaceState(null, '', location.pathname + location.hash)
  return reason === 'no_role'
    ? new ApiError(403, 'Your account has no role here. An administrator of the gateway can give it one.')
    : new ApiError(500, 'The sign-in was not completed. Try again; the gateway’s log has the reason.')
}
