// @ts-check

import { words } from './format.js'
import { errorPanel, heading } from './parts.js'
import { ApiError } from './session.js'
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
import { webhooks } from './views/webhooks.js'
import { workspaces } from './views/workspaces.js'

/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('./views.d.ts').View} View */

const ofWorkspace = [overview, spend, statement, requests, charges, videos, playground, tail, findings, health]
const ofAll = [
  home,
  workspaces,
  requests,
  prices,
  routing,
  plans,
  months,
  alerts,
  webhooks,
  audit,
  tail,
  findings,
  health,
]

/** What an address has after its `#`: never anything that is secret. @param {string} [hash] */
export const placeIn = (hash = location.hash) => {
  const [path = ''] = hash.replace(/^#\/?/, '').split('?')
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

/**
 * @param {Session} session
 * @param {string | null} scope
 */
export const viewsOf = ({ isAdmin }, scope) => {
  if (!isAdmin) return ofWorkspace
  return scope === null ? ofAll : [...ofWorkspace, keys, alerts, account]
}

/** @param {View} view */
export const refusedView = ({ title, permission }) => [
  heading(title),
  errorPanel(new ApiError(403, `It takes the permission ${words(permission)}, which your role has not.`), null),
]

/**
 * @param {Session} session
 * @param {string | null} scope
 * @returns {import('./views.d.ts').ViewContext['hrefTo']}
 */
export const hrefFrom = (session, scope) => {
  const prefix = session.isAdmin && scope !== null ? `#/w/${encodeURIComponent(scope)}` : '#'
  return (view, parameter) => `${prefix}/${view}${parameter === undefined ? '' : `/${encodeURIComponent(parameter)}`}`
}
